//===- LinearRegression.h - A whole training program made by hand -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Least squares: rows x[features] and targets y, prediction x.w, loss the sum of squares
// over the count of rows, SGD with momentum on the mean gradient. Sharded as the
// compiler would: rows over `dp` and over micro-batches `mb`, the momentum and the
// update by flat shares of the parameters' bucket (ZeRO-1), whose length is padded.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_RUNTIME_LINEARREGRESSION_H
#define DTCC_TESTS_UNIT_RUNTIME_LINEARREGRESSION_H

#include "tests/unit/runtime/ImageBuilder.h"

namespace dtcc::rt::test {

struct LinearRegressionPlan {
  int64_t ranks = 1;
  int64_t microbatches = 1;
  int64_t batch = 8;
  int64_t features = 5;
  dtcc_init init = DTCC_INIT_NORMAL;
};

std::vector<uint64_t> linearRegressionImage(const LinearRegressionPlan &plan);
extern const dtcc_kernel linearRegressionKernels[];
extern const uint64_t linearRegressionKernelCount;

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_UNIT_RUNTIME_LINEARREGRESSION_H
