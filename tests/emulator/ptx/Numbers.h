//===- Numbers.h - What the types of PTX compute with ---------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A number type says how a cell of a register is stored, what C++ type computes it,
// and how many of them one register holds.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_NUMBERS_H
#define DTCC_TESTS_EMULATOR_PTX_NUMBERS_H

#include "runtime/core/HalfFloat.h"
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace dtcc::emulator {

/// To the nearest float, ties and all else to the odd neighbour: a second rounding to fewer
/// places then gives what one rounding would.
inline float roundToOdd(double value) {
  float near = float(value);
  uint32_t bits = std::bit_cast<uint32_t>(near);
  if (double(near) == value || std::isnan(value) || std::isinf(near) || (bits & 1))
    return near;
  return std::bit_cast<float>(std::fabs(double(near)) < std::fabs(value) ? bits + 1 : bits - 1);
}

inline float flush(float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }

template <class T> struct Integer {
  using Stored = T;
  using Computed = T;
  static constexpr int kCount = 1;
  static T load(T cell) { return cell; }
  static T store(T value) { return value; }
};
struct F32 : Integer<float> {};
struct F64 : Integer<double> {};
struct F32Flushed {
  using Stored = float;
  using Computed = float;
  static constexpr int kCount = 1;
  static float load(float cell) { return flush(cell); }
  static float store(float value) { return flush(value); }
};
struct F16 {
  using Stored = uint16_t;
  using Computed = double;
  static constexpr int kCount = 1;
  static double load(uint16_t cell) { return rt::fromF16(cell); }
  static uint16_t store(double value) { return std::isnan(value) ? 0x7fff : rt::toF16(roundToOdd(value)); }
};
struct BF16 {
  using Stored = uint16_t;
  using Computed = double;
  static constexpr int kCount = 1;
  static double load(uint16_t cell) { return rt::fromBF16(cell); }
  static uint16_t store(double value) { return std::isnan(value) ? 0x7fff : rt::toBF16(roundToOdd(value)); }
};
/// Two numbers side by side in a register.
template <class One> struct Twice : One {
  static constexpr int kCount = 2;
};

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_NUMBERS_H
