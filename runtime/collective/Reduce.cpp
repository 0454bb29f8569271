//===- Reduce.cpp - Element-wise reduction in a fixed order --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Reduce.h"

#include "runtime/core/HalfFloat.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

// Compiles the arithmetic for wider vectors too; the program chooses when it starts.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
#define DTCC_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DTCC_MULTIVERSION
#endif

namespace dtcc::rt {
namespace {

/// Elements of one pass: the accumulator and one chunk of a source stay in the
/// first-level cache.
constexpr int64_t chunkElements = 2048;

struct BF16 {
  using Storage = uint16_t;
  using Accumulator = float;
  static float load(uint16_t bits) { return fromBF16(bits); }
  static uint16_t store(float value) { return toBF16(value); }
};
struct F16 {
  using Storage = uint16_t;
  using Accumulator = float;
  static float load(uint16_t bits) { return fromF16(bits); }
  static uint16_t store(float value) { return toF16(value); }
};
template <typename T> struct Plain {
  using Storage = T;
  // Sums of integers wrap: unsigned arithmetic has the same bits and is defined.
  using Accumulator = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};

template <dtcc_reduction reduction, typename T> inline T combine(T a, T b) {
  static_assert(reduction == DTCC_SUM || reduction == DTCC_MAX || reduction == DTCC_MIN, "needs its arithmetic here");
  if constexpr (reduction == DTCC_SUM) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  } else if constexpr (reduction == DTCC_MAX) {
    return a > b || a != a ? a : b;
  } else {
    return a < b || a != a ? a : b;
  }
}

/// The reduction of a fixed number of sources, held in registers. `to` may be one of the
/// sources at the same elements: each is read before it is written.
template <typename T, dtcc_reduction reduction, size_t... others>
inline __attribute__((always_inline)) void reduceFew(T *to, const void *const *sources, int64_t begin, int64_t count,
                                                     std::index_sequence<others...>) {
  const T *first = static_cast<const T *>(sources[0]) + begin;
  const T *rest[] = {static_cast<const T *>(sources[others + 1]) + begin...};
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < count; ++i) {
    T sum = first[i];
    ((sum = combine<reduction>(sum, rest[others][i])), ...);
    to[i] = sum;
  }
}

template <typename Element, dtcc_reduction reduction>
inline __attribute__((always_inline)) void reduceRange(const void *const *sources, size_t sourceCount,
                                                       void *const *destinations, size_t destinationCount,
                                                       int64_t begin, int64_t end, int64_t shift) {
  using Storage = typename Element::Storage;
  using Accumulator = typename Element::Accumulator;
  if constexpr (std::is_same_v<Storage, Accumulator>) {
    if (sourceCount == 2 || sourceCount == 4) {
      for (int64_t at = begin; at < end; at += chunkElements) {
        int64_t count = std::min(chunkElements, end - at);
        Storage *to = static_cast<Storage *>(destinations[0]) + (at - shift);
        if (sourceCount == 2)
          reduceFew<Storage, reduction>(to, sources, at, count, std::make_index_sequence<1>());
        else
          reduceFew<Storage, reduction>(to, sources, at, count, std::make_index_sequence<3>());
        for (size_t d = 1; d < destinationCount; ++d)
          std::memcpy(static_cast<Storage *>(destinations[d]) + (at - shift), to,
                      static_cast<size_t>(count) * sizeof(Storage));
      }
      return;
    }
  }
  alignas(64) Accumulator sum[chunkElements];
  alignas(64) Storage rounded[chunkElements];
  for (int64_t at = begin; at < end; at += chunkElements) {
    int64_t count = std::min(chunkElements, end - at);
    const Storage *first = static_cast<const Storage *>(sources[0]) + at;
    for (int64_t i = 0; i < count; ++i)
      sum[i] = Element::load(first[i]);
    for (size_t s = 1; s < sourceCount; ++s) {
      const Storage *source = static_cast<const Storage *>(sources[s]) + at;
      for (int64_t i = 0; i < count; ++i)
        sum[i] = combine<reduction>(sum[i], Element::load(source[i]));
    }
    const Storage *result;
    if constexpr (std::is_same_v<Storage, Accumulator>) {
      result = sum;
    } else {
      for (int64_t i = 0; i < count; ++i)
        rounded[i] = Element::store(sum[i]);
      result = rounded;
    }
    for (size_t d = 0; d < destinationCount; ++d)
      std::memcpy(static_cast<Storage *>(destinations[d]) + (at - shift), result,
                  static_cast<size_t>(count) * sizeof(Storage));
  }
}

#define DTCC_REDUCER(NAME, ELEMENT, REDUCTION)                                                                         \
  DTCC_MULTIVERSION void NAME##_##REDUCTION(const void *const *s, size_t sn, void *const *d, size_t dn, int64_t b,     \
                                            int64_t e, int64_t shift) {                                                \
    reduceRange<ELEMENT, REDUCTION>(s, sn, d, dn, b, e, shift);                                                        \
  }
#define DTCC_REDUCTION(NAME, C_NAME, ...)                                                                              \
  DTCC_REDUCER(f32, Plain<float>, DTCC_##C_NAME)                                                                       \
  DTCC_REDUCER(f64, Plain<double>, DTCC_##C_NAME)                                                                      \
  DTCC_REDUCER(bf16, BF16, DTCC_##C_NAME)                                                                              \
  DTCC_REDUCER(f16, F16, DTCC_##C_NAME)                                                                                \
  DTCC_REDUCER(i64, Plain<int64_t>, DTCC_##C_NAME)                                                                     \
  DTCC_REDUCER(i32, Plain<int32_t>, DTCC_##C_NAME)                                                                     \
  DTCC_REDUCER(i16, Plain<int16_t>, DTCC_##C_NAME)                                                                     \
  DTCC_REDUCER(i8, Plain<int8_t>, DTCC_##C_NAME)                                                                       \
  DTCC_REDUCER(boolean, Plain<uint8_t>, DTCC_##C_NAME)
#include "runtime/abi/Reductions.def"

using Reducer = void (*)(const void *const *, size_t, void *const *, size_t, int64_t, int64_t, int64_t);
/// Reducers by dtcc_reduction, then by dtcc_dtype.
const Reducer reducers[][9] = {
#define DTCC_REDUCTION(NAME, C_NAME, ...)                                                                              \
  {f32_DTCC_##C_NAME, f64_DTCC_##C_NAME, bf16_DTCC_##C_NAME, f16_DTCC_##C_NAME,    i64_DTCC_##C_NAME,                  \
   i32_DTCC_##C_NAME, i16_DTCC_##C_NAME, i8_DTCC_##C_NAME,   boolean_DTCC_##C_NAME},
#include "runtime/abi/Reductions.def"
};

} // namespace

void reduceElements(dtcc_dtype type, dtcc_reduction reduction, std::span<const void *const> sources,
                    std::span<void *const> destinations, int64_t begin, int64_t end, int64_t shift) {
  // A sum of booleans is "any", as a maximum is.
  if (type == DTCC_BOOL && reduction == DTCC_SUM)
    reduction = DTCC_MAX;
  reducers[reduction][type](sources.data(), sources.size(), destinations.data(), destinations.size(), begin, end,
                            shift);
}

} // namespace dtcc::rt
