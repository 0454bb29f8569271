//===- ShapeParallel.cpp - A shape as the cost model takes it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/ShapeParallel.h"

namespace dtcc::plan {

cost::Parallel parallelOf(const PlanShape &shape) {
  cost::Parallel parallel;
  parallel.tp = shape.tp;
  parallel.cp = shape.cp;
  parallel.dp = shape.dp;
  parallel.ep = shape.ep;
  parallel.pp = shape.pp;
  parallel.virtualStages = shape.virtualStages;
  parallel.microbatches = shape.microbatches;
  parallel.schedule = shape.schedule;
  parallel.zero = shape.zero;
  parallel.sequenceParallel = shape.sequenceParallel;
  parallel.hostOptimizer = shape.hostOptimizer;
  return parallel;
}

} // namespace dtcc::plan
