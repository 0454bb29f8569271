//===- HostKernelSuite.cpp - Library ops that processors alone have -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cases of KernelSuite.cpp for rows of LibraryOps.def that GPUs refuse: updates
// of whole tensors and averages of weights.
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/KernelSuite.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

TEST(HostKernelSuite, TensorSquaresAreThoseOfTheShare) {
  OneCommand c(DTCC_LIB_TENSOR_SQUARES, 2);
  c.floats({4}, {1, 2, 3, 4});
  c.floats({4}, {1, 1, 2, 2});
  size_t squares = c.output({6});
  c.bucket(8);
  // Rank 1 has elements 4 to 7: none of the first tensor, the last one of the second.
  c.segment(0, 5, 3, 0, 1);
  c.segment(0, 0, 2, 0, 1);
  c.segment(0, 2, 3, 0, 1);
  c.attribute(int64_t{0});
  c.attribute(int64_t{0});
  c.run(1, 0);
  expectNear(c.content(squares), {0, 0, 1, 1, 29, 9});
}

TEST(HostKernelSuite, ApplyDirectionMultipliesByTheTrustRatio) {
  struct Case {
    int64_t trusts, alwaysAdapt, clips;
    Floats want;
  };
  // The tensors have the norms 2 and 3, and their directions 1; the second does not decay, and has twice the rate.
  for (const Case &each : {Case{1, 0, 0, {0, 1, 2, 3}}, Case{1, 1, 0, {0, 1, 0, 1}}, Case{1, 1, 1, {0.5f, 1.5f, 2, 3}},
                           Case{0, 0, 0, {0.45f, 1.4f, 2, 3}}})
    for (float scale : {1.0f, std::numeric_limits<float>::quiet_NaN()}) {
      OneCommand c(DTCC_LIB_APPLY_DIRECTION);
      c.floats({4}, {1, 1, 1, 1});
      c.floats({}, {scale});
      c.floats({}, {0.5f});
      c.longs({}, {1});
      if (each.trusts)
        c.floats({4}, {4, 1, 9, 1});
      size_t p = c.floats({4}, {1, 2, 3, 4});
      c.bucket(4);
      c.segment(0, 0, 2, 0.1, 1);
      c.segment(0, 2, 2, 0, 2);
      for (int64_t value : {int64_t{0}, int64_t{-1}, each.trusts, each.alwaysAdapt, each.clips})
        c.attribute(value);
      c.run();
      expectNear(c.content(p), std::isnan(scale) ? Floats{1, 2, 3, 4} : each.want);
    }
}

/// The bucket of a command that updates one whole tensor of one cell, with the decay of that.
void bindCell(OneCommand &c, double decay) {
  c.bucket(1);
  c.segment(0, 0, 1, decay, 1);
  c.attribute(int64_t{0});
  c.attribute(int64_t{-1});
}

TEST(HostKernelSuite, AdafactorKeepsTheSquareOfACell) {
  // The second step has weight 0.25: the factor moves from 1 to 1 + (4 - 1) / 4.
  OneCommand c(DTCC_LIB_ADAFACTOR_DIRECTION);
  c.floats({1}, {4});
  c.floats({}, {0.5f});
  c.floats({}, {0.5f});
  c.longs({}, {2});
  c.floats({1}, {3});
  c.floats({1}, {4});
  size_t factors = c.floats({1}, {1}), direction = c.output({1});
  bindCell(c, 0);
  c.attribute(-2.0);
  c.attribute(1e-7);
  c.run();
  expectNear(c.content(factors), {1.75f});
  expectNear(c.content(direction), {2 / std::sqrt(1.75f)});
}

TEST(HostKernelSuite, FactorSquaresAreScaled) {
  for (float scale : {0.5f, std::numeric_limits<float>::quiet_NaN()}) {
    OneCommand c(DTCC_LIB_FACTOR_SQUARES);
    c.floats({1}, {6});
    c.floats({}, {scale});
    size_t squares = c.output({1});
    bindCell(c, 0);
    c.run();
    expectNear(c.content(squares), {std::isnan(scale) ? 0.0f : 9.0f});
  }
}

TEST(HostKernelSuite, ApplyDirectionStepsByTheRootMeanSquare) {
  // Relative to the parameter, 3; u of 4 counts as 1 / 0.5.
  OneCommand c(DTCC_LIB_APPLY_DIRECTION);
  c.floats({1}, {4});
  c.floats({}, {1});
  c.floats({}, {0.1f});
  c.longs({}, {4});
  c.floats({2}, {9, 16});
  size_t p = c.floats({1}, {3});
  bindCell(c, 0.5);
  c.attribute(int64_t{DTCC_DIRECTION_BY_RMS});
  c.attribute(1e-3);
  c.attribute(0.5);
  c.run();
  expectNear(c.content(p), {3 * 0.95f - 3 * 0.1f / 8 * 4});
}

TEST(HostKernelSuite, AveragesBeginWithTheParameters) {
  for (int64_t step : {1, 2}) {
    OneCommand c(DTCC_LIB_AVERAGE);
    c.floats({2}, {1, 2});
    c.longs({}, {step});
    size_t average = c.floats({2}, {5, 10});
    c.attribute(0.75);
    c.run();
    expectNear(c.content(average), step == 1 ? Floats{1, 2} : Floats{4, 8});
  }
}

TEST(HostKernelSuite, ExchangeTakesItselfBack) {
  OneCommand c(DTCC_LIB_EXCHANGE);
  size_t p = c.floats({2}, {1, 2}), average = c.floats({2}, {5, 10});
  c.run();
  expectNear(c.content(p), {5, 10});
  expectNear(c.content(average), {1, 2});
}

} // namespace
