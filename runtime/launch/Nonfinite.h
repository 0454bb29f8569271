//===- Nonfinite.h - Steps whose loss or gradient is not finite -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One bad batch turns every parameter into NaN, and a run that goes on trains nothing. The optimizer's commands
// therefore update nothing where the norm of the gradients is not finite (noUpdate in runtime/kernels/Optimizer.h),
// and rank 0 judges each step by what it reads for the metrics. All ranks learn the verdict in the exchange by which
// they agree on signals, so it costs no message of its own.
//
// A program whose updates are early (dtcc --update=early) knows the loss before it updates, and the norm only behind.
// Gradients that are not finite under a loss that is have then reached the parameters: such a step is not left out, and
// its state is not saved.
//
// A dynamic loss scale skips steps by design: those are good steps, until the scale is so small that it cannot be what
// makes the gradients overflow.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_NONFINITE_H
#define DTCC_RUNTIME_LAUNCH_NONFINITE_H

#include "runtime/device/Device.h"
#include "runtime/launch/Metrics.h"
#include "runtime/launch/health/SpikeGuard.h"
#include "runtime/launch/options/Options.h"

#include <vector>

namespace dtcc::rt {

/// Ordered by severity: the worst of all ranks counts.
enum class Verdict : int32_t {
  Good = 0,
  /// A gradient is not finite, and the update was left out: parameters and optimizer state are those of the step
  /// before.
  NotUpdated = 1,
  /// The loss alone is not finite: the gradients were, and the update was made.
  Updated = 2,
  /// Finite, but the gradients' norm is above the step's limit (health/SpikeGuard.h): the update was left out.
  Spike = 3,
  /// The gradients alone are not finite, and early updates were made by them.
  Spoiled = 4,
};

/// Whether parameters and optimizer state are those of the step before.
inline bool leavesState(Verdict verdict) { return verdict == Verdict::NotUpdated || verdict == Verdict::Spike; }

/// The verdict on a step, from what rank 0 reads behind it.
Verdict judge(const StepFacts &facts);

/// "the loss of step 3 is not finite (nan)", or why its gradients are none to use.
std::string describeBadStep(const StepFacts &facts, const SpikeGuard &guard);

/// The newest state that a run can go on from.
struct LastGood {
  int64_t step = 0;
  std::string path; /* of its checkpoint; empty: there is none */
};
/// The end of a message about a run that ends at a bad step: what was tried, and what is kept. `progress`: the run has
/// made steps. `early`: see updatesEarly.
std::string describeEnd(OnNonfinite choice, const LastGood &last, bool progress, bool early);
/// The end of a message about a run whose parameters have changed by gradients that are not finite.
std::string describeSpoiledEnd(const LastGood &last);

/// Steps in a row that are skipped, and returns to one checkpoint, before a run that goes on counts as one that cannot.
constexpr int64_t mostSkippedInARow = 100, mostRollbacks = 10;

/// Buffers that forward changes, such as the running statistics of batch norm. A step that is not updated must not
/// leave its values in them. Costs a copy of these buffers a step, on GPUs one to the host; nothing without any.
class ForwardBuffers {
public:
  ForwardBuffers(const Rank &rank, Device &device);

  /// Copies the state before a step.
  void keep();
  /// Puts the copy of the state back after the step.
  void restore();

private:
  struct Kept {
    uint32_t view;
    std::vector<std::byte> bytes;
  };
  const Rank &rank;
  Device &device;
  std::vector<uint32_t> views;
  std::vector<Kept> kept;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_NONFINITE_H
