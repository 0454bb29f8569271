//===- PlaceExperts.h - Which ranks hold which experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The axis `ep` reuses ranks of data parallelism: outside of the expert layers it splits
// samples, as `dp` does; at an expert layer it splits the experts, so that the tokens of
// a group of `ep` ranks meet all experts of the group. The states of experts lie split
// over it, their gradients are partial over the other batch axes alone, and ZeRO shares
// them over these; all that follows from the factors.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLACEMENT_PLACEEXPERTS_H
#define DTCC_PLANNER_PLACEMENT_PLACEEXPERTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "planner/cluster/Machine.h"
#include "planner/step/GivenPlacement.h"

namespace dtcc::spmd {

/// Communication by which tokens reach experts over `ep`.
enum class ExpertExchange {
  Cheaper,  // by bytes
  Gather,   // every rank of the group gets all tokens of the group
  AllToAll, // it gets those that picked one of its experts (DispatchExperts.cpp)
};
/// "auto", "gather", "alltoall".
std::optional<ExpertExchange> parseExpertExchange(llvm::StringRef text);

/// Gives `ep` to the experts of every expert layer and to their states, says how its
/// tokens get there, and returns the seconds that a step exchanges there. A token's row goes to at most as many other
/// ranks as it picks; with even routing to (ep - 1) (1 - (1 - 1/ep)^k) of them, where a gather brings it to all ep - 1.
/// `Cheaper` gathers where k >= ep: then the worst case is no better. Layers whose tokens are sent get the `capacity`,
/// unless it is 0. Fails with a
/// message if the plan has the axis and the step has no such layer, or fewer experts.
mlir::FailureOr<double> placeExperts(mlir::func::FuncOp step, plan::Plan &plan, const cost::Machine &machine,
                                     ExpertExchange exchange, double capacity = 0);

/// The expert layers of a step.
llvm::SmallVector<mlir::Operation *> expertLayers(mlir::func::FuncOp step);
/// The seconds that placeExperts would return, while the plan stays as it is: searches price many and write few.
mlir::FailureOr<double> secondsOfExperts(mlir::func::FuncOp step, llvm::ArrayRef<mlir::Operation *> layers,
                                         const plan::Plan &plan, const cost::Machine &machine, ExpertExchange exchange);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_PLACEMENT_PLACEEXPERTS_H
