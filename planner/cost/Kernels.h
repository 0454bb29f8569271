//===- Kernels.h - Seconds of kernels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A roofline with efficiency curves: products by tiles and waves of tiles, attention by
// the kernel that runs it, everything else by the bytes it moves. Constants.def has the
// numbers and where they come from. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_KERNELS_H
#define DTCC_PLANNER_COST_KERNELS_H

#include "planner/cost/Constants.h"
#include "planner/cost/Work.h"

namespace dtcc::cost {

/// Kernels that run on a device; they decide which of the constants apply.
struct KernelSetting {
  /// Elementwise chains and losses are fused by a compiler or by hand.
  bool fused = false;
  /// Collectives of FSDP run beside the products.
  bool gathering = false;
  /// The framework casts between types by itself.
  bool autocast = false;
};

class Kernels {
public:
  Kernels(const Device &device, const Constants &constants, KernelSetting setting = {});

  double seconds(const Gemm &gemm) const;
  double seconds(const Attention &attention) const;
  /// One matrix after another has its kernels: small ones take as long as it takes to start them.
  double seconds(const Orthogonalized &matrix) const;
  double secondsForStream(double bytes) const;
  /// All of it, one kernel after another; without its transfers. `backward`: what streams
  /// moves more bytes than in a forward pass.
  double seconds(const Work &work, bool backward = false) const;
  /// FLOP/s that a large product reaches.
  double productRate(Width width) const;
  /// FLOP/s of large products of numbers of bf16: where products of f32 are faster, the same numbers are multiplied in
  /// f32.
  double orthogonalRate() const;

private:
  const Device &device;
  const Constants &constants;
  KernelSetting setting;
};

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_KERNELS_H
