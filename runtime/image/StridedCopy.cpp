//===- StridedCopy.cpp - Copies between strided views --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/StridedCopy.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt {
namespace {

/// Bytes that are worth a thread of their own.
constexpr int64_t grainBytes = 128 << 10;

template <typename T> void setRun(std::byte *to, int64_t count, int64_t stride, int64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T)); // little endian: the low bytes
  if (stride == sizeof(T)) {
    std::fill_n(reinterpret_cast<T *>(to), count, value);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    *reinterpret_cast<T *>(to + i * stride) = value;
}

} // namespace

StridedCopy::StridedCopy(const dtcc_view &from, const dtcc_view &to) {
  int64_t width = dtcc_dtype_size(from.dtype);
  runBytes = width;
  for (int d = 0; d < from.rank; ++d) {
    Dim dim{from.sizes[d], from.strides[d] * width, to.strides[d] * width};
    if (dim.size == 1)
      continue;
    // A dimension whose step spans the whole of the one inside it is one with it.
    if (!dims.empty() && dims.back().from == dim.size * dim.from && dims.back().to == dim.size * dim.to)
      dims.back() = {dims.back().size * dim.size, dim.from, dim.to};
    else
      dims.push_back(dim);
  }
  if (!dims.empty() && dims.back().from == width && dims.back().to == width) {
    runBytes *= dims.back().size;
    dims.pop_back();
  }
  for (const Dim &dim : dims)
    runs *= dim.size;
}

void StridedCopy::run(const void *from, void *to, ThreadTeam &team) const {
  if (from == to || runs * runBytes == 0)
    return;
  auto *source = static_cast<const std::byte *>(from);
  auto *target = static_cast<std::byte *>(to);
  if (dims.empty()) {
    team.parallelFor(runBytes, grainBytes, [&](int64_t begin, int64_t end) {
      std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  const Dim inner = dims.back();
  int64_t rows = runs / inner.size;
  auto copyRow = [&](int64_t row, int64_t begin, int64_t end) {
    const std::byte *s = source;
    std::byte *t = target;
    for (size_t d = dims.size() - 1; d-- > 0;) {
      s += row % dims[d].size * dims[d].from;
      t += row % dims[d].size * dims[d].to;
      row /= dims[d].size;
    }
    // Constant sizes let the compiler use plain moves.
    switch (runBytes) {
    case 4:
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(t + i * inner.to, s + i * inner.from, 4);
      break;
    case 2:
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(t + i * inner.to, s + i * inner.from, 2);
      break;
    case 8:
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(t + i * inner.to, s + i * inner.from, 8);
      break;
    default:
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(t + i * inner.to, s + i * inner.from, static_cast<size_t>(runBytes));
    }
  };
  if (rows >= team.threads()) {
    int64_t grain = std::max<int64_t>(1, grainBytes / (inner.size * runBytes));
    team.parallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        copyRow(row, 0, inner.size);
    });
    return;
  }
  for (int64_t row = 0; row < rows; ++row)
    team.parallelFor(inner.size, std::max<int64_t>(1, grainBytes / runBytes),
                     [&](int64_t begin, int64_t end) { copyRow(row, begin, end); });
}

void fillView(const dtcc_view &view, void *address, int64_t bits, ThreadTeam &team) {
  int64_t count = elementCount(view), width = dtcc_dtype_size(view.dtype);
  if (count == 0)
    return;
  auto *to = static_cast<std::byte *>(address);
  bool dense = isContiguous(view);
  int64_t inner = dense ? count : view.sizes[view.rank - 1];
  int64_t stride = dense ? width : view.strides[view.rank - 1] * width;
  auto set = [&](std::byte *start, int64_t length) {
    if (bits == 0 && stride == width)
      std::memset(start, 0, static_cast<size_t>(length * width));
    else if (width == 8)
      setRun<uint64_t>(start, length, stride, bits);
    else if (width == 4)
      setRun<uint32_t>(start, length, stride, bits);
    else if (width == 2)
      setRun<uint16_t>(start, length, stride, bits);
    else
      setRun<uint8_t>(start, length, stride, bits);
  };
  if (dense) {
    team.parallelFor(count, grainBytes / width,
                     [&](int64_t begin, int64_t end) { set(to + begin * width, end - begin); });
    return;
  }
  team.parallelFor(count / inner, std::max<int64_t>(1, grainBytes / (inner * width)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::byte *start = to;
      for (int64_t rest = row, d = view.rank - 1; d-- > 0; rest /= view.sizes[d])
        start += rest % view.sizes[d] * view.strides[d] * width;
      set(start, inner);
    }
  });
}

} // namespace dtcc::rt
