//===- PriceBlocks.h - What a rank computes, sends and keeps of each block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a placed step to the input of the cost model (passes/cost/Work.h), op by op in local
// sizes: products by their rows, columns and inner columns, attention, bytes of all else,
// seconds of reshards by the planner that later emits them. Memory likewise, value by value.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_DIST_PRICEBLOCKS_H
#define DTCC_PASSES_DIST_PRICEBLOCKS_H

#include "passes/cost/Work.h"
#include "passes/dist/SolvePlacement.h"
#include "passes/dist/StepValues.h"

namespace dtcc::dist {

/// Of one block, for one micro-batch of a rank.
struct BlockCost {
  cost::Work forward, inputGradient, weightGradient;
  /// What no input reaches: once a step.
  cost::Work once;
  /// By plan::Recompute: work that is done again, and bytes that wait for the backward pass.
  std::array<cost::Work, kRecomputeModes> again;
  std::array<double, kRecomputeModes> heldBytes{};
  /// By plan::Recompute: what is there again of a segment that the block is in, while that is computed again.
  std::array<double, kRecomputeModes> againBytes{};
  /// A chunk of logits and of their gradient, which exist nowhere whole; part of no other number.
  double logitBytes = 0;
  /// What of it is still there when the classifier's gradient is made: of several chunks all.
  double lateLogitBytes = 0;
  /// Besides what is held, at the peak of the block.
  double workingBytes = 0;
  /// Held all the time: tables, casts of parameters.
  double onceBytes = 0;
  /// Trained elements that a rank has, those of experts apart, and bytes of other states. A state counts where it is
  /// first read; `shared` elements are of states that were read in blocks before.
  double parameters = 0, expertParameters = 0, sharedParameters = 0, frozenBytes = 0;
  /// Of `parameters`, those that later blocks read too.
  double tiedParameters = 0;
  /// Bytes of copies of these in the type that their readers compute in, where that is narrower.
  double copyBytes = 0, expertCopyBytes = 0, sharedCopyBytes = 0;
  /// Activations that a stage which begins here receives, of blocks alike the one that gets most.
  double enteringBytes = 0;
  /// Attentions and expert layers, whose exchanges over cp and ep are priced apart.
  double attentions = 0, expertLayers = 0;
};

/// Per type of blocks. `plan` places the step: its ops and states, its mesh and its batch axes say the local sizes.
std::vector<BlockCost> priceBlocks(const PlacementInput &input, const StepValues &values, const plan::Plan &plan,
                                   const cost::Machine &machine);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_PRICEBLOCKS_H
