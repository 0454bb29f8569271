//===- TransformerProblems.h - Transformers on A100s, for tests
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_PLANNER_TRANSFORMERPROBLEMS_H
#define DTCC_TESTS_UNIT_PLANNER_TRANSFORMERPROBLEMS_H

#include "planner/transformer/TransformerPricer.h"

namespace dtcc::plan {

/// The model (Transformers.def) on `devices` of 80 GB, or of `gib` GiB, in nodes as their preset has them.
inline TransformerProblem problemOf(const char *model, int64_t devices, int64_t batch, double gib = 0) {
  TransformerProblem problem;
  std::string error;
  problem.model = *cost::parseTransformer(model, error);
  problem.device = *cost::findDevice("a100-80");
  if (gib > 0)
    problem.device.memoryBytes = gib * (1 << 30);
  problem.fabric = cost::fabricOf(problem.device);
  problem.software = cost::softwareOf(cost::Framework::NeMo);
  problem.run.attention = problem.software.attention;
  problem.devices = devices;
  problem.batch = batch;
  return problem;
}

} // namespace dtcc::plan

#endif // DTCC_TESTS_UNIT_PLANNER_TRANSFORMERPROBLEMS_H
