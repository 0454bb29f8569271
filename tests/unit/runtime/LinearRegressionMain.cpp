//===- LinearRegressionMain.cpp - The hand-made program, as a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan comes from the environment, because a compiled program has its own inside:
// DTCC_TEST_RANKS, DTCC_TEST_MICROBATCHES, DTCC_TEST_INIT=file.
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Main.h"
#include "tests/unit/runtime/LinearRegression.h"

#include <cstdlib>

using namespace dtcc::rt::test;

static int64_t number(const char *name) {
  const char *value = std::getenv(name);
  return value ? std::atoll(value) : 1;
}

int main(int argc, char **argv) {
  LinearRegressionPlan plan;
  plan.ranks = number("DTCC_TEST_RANKS");
  plan.microbatches = number("DTCC_TEST_MICROBATCHES");
  if (std::getenv("DTCC_TEST_INIT"))
    plan.init = DTCC_INIT_FILE;
  std::vector<uint64_t> image = linearRegressionImage(plan);
  dtcc_world world{image.data(), linearRegressionKernels, linearRegressionKernelCount, plan.ranks};
  return dtcc_main(argc, argv, &world, &world + 1);
}
