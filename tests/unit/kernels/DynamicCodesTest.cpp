//===- DynamicCodesTest.cpp - 8-bit codes against their definition -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/DynamicCodes.h"
#include "Fixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace dtcc::rt::test {
namespace {

using Codes = std::vector<uint8_t>;

/// The code of the number nearest to each value over the scale.
uint8_t nearest(const DynamicCodes &codes, double number) {
  auto distance = [&](float each) { return std::abs(double{each} - number); };
  return static_cast<uint8_t>(std::min_element(codes.all().begin(), codes.all().end(),
                                               [&](float a, float b) { return distance(a) < distance(b); }) -
                              codes.all().begin());
}

TEST(DynamicCodes, AreAsDefined) {
  const auto &withSigns = DynamicCodes::of(DTCC_CODES_SIGNED).all(),
             &without = DynamicCodes::of(DTCC_CODES_UNSIGNED).all();
  for (const auto &all : {withSigns, without}) {
    EXPECT_TRUE(std::adjacent_find(all.begin(), all.end(), std::greater_equal<float>()) == all.end());
    EXPECT_EQ(all.back(), 1.0f);
    EXPECT_EQ(std::count(all.begin(), all.end(), 0.0f), 1);
  }
  EXPECT_FLOAT_EQ(withSigns[0], -0.99296875f);
  EXPECT_FLOAT_EQ(withSigns[254], 0.99296875f);
  EXPECT_FLOAT_EQ(withSigns[128], 5.5e-7f);
  EXPECT_EQ(without[0], 0.0f);
  EXPECT_FLOAT_EQ(without[1], 3.25e-7f);
  EXPECT_FLOAT_EQ(without[2], 7.75e-7f);
  EXPECT_FLOAT_EQ(without[254], 0.996484375f);
}

TEST(DynamicCodes, AreTheNearestOfAllMagnitudes) {
  for (dtcc_codes kind : {DTCC_CODES_SIGNED, DTCC_CODES_UNSIGNED}) {
    const DynamicCodes &codes = DynamicCodes::of(kind);
    // Both sides of each middle, and magnitudes of every exponent.
    std::vector<float> numbers{0, 1e-30f, 1e-8f};
    for (size_t i = 1; i < codes.all().size(); ++i)
      for (double side : {-1e-6, 1e-6})
        numbers.push_back(static_cast<float>((double{codes.all()[i - 1]} + double{codes.all()[i]}) / 2 * (1 + side)));
    for (float number = 1; number > 1e-9f; number *= 0.9993f)
      numbers.push_back(number);
    if (kind == DTCC_CODES_SIGNED)
      for (size_t i = 0, end = numbers.size(); i < end; ++i)
        numbers.push_back(-numbers[i]);
    for (float scale : {1.0f, 3e-12f, 7e20f})
      for (float number : numbers) {
        const float values[] = {number * scale, scale};
        uint8_t found[2];
        ASSERT_EQ(codes.encode(values, 2, found), scale);
        ASSERT_EQ(found[0], nearest(codes, double{values[0]} / double{scale})) << number << " of " << scale;
        ASSERT_EQ(found[1], 255);
      }
  }
}

TEST(DynamicCodes, ComeBackFromWhatACheckpointHolds) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (dtcc_codes kind : {DTCC_CODES_SIGNED, DTCC_CODES_UNSIGNED}) {
    const DynamicCodes &codes = DynamicCodes::of(kind);
    int withLeast = 0;
    for (int block = 0; block < 2000; ++block) {
      float values[codeBlock], decoded[codeBlock];
      for (float &value : values) {
        value = normal(random) * std::exp(4 * normal(random));
        value = kind == DTCC_CODES_SIGNED ? value : value * value;
      }
      uint8_t before[codeBlock], after[codeBlock];
      const float scale = codes.encode(values, codeBlock, before);
      codes.decodeSaved(before, scale, codeBlock, decoded);
      withLeast += kind == DTCC_CODES_SIGNED && *std::min_element(before, before + codeBlock) == 0;
      ASSERT_EQ(codes.encode(decoded, codeBlock, after), scale);
      ASSERT_EQ(Codes(before, before + codeBlock), Codes(after, after + codeBlock));
    }
    // Half of the blocks have their largest magnitude below 0.
    EXPECT_EQ(withLeast > 500, kind == DTCC_CODES_SIGNED);
  }
}

TEST(DynamicCodes, KeepZerosAndShowWhatIsNoNumber) {
  const DynamicCodes &codes = DynamicCodes::of(DTCC_CODES_SIGNED);
  uint8_t found[3];
  float decoded[3];
  const float zeros[] = {0, -0.0f, 0};
  codes.decode(found, codes.encode(zeros, 3, found), 3, decoded);
  EXPECT_EQ(std::vector<float>(decoded, decoded + 3), std::vector<float>(3));
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const float values[] = {1, bad, -1};
    EXPECT_FALSE(std::isfinite(codes.encode(values, 3, found)));
  }
}

} // namespace
} // namespace dtcc::rt::test
