//===- Element.h - Cells of device memory as numbers ----------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_CUDA_ELEMENT_H
#define DTCC_TESTS_EMULATOR_CUDA_ELEMENT_H

#include "runtime/core/HalfFloat.h"
#include <cstring>
#include <optional>

namespace dtcc::emulator {

enum class Element { F32, F64, F16, BF16, I8, U8, I32, U32, I64, U64 };

inline size_t bytesOf(Element element) {
  switch (element) {
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::I8:
  case Element::U8:
    return 1;
  case Element::F64:
  case Element::I64:
  case Element::U64:
    return 8;
  default:
    return 4;
  }
}

template <class T> T cellAs(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Cell `i` of a float type.
inline double loadFloat(const char *start, int64_t i, Element element) {
  const char *at = start + i * int64_t(bytesOf(element));
  switch (element) {
  case Element::F64:
    return cellAs<double>(at);
  case Element::F16:
    return rt::fromF16(cellAs<uint16_t>(at));
  case Element::BF16:
    return rt::fromBF16(cellAs<uint16_t>(at));
  default:
    return cellAs<float>(at);
  }
}

inline void storeFloat(char *start, int64_t i, Element element, double value) {
  char *at = start + i * int64_t(bytesOf(element));
  auto put = [&](auto cell) { std::memcpy(at, &cell, sizeof cell); };
  switch (element) {
  case Element::F64:
    return put(value);
  case Element::F16:
    return put(rt::toF16(float(value)));
  case Element::BF16:
    return put(rt::toBF16(float(value)));
  default:
    return put(float(value));
  }
}

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_CUDA_ELEMENT_H
