//===- SpikeGuard.h - How large a gradient may be -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient that is finite but many times larger than those before it spoils a run as a NaN does. The guard knows the
// norms of the last steps that were taken, and limits the next by their median times --max-grad-norm-ratio. Rank 0 has
// the guard and tells the limit to all ranks with what they agree on behind a step; the optimizer's commands update
// nothing above it (gradScale in runtime/kernels/Optimizer.h). A step above it is not known, so that a spike does not
// raise the limit. Costs a sort of 32 numbers a step.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_HEALTH_SPIKEGUARD_H
#define DTCC_RUNTIME_LAUNCH_HEALTH_SPIKEGUARD_H

#include <cstddef>
#include <vector>

namespace dtcc::rt {

class SpikeGuard {
public:
  /// Number of norms that the guard knows; it limits nothing before it has as many.
  static constexpr size_t window = 32;

  /// `ratio`: 0 limits nothing. `norms`: of the steps before, which a checkpoint held.
  explicit SpikeGuard(double ratio, std::vector<float> norms = {});

  /// The norm of a step that was taken.
  void add(double norm);
  /// Median of the norms.
  float median() const;
  /// Largest norm that the next step may have; infinity without a limit.
  float limit() const;
  double ratio() const { return most; }
  /// Norms of the last steps, oldest first, for a checkpoint. Empty if nothing is limited.
  const std::vector<float> &norms() const { return last; }

private:
  double most;
  std::vector<float> last;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_HEALTH_SPIKEGUARD_H
