//===- HostKernelSuite.cpp - Library ops of the update by hand -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases like those of KernelSuite.cpp that run on processors alone: picks of experts, updates of whole
// tensors, of state of 8 bits, and averages of weights. UpdateCases.cpp compares GPUs with processors on updates, and
// cuda-expert-capacity.test on picks.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "tests/conformance/KernelSuite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

TEST(HostKernelSuite, PacksThePicksThatThereIsRoomFor) {
  // Of rank 0's two experts 4 picks, of which the last overflows; of rank 1's 2 picks.
  for (int64_t rank : {0, 1}) {
    OneCommand c(DTCC_LIB_PACK_PICKS, 2);
    c.longs({3, 2}, {0, 1, 1, 3, 2, 0});
    size_t picked = c.longs({3, 1}, {7, 7, 7}), places = c.longs({3}, {7, 7, 7});
    for (int64_t attribute : {0, 2, 1})
      c.attribute(attribute);
    if (rank == 0) {
      // A run that did not ask for it drops nothing.
      EXPECT_THROW(c.run(rank), Error);
      continue;
    }
    c.run(rank);
    EXPECT_EQ(c.content<int64_t>(picked), (std::vector<int64_t>{3, 2, -1}));
    EXPECT_EQ(c.content<int64_t>(places), (std::vector<int64_t>{3, 4, -1}));
  }
}

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

/// Moments of a tensor as Dettmers et al. 2022 keep them: a code and a scale for each block of 256 cells.
struct BlockMoments {
  BlockMoments(bool isSigned, size_t cells) : codes(cells), scales((cells + 255) / 256) {
    double power = 1e-6;
    for (int decade = 0, parts = isSigned ? 1 : 2; decade < 7; ++decade, parts *= 2, power *= 10)
      for (int part = 0; part < parts; ++part)
        for (double sign : {1.0, -1.0})
          if (sign > 0 || isSigned)
            map.push_back(sign * power * ((0.1 + 0.9 * part / parts) + (0.1 + 0.9 * (part + 1) / parts)) / 2);
    map.insert(map.end(), {0, 1});
    std::sort(map.begin(), map.end());
  }
  double value(size_t i) const { return map[codes[i]] * scales[i / 256]; }
  void store(const std::vector<double> &values) {
    for (size_t i = 0; i < values.size(); ++i) {
      double &scale = scales[i / 256];
      if (i % 256 == 0) {
        scale = 0;
        for (size_t k = i; k < std::min(i + 256, values.size()); ++k)
          scale = std::max(scale, std::abs(values[k]));
      }
      const double number = scale > 0 ? values[i] / scale : 0;
      codes[i] = static_cast<uint8_t>(
          std::min_element(map.begin(), map.end(),
                           [&](double a, double b) { return std::abs(a - number) < std::abs(b - number); }) -
          map.begin());
    }
  }
  std::vector<uint8_t> codes;
  std::vector<double> scales, map;
};

TEST(HostKernelSuite, MomentsOfEightBitsAreCodesOfBlocks) {
  // Two tensors, each of whole and partial blocks; rank 1 of 2 has all of the second and the end of the first.
  constexpr int64_t share = 1536;
  struct Part {
    int64_t begin, end; // in the share
    double decay, lrScale;
  };
  const std::vector<Part> parts{{0, 300, 0, 1}, {512, 1333, 0.1, 0.5}};
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  Floats p(share);
  for (float &each : p)
    each = normal(random);
  std::vector<uint8_t> m(share + share / 64), v(m.size());
  std::vector<double> want(p.begin(), p.end());
  std::vector<BlockMoments> first, second;
  for (const Part &part : parts) {
    first.emplace_back(true, static_cast<size_t>(part.end - part.begin));
    second.emplace_back(false, static_cast<size_t>(part.end - part.begin));
  }
  for (int64_t step = 1; step <= 4; ++step) {
    // The third step is left out.
    const float scale = step == 3 ? std::numeric_limits<float>::quiet_NaN() : 0.5f;
    Floats grad(share);
    for (float &each : grad)
      each = normal(random) * std::exp(2 * normal(random));
    std::fill(grad.begin() + 512, grad.begin() + 800, 0.0f); // a block without a gradient
    OneCommand c(DTCC_LIB_ADAMW8BIT, 2);
    c.floats({share}, grad);
    c.floats({}, {scale});
    c.floats({}, {0.01f});
    c.longs({}, {step});
    const size_t at = c.floats({share}, p);
    const size_t mean = c.operand(DTCC_I8, {static_cast<int64_t>(m.size())}, m);
    const size_t variance = c.operand(DTCC_I8, {static_cast<int64_t>(v.size())}, v);
    const size_t copy = c.operand(DTCC_BF16, {share}, std::vector<uint16_t>(share));
    c.bucket(2 * share);
    c.segment(0, share - 256, 256 + parts[0].end, parts[0].decay, parts[0].lrScale);
    c.segment(0, share + parts[1].begin, parts[1].end - parts[1].begin, parts[1].decay, parts[1].lrScale);
    c.attribute(int64_t{0});
    c.attribute(int64_t{0});
    for (double value : {0.9, 0.99, 1e-2})
      c.attribute(value);
    c.run(1, 0, 3);
    p = c.content(at), m = c.content<uint8_t>(mean), v = c.content<uint8_t>(variance);
    for (size_t k = 0; k < parts.size() && step != 3; ++k) {
      const auto cells = static_cast<size_t>(parts[k].end - parts[k].begin);
      std::vector<double> means(cells), variances(cells);
      for (size_t i = 0; i < cells; ++i) {
        const size_t cell = static_cast<size_t>(parts[k].begin) + i;
        const double g = 0.5 * static_cast<double>(grad[cell]), rate = 0.01 * parts[k].lrScale;
        means[i] = 0.9 * first[k].value(i) + 0.1 * g;
        variances[i] = 0.99 * second[k].value(i) + 0.01 * g * g;
        const auto count = static_cast<double>(step);
        want[cell] = want[cell] * (1 - rate * parts[k].decay) -
                     rate * means[i] / (1 - std::pow(0.9, count)) /
                         (std::sqrt(variances[i] / (1 - std::pow(0.99, count))) + 1e-2);
      }
      first[k].store(means);
      second[k].store(variances);
    }
    expectNear(p, Floats(want.begin(), want.end()), 2e-6f);
    // Roundings of f32 may choose the other one of two codes that are as near.
    int others = 0;
    auto compare = [&](const std::vector<uint8_t> &found, BlockMoments &moments, int64_t begin) {
      for (size_t i = 0; i < moments.codes.size(); ++i) {
        const uint8_t code = found[static_cast<size_t>(begin) + i];
        ASSERT_NEAR(code, moments.codes[i], 1) << "step " << step << " cell " << i;
        others += code != moments.codes[i];
        moments.codes[i] = code;
      }
    };
    for (size_t k = 0; k < parts.size(); ++k) {
      compare(m, first[k], parts[k].begin);
      compare(v, second[k], parts[k].begin);
    }
    EXPECT_LE(others, 2);
    const std::vector<uint16_t> halves = c.content<uint16_t>(copy);
    EXPECT_EQ(std::count(halves.begin(), halves.end(), 0), step == 3 ? share : share - 300 - 821);
  }
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
