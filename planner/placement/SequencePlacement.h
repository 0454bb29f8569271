//===- SequencePlacement.h - Where positions meet each other ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Context parallelism splits positions over the axes `sequence_axes` of a plan. Nearly all
// ops work on positions one by one. Those that do not (attention: every query looks at many
// keys) must see some dimension of positions whole, or its parts in turn. Three exact ways, the
// first two of which follow from the factors of the op alone:
//
//   gather     queries stay split, keys and values are gathered, their gradients
//              scattered as sums (Llama 3, arXiv 2407.21783, section 3.3.2);
//   alltoall   heads are split in the place of positions, by an all-to-all before and
//              after (DeepSpeed-Ulysses, arXiv 2309.14509). A causal mask costs every
//              rank the same here;
//   ring       keys and values go around the ranks, and are never whole anywhere
//              (RingAttention.h). A ring sends more than a gather and holds less: the search
//              over shapes decides. Ops that cannot be a ring gather then.
//
// No other reader of a plan asks this question: an op is priced by two layouts, the one in which its neighbours hold
// positions and the one in which it runs. Both come from the axes of its PlannedOp.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLACEMENT_SEQUENCEPLACEMENT_H
#define DTCC_PLANNER_PLACEMENT_SEQUENCEPLACEMENT_H

#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/spmd/reshard/ReshardPrices.h"
#include "planner/parallelism/SequenceExchange.h"
#include "planner/placement/SolvePlacement.h"

namespace dtcc::spmd {

using plan::SequenceExchange;

/// Completes `plan`, whose other axes are placed, by entries for the ops where positions
/// meet, and returns the seconds that a step exchanges there. Nothing happens without
/// sequence axes. Fails with a message if heads do not divide and `AllToAll` was asked for.
mlir::FailureOr<double> placeSequence(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine,
                                      SequenceExchange exchange);
mlir::FailureOr<double> placeSequence(mlir::ModuleOp module, plan::Plan &plan, const cost::Machine &machine,
                                      SequenceExchange exchange);

/// Says in a note which ops of a plan that was asked for a ring gather instead, and why.
void noteGathers(mlir::ModuleOp module, const plan::Plan &plan);

/// Sites at which different positions interact. They are the same for all plans.
struct SequenceSites {
  explicit SequenceSites(const PlacementInput &input);
  struct Site {
    int64_t origin;
    /// The forward op first, then its backward ops; the forward ops of blocks that are alike.
    llvm::SmallVector<mlir::Operation *> ops, alike;
    FactorMap map;
  };
  const PlacementInput &input;
  std::vector<Site> sites;

  bool isSample(mlir::Operation *op, int64_t factor) const {
    return input.inputs.batch.contains(input.classes.ofFactor(op, factor));
  }
  bool isPosition(mlir::Operation *op, int64_t factor) const {
    return input.inputs.positions.contains(input.classes.ofFactor(op, factor));
  }
};

/// Seconds of one micro-batch of sites that were asked about before, for the same plan on the same mesh, by the site
/// and the factor that takes the sequence axes; -1: positions.
using SequenceTotals = std::map<std::pair<const SequenceSites::Site *, int64_t>, double>;

/// The outcome of placeSequence for a plan that has entries of the first of blocks that are alike at least, and that
/// stays as it is. `reshards` and `totals` are of its mesh.
struct SequenceOutcome {
  /// Seconds that a step exchanges.
  double seconds = 0;
  /// The exchange of the first attention; Cheaper if positions are not split.
  SequenceExchange ofAttention = SequenceExchange::Cheaper;
  /// Sites that do not gather, each with the factor that takes the sequence axes, or none for a ring. Two exchanges
  /// with the same entries are the same.
  std::vector<std::pair<const SequenceSites::Site *, std::optional<int64_t>>> entries;
};
mlir::FailureOr<SequenceOutcome> sequenceOutcome(const SequenceSites &sites, const plan::Plan &plan,
                                                 const cost::Machine &machine, SequenceExchange exchange,
                                                 ReshardPrices &reshards, SequenceTotals &totals);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_PLACEMENT_SEQUENCEPLACEMENT_H
