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

/// Index: what numbers the units, the narrower the faster to divide.
template <typename Index, typename Unit, bool fills> DTCC_DEVICE void moveUnits(const StridedBox &p) {
  Unit pattern = {};
  if (fills)
    pattern = *reinterpret_cast<const Unit *>(p.pattern);
  const Index units = static_cast<Index>(p.units), step = static_cast<Index>(blocksX() * copyThreads);
  for (Index i = static_cast<Index>(blockX() * copyThreads + threadIndex()); i < units; i += step) {
    int64_t from = 0, to = 0;
    Index rest = i;
    for (int d = p.rank - 1; d >= 0; --d) {
      Index size = static_cast<Index>(p.sizes[d]), at = d == 0 ? rest : rest % size;
      rest = d == 0 ? 0 : rest / size;
      from += static_cast<int64_t>(at) * p.fromStrides[d];
      to += static_cast<int64_t>(at) * p.toStrides[d];
    }
    Unit *target = reinterpret_cast<Unit *>(static_cast<char *>(p.to) + to);
    *target = fills ? pattern : *reinterpret_cast<const Unit *>(static_cast<const char *>(p.from) + from);
  }
}

template <typename Unit, bool fills> DTCC_DEVICE void moveBox(const StridedBox &p) {
  // A step past the last unit must not wrap around.
  if (p.units < (int64_t{1} << 31))
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
