//===- Software.h - What training software does by itself
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of Software.def as values. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_SOFTWARE_H
#define DTCC_PLANNER_COST_SOFTWARE_H

#include "planner/cost/Constants.h"
#include "planner/cost/Work.h"
#include "planner/parallelism/Recompute.h"
#include <string_view>

namespace dtcc::cost {

using plan::Recompute;

enum class Framework {
#define DTCC_SOFTWARE(name, ...) name,
#include "planner/cost/Software.def"
};

/// Way in which the host issues kernels: one by one, by a compiler's code, a step at once, or as a list of commands.
/// The list has no interpreter to wait for, and is ahead of the device also from one step to the next.
enum class HostMode { Eager, Compiled, Graph, Commands };

struct Software {
  Framework framework = Framework::PyTorch;
  HostMode host = HostMode::Eager;
  bool fused = false;
  AttentionKernel attention = AttentionKernel::Flash;
  Recompute recompute = Recompute::None;
  int zero = 0;
  bool sequenceParallel = false;
  /// Shares of communication that run beside computation.
  double tensorHidden = 0, sendsHidden = 0;
  /// The ranks of tp send a part each to the next stage.
  bool scatteredSends = true;
  /// A stage sends, then receives, and makes what it got whole over tp.
  bool serialSends = false;
  /// Share of a micro-batch's backward pass that hides the reduction of gradients.
  double dataWindow = 0;
  double gradientBytes = 2;
  double accumulateBytes = 0;
  /// State a parameter: what each rank of ZeRO 1 has, and what they share out.
  double wholeBytes = 8, sharedBytes = 8;
  /// Bytes a logit, and of contexts, communicators and fragments.
  double logitMemory = 12, reserveBytes = 0;
  /// Memory that allocators lose to fragmentation, as a share of all other memory.
  double fragments = 0;
  /// Whether it pads vocabularies to sizes at which products are fast, as Megatron does.
  bool paddedVocabulary = true;
  /// Collectives by which a layer is gathered under ZeRO-3: one a parameter, or one of all.
  int gatherPieces = 1;
  /// A token whose experts share a node crosses the network once.
  bool dispatchesOnceANode = false;
  /// Full recomputation ends with the last value that the backward pass reads.
  bool stopsEarly = false;
  /// Whether it casts between types by itself (PyTorch's autocast).
  bool autocast = false;
  /// A parameter that is gathered.
  double gatherBytes = 2;
  /// Under ZeRO 2 parameters stay whole, and are gathered once a step; else for each forward pass.
  bool keepsParameters = false;
  /// With several stages on a rank, the gradients of each complete stage but the last are reduced while the stages that
  /// follow run.
  bool reducesByStage = false;
  /// Share of the exchanges of activations in a backward pass that gradients of weights run beside, if the schedule
  /// leaves these in the same pass.
  double filledExchanges = 0;
  /// Whether it cuts products of a forward pass, and where that is recomputed, so that parts travel while others are
  /// made.
  bool chunksExchanges = false;
};

/// The defaults of the software whose words stand in `text`, in any case.
Software softwareOf(std::string_view text);
Software softwareOf(Framework framework);
std::string_view toString(Framework framework);

/// Seconds that the host needs for a pass of a layer; around a micro-batch, and around a step.
double hostSeconds(const Software &software, const Constants &constants, int64_t tensorParallel);
double hostSecondsOfMicrobatch(const Software &software, const Constants &constants);
double hostSecondsOfStep(const Software &software, const Constants &constants);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_SOFTWARE_H
