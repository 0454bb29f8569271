//===- Copy.cu - Copies between strided boxes, and fills
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread moves every n-th unit: neighbours move neighbours of the innermost dimension.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Copy.h"
#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/Vectors.h"

namespace dtcc::rt::cuda {
namespace {

struct Places {
  int64_t from, to;
};

/// The quotient of i by size d of the box.
DTCC_DEVICE uint32_t quotient(const StridedBox &p, uint32_t i, int d) {
  return static_cast<uint32_t>(p.divisions[d](static_cast<int32_t>(i)));
}
DTCC_DEVICE int64_t quotient(const StridedBox &p, int64_t i, int d) { return i / p.sizes[d]; }

/// Offsets of unit i in both boxes.
template <typename Index> DTCC_DEVICE Places placesOf(const StridedBox &p, Index i) {
  Places places = {0, 0};
  for (int d = p.rank - 1; d >= 0; --d) {
    const Index rest = d == 0 ? 0 : quotient(p, i, d), at = i - rest * static_cast<Index>(p.sizes[d]);
    i = rest;
    places.from += static_cast<int64_t>(at) * p.fromStrides[d];
    places.to += static_cast<int64_t>(at) * p.toStrides[d];
  }
  return places;
}

/// Index: what numbers the units; 32 bits where sizes have divisions. It holds four steps past the last unit.
template <typename Index, typename Unit, bool fills> DTCC_DEVICE void moveUnits(const StridedBox &p) {
  const Index units = static_cast<Index>(p.units), step = static_cast<Index>(blocksX() * copyThreads);
  auto load = [&](const Places &places) DTCC_INLINE -> Unit {
    if (fills)
      return *reinterpret_cast<const Unit *>(p.pattern);
    return *reinterpret_cast<const Unit *>(static_cast<const char *>(p.from) + places.from);
  };
  auto store = [&](const Places &places, const Unit &unit)
                   DTCC_INLINE { *reinterpret_cast<Unit *>(static_cast<char *>(p.to) + places.to) = unit; };
  Index i = static_cast<Index>(blockX() * copyThreads + threadIndex());
  // Four are asked for before the first is stored: memory answers late.
  for (; i + 3 * step < units; i += 4 * step) {
    const Places a = placesOf(p, i), b = placesOf(p, static_cast<Index>(i + step)),
                 c = placesOf(p, static_cast<Index>(i + 2 * step)), d = placesOf(p, static_cast<Index>(i + 3 * step));
    const Unit first = load(a), second = load(b), third = load(c), fourth = load(d);
    store(a, first);
    store(b, second);
    store(c, third);
    store(d, fourth);
  }
  for (; i < units; i += step) {
    const Places place = placesOf(p, i);
    store(place, load(place));
  }
}

template <typename Unit, bool fills> DTCC_DEVICE void moveBox(const StridedBox &p) {
  // Steps past the last unit must not wrap around.
  if (p.units < (int64_t{1} << 31) && blocksX() * copyThreads * 4 < (int64_t{1} << 31))
    moveUnits<uint32_t, Unit, fills>(p);
  else
    moveUnits<int64_t, Unit, fills>(p);
}

} // namespace
} // namespace dtcc::rt::cuda

using namespace dtcc::rt::cuda;

#define DTCC_UNIT(BYTES, TYPE)                                                                                         \
  DTCC_KERNEL(copy_##BYTES, StridedBox, copyThreads) { moveBox<TYPE, false>(p); }                                      \
  DTCC_KERNEL(fill_##BYTES, StridedBox, copyThreads) { moveBox<TYPE, true>(p); }
DTCC_UNIT(1, uint8_t)
DTCC_UNIT(2, uint16_t)
DTCC_UNIT(4, uint32_t)
DTCC_UNIT(8, uint64_t)
DTCC_UNIT(16, Unit16)
