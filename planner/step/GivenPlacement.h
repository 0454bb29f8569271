//===- GivenPlacement.h - The placement of a plan that is given whole
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan file is priced as it stands: its ops and states are where it says, which may differ
// between blocks that are alike, and its stages begin where it cuts.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_GIVENPLACEMENT_H
#define DTCC_PLANNER_STEP_GIVENPLACEMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "planner/parallelism/SequenceExchange.h"
#include "planner/plan/Plan.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::spmd {

/// The axis that splits experts.
inline constexpr char kExpertAxis[] = "ep";

struct GivenPlacement {
  /// Reads the placement from a plan for `step`. Nothing if the plan has other axes than searches use (dp, tp, cp, ep,
  /// pp), or is for another model.
  static std::optional<GivenPlacement> of(mlir::func::FuncOp step, const plan::Plan &plan);

  /// Entries over tp alone, with the offloaded results. The axes of samples, positions and experts follow from the
  /// shape. States that the plan does not list have the layout that the first forward op reads.
  std::vector<plan::OpPlan> ops;
  std::vector<plan::StatePlan> states;
  /// Origins at which stages begin.
  std::vector<int64_t> cuts;
  /// Whether keys and values go around in rings; whether heads are exchanged for positions, or these gathered, where
  /// all attentions have it alike; whether tokens are sent to experts by their picks, or gathered.
  bool ring = false;
  std::optional<bool> exchangesHeads, dispatches;
  /// The room for rows of an expert layer whose tokens are sent (plan::OpPlan::capacity).
  std::optional<double> capacity;
  plan::SequenceExchange exchange() const;

  /// Equal for two ops of one kind that are placed alike.
  std::string signatureOf(mlir::Operation *op) const;

private:
  llvm::DenseMap<int64_t, std::string> opTexts;
  llvm::StringMap<std::string> stateTexts;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_GIVENPLACEMENT_H
