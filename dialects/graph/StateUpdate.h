//===- StateUpdate.h - How a step updates one state -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step has one optimizer. A state has a rate and a decay of its own if it belongs to a parameter group, and the
// optimizer may leave it to another one. All who need the rate, the decay or the slots of a state ask here.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_STATEUPDATE_H
#define DTCC_DIALECTS_GRAPH_STATEUPDATE_H

#include "dialects/graph/Graph.h"

namespace dtcc::graph {

/// The optimizer of a state with its settings.
struct StateUpdate {
  OptimizerAttrInterface optimizer;
  double rate;  /* learning rate where the command line gives none */
  double decay; /* weight decay; 0 where the state does not decay */
};
StateUpdate updateOf(StateOp state, OptimizerAttrInterface optimizer);

/// The steps of Newton and Schulz in which the optimizer of a state orthogonalizes it whole; 0 if it does not.
int64_t orthogonalSteps(OptimizerAttrInterface own);

/// The factor between the learning rate of a state and that of the step.
double rateScaleOf(StateOp state, OptimizerAttrInterface optimizer);

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_STATEUPDATE_H
