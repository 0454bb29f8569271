//===- Elements.cpp - Converting elements between types ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Elements.h"

#include "runtime/core/HalfFloat.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace dtcc::rt {
namespace {

/// A stored type: `load` gives a double or an int64_t, which hold every value of it;
/// `store` returns false where the type does not hold the value.
template <typename T> struct Number {
  using Stored = T;
  using Value = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  static Value load(T value) { return static_cast<Value>(value); }
  static bool store(Value value, T &out, bool rounding) {
    if constexpr (std::is_floating_point_v<T>) {
      out = static_cast<T>(value);
      return rounding || static_cast<double>(out) == value || value != value;
    } else {
      out = static_cast<T>(value);
      return static_cast<int64_t>(out) == value;
    }
  }
};
template <float (*fromBits)(uint16_t), uint16_t (*toBits)(float)> struct Half {
  using Stored = uint16_t;
  using Value = double;
  static double load(uint16_t bits) { return static_cast<double>(fromBits(bits)); }
  static bool store(double value, uint16_t &out, bool rounding) {
    out = toBits(static_cast<float>(value));
    return rounding || static_cast<double>(fromBits(out)) == value || value != value;
  }
};
struct Boolean {
  using Stored = uint8_t;
  using Value = int64_t;
  static int64_t load(uint8_t value) { return value != 0; }
  static bool store(int64_t value, uint8_t &out, bool) {
    out = value != 0;
    return value == 0 || value == 1;
  }
};

/// Calls fn with the traits of a type.
template <typename Fn> auto withType(FileType type, Fn &&fn) {
  switch (type) {
  case FileType::F32:
    return fn(Number<float>());
  case FileType::F64:
    return fn(Number<double>());
  case FileType::BF16:
    return fn(Half<fromBF16, toBF16>());
  case FileType::F16:
    return fn(Half<fromF16, toF16>());
  case FileType::I64:
    return fn(Number<int64_t>());
  case FileType::I32:
    return fn(Number<int32_t>());
  case FileType::I16:
    return fn(Number<int16_t>());
  case FileType::I8:
    return fn(Number<int8_t>());
  case FileType::U8:
    return fn(Number<uint8_t>());
  case FileType::U16:
    return fn(Number<uint16_t>());
  case FileType::U32:
    return fn(Number<uint32_t>());
  case FileType::Bool:
    break;
  }
  return fn(Boolean());
}

template <typename From, typename To>
int64_t convertRange(const void *source, void *target, int64_t count, bool rounding) {
  const auto *in = static_cast<const std::byte *>(source);
  auto *out = static_cast<typename To::Stored *>(target);
  for (int64_t i = 0; i < count; ++i) {
    typename From::Stored stored; // files need not be aligned
    std::memcpy(&stored, in + i * static_cast<int64_t>(sizeof(stored)), sizeof(stored));
    auto value = From::load(stored);
    using To64 = typename To::Value;
    // An integer becomes a float if the double holds it; a float never becomes an
    // integer.
    if constexpr (std::is_same_v<decltype(value), double> && std::is_same_v<To64, int64_t>) {
      return i;
    } else {
      auto widened = static_cast<To64>(value);
      if constexpr (!std::is_same_v<decltype(value), To64>)
        if (static_cast<long double>(widened) != static_cast<long double>(value))
          return i;
      if (!To::store(widened, out[i], rounding && std::is_same_v<decltype(value), double>))
        return i;
    }
  }
  return -1;
}

} // namespace

int64_t fileTypeSize(FileType type) {
  return withType(type, [](auto traits) { return int64_t(sizeof(typename decltype(traits)::Stored)); });
}

const char *fileTypeName(FileType type) {
  static const char *const names[] = {"f32", "f64", "bf16", "f16", "i64", "i32",
                                      "i16", "i8",  "bool", "u8",  "u16", "u32"};
  return names[static_cast<int>(type)];
}

const char *dtypeName(uint32_t type) { return fileTypeName(fileTypeOf(type)); }

int64_t convertElements(FileType from, const void *source, uint32_t to, void *target, int64_t count, bool rounding) {
  if (count == 0)
    return -1; // null pointers are allowed then, which memcpy does not take
  if (from == fileTypeOf(to) && from != FileType::Bool) {
    std::memcpy(target, source, static_cast<size_t>(count * fileTypeSize(from)));
    return -1;
  }
  return withType(from, [&](auto in) {
    return withType(fileTypeOf(to), [&](auto out) {
      return convertRange<decltype(in), decltype(out)>(source, target, count, rounding);
    });
  });
}

double elementAsDouble(FileType type, const void *source, int64_t i) {
  return withType(type, [&](auto traits) {
    typename decltype(traits)::Stored stored;
    std::memcpy(&stored, static_cast<const std::byte *>(source) + i * static_cast<int64_t>(sizeof(stored)),
                sizeof(stored));
    return static_cast<double>(decltype(traits)::load(stored));
  });
}

} // namespace dtcc::rt
