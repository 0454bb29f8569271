//===- VectorTest.cpp - Elementary functions of the vector kernels -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/kernels/Fixture.h"

#include <limits>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

double unitsInLastPlace(float got, double wanted) {
  float nearest = static_cast<float>(wanted);
  double unit = static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity())) - nearest;
  return std::abs(got - wanted) / unit;
}

TEST(Exponential, IsWithinTwoUnitsInTheLastPlace) {
  std::vector<float> x, y;
  for (double v = -87.3; v < 88; v += 0.00137)
    x.push_back(static_cast<float>(v));
  for (float tiny : {0.0f, -0.0f, 1e-30f, -1e-8f, 1e-8f, -0.34657359f, 0.34657359f})
    x.push_back(tiny);
  y.resize(x.size());
  forEachInstructionSet([&](const VectorKernels &kernels) {
    kernels.shiftedExponential(x.data(), static_cast<int64_t>(x.size()), 0.0f, y.data());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, unitsInLastPlace(y[i], std::exp(static_cast<double>(x[i]))));
    EXPECT_LT(worst, 2.0);
  });
}

TEST(Exponential, HandlesTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  forEachInstructionSet([&](const VectorKernels &kernels) {
    float x[] = {-infinity, -1000.0f, -88.0f, std::nanf(""), 0.0f}, y[5];
    kernels.shiftedExponential(x, 5, 0.0f, y);
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[2], 0.0f);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_EQ(y[4], 1.0f);
  });
}

TEST(RowStatistics, FindTheLargestAndTheSumAtAnyLength) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(3, 5);
  for (int64_t n : {1, 2, 3, 15, 16, 17, 63, 64, 65, 1023, 1024, 1025, 5000}) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float &v : x)
      v = normal(random);
    // Ascending chunks make the running sum be rescaled.
    if (n > 1024)
      x.back() = 40;
    double largest = x[0], sum = 0;
    for (float v : x)
      largest = std::max<double>(largest, v);
    for (float v : x)
      sum += std::exp(v - largest);
    forEachInstructionSet([&](const VectorKernels &kernels) {
      float gotLargest;
      double gotSum;
      kernels.rowStatistics(x.data(), n, &gotLargest, &gotSum);
      EXPECT_EQ(gotLargest, largest);
      EXPECT_NEAR(gotSum / sum, 1, 1e-6) << n;
    });
  }
}

TEST(RowStatistics, OfNothingButMinusInfinityAreMinusInfinityAndZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(40, -infinity);
  forEachInstructionSet([&](const VectorKernels &kernels) {
    float largest;
    double sum;
    kernels.rowStatistics(x.data(), 40, &largest, &sum);
    EXPECT_EQ(largest, -infinity);
    EXPECT_EQ(sum, 0);
  });
}

TEST(RowStatistics, PassNaNOn) {
  std::vector<float> x(70, 1.0f);
  x[33] = std::nanf("");
  forEachInstructionSet([&](const VectorKernels &kernels) {
    float largest;
    double sum;
    kernels.rowStatistics(x.data(), 70, &largest, &sum);
    EXPECT_TRUE(std::isnan(sum));
  });
}

} // namespace
