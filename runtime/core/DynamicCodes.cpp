//===- DynamicCodes.cpp - 8-bit codes of f32 values in blocks -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/DynamicCodes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace dtcc::rt {

DynamicCodes::DynamicCodes(bool isSigned) {
  size_t count = 0;
  for (int decade = 0; decade < 7; ++decade) {
    const int parts = 1 << (isSigned ? decade : decade + 1);
    for (int part = 0; part < parts; ++part) {
      auto number = static_cast<float>(std::pow(10.0, decade - 6) * (0.1 + 0.9 * (part + 0.5) / parts));
      numbers[count++] = number;
      if (isSigned)
        numbers[count++] = -number;
    }
  }
  numbers[count++] = 0;
  numbers[count++] = 1;
  std::sort(numbers.begin(), numbers.end());
  zero = static_cast<int32_t>(std::find(numbers.begin(), numbers.end(), 0.0f) - numbers.begin());
  saved = numbers;
  if (isSigned)
    saved[0] = -1;

  const auto positive = numbers.size() - static_cast<size_t>(zero) - 1;
  middles.fill(std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < positive; ++i) {
    const size_t code = static_cast<size_t>(zero) + i;
    middles[i] = static_cast<float>((double{numbers[code]} + double{numbers[code + 1]}) / 2);
  }
  for (uint32_t key = firstKey; key <= lastKey; ++key) {
    const auto below = std::lower_bound(middles.begin(), middles.begin() + static_cast<std::ptrdiff_t>(positive),
                                        std::bit_cast<float>(key << 16));
    middlesBelow[key - firstKey] = static_cast<uint8_t>(below - middles.begin());
  }
  middlesBelow[0] = 0; // the first key stands for all smaller magnitudes too
}

const DynamicCodes &DynamicCodes::of(dtcc_codes kind) {
  static const DynamicCodes withSigns(true), withoutSigns(false);
  return kind == DTCC_CODES_SIGNED ? withSigns : withoutSigns;
}

float DynamicCodes::encode(const float *values, int64_t count, uint8_t *codes) const {
  // As integers, magnitudes that are no numbers are the largest.
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  const auto scale = std::bit_cast<float>(most);
  if (most == 0) {
    std::memset(codes, zero, static_cast<size_t>(count));
    return scale;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float magnitude = std::abs(values[i]) / scale;
    const uint32_t key = std::clamp(std::bit_cast<uint32_t>(magnitude) >> 16, firstKey, lastKey);
    int32_t place = middlesBelow[key - firstKey];
    place += magnitude > middles[static_cast<size_t>(place)];
    codes[i] = static_cast<uint8_t>(std::signbit(values[i]) ? zero - std::min(place, zero) : zero + place);
  }
  return scale;
}

} // namespace dtcc::rt
