//===- PriceDeliveries.h - What it costs to have a value in several layouts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program brings a value to each layout once, whoever reads it so, and from the nearest of
// those that it is in already. A choice of placements pays for sets of layouts
// (ChoiceProblem::Delivery).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLACEMENT_PRICEDELIVERIES_H
#define DTCC_PLANNER_PLACEMENT_PRICEDELIVERIES_H

#include "passes/spmd/reshard/PriceMoves.h"

namespace dtcc::spmd {

struct DeliveryForm {
  Layout layout;
  /// Whether it is the layout of a state, in which the update wants a gradient.
  bool ofUpdate = false;
  bool operator==(const DeliveryForm &) const = default;
};

/// Seconds by candidate of the producer and set of forms (ChoiceProblem::Delivery::costs). `sources`: by candidate the
/// layout of the value, if the candidate is possible; `own`: the forms that the producer's own ops want then. `forms`
/// are in the order of the program. `times`: how often a step brings the value to ops; gradients are brought `slots`
/// times unless the update sums them up. A value's local shape would be `shape` if it were whole.
std::vector<double> deliveryCosts(MovePricer &moves, llvm::ArrayRef<std::optional<Layout>> sources,
                                  llvm::ArrayRef<uint32_t> own, llvm::ArrayRef<DeliveryForm> forms,
                                  llvm::ArrayRef<int64_t> shape, int64_t elementBytes, double times, double slots);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_PLACEMENT_PRICEDELIVERIES_H
