//===- Memory.h - Bytes of a transformer's training step on a device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Closed formulas for the memory of published runs, and quick bounds. What this compiler
// plans for a graph of its own is exact and comes from its arena instead. Formulas:
// ZeRO (Rajbhandari et al., 2020) and selective recomputation (Korthikanti et al., 2022).
// Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_TRANSFORMER_MEMORY_H
#define DTCC_PLANNER_TRANSFORMER_MEMORY_H

#include "planner/cost/Step.h"
#include "planner/transformer/Transformer.h"

namespace dtcc::cost {

struct MemoryBytes {
  /// Parameters, gradients, optimizer.
  double state = 0;
  /// Layers that are gathered whole for a while.
  double gathered = 0;
  double activations = 0;
  double logits = 0;
  /// Contexts, communicators, workspaces of libraries, fragments.
  double reserve = 0;
  double total() const { return state + gathered + activations + logits + reserve; }
};

/// Bytes of state a parameter on a rank, as ZeRO shares them out.
struct StateBytes {
  double parameters = 0, gradients = 0, optimizer = 0;
  double total() const { return parameters + gradients + optimizer; }
};
StateBytes stateBytesOf(const Parallelism &plan, const Software &software);
/// Their sum: `whole` of them on each rank, `shared` over those of ZeRO.
double stateBytesPerParameter(const Parallelism &plan, const Software &software);

/// State of a layer on a rank: its experts are shared out over fewer ranks.
double stateBytes(const Layer &layer, const Parallelism &plan, const Software &software);

/// Bytes of the optimizer's state that the host of a device holds for `held` parameters; 0 where it lies on the device.
double hostBytes(const HeldParameters &held, const Parallelism &plan, const Software &software);
/// Whether a host, with NVMe, has room for `optimizer` bytes; then, in what is left of its memory, for `kept` bytes of
/// activations, which do not go to NVMe.
bool hasRoom(const HostSide &host, double optimizer, double kept = 0);

/// Bytes that a layer keeps for its backward pass, of a micro-batch and rank.
double keptBytes(const Transformer &model, const Parallelism &plan, const RunSetting &run, const Software &software);

/// Contexts and communicators, without fragments: what software is known to take, or more where a plan has more
/// groups of ranks than common ones.
double reserveBytes(const Parallelism &plan, const Software &software);

/// Forecast memory of the device that needs most over the stages of the pipeline.
MemoryBytes forecastMemory(const Transformer &model, const Parallelism &plan, const RunSetting &run,
                           const Software &software);

/// Bytes that a program can use on a device. Allocators cannot use the last part, and the headroom is left free.
double usableBytes(const Device &device);
/// Whether `bytes` fit on a device.
bool fitsIn(double bytes, const Device &device);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_TRANSFORMER_MEMORY_H
