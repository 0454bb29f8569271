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

/// Cells along either side of a tile of a transposition: its rows lie in the first cache until they are done.
constexpr int64_t tileCells = 64;

template <typename T> void copyCell(std::byte *to, const std::byte *from) { std::memcpy(to, from, sizeof(T)); }

/// Transposes as many squares as fit; returns the first row and column that are left.
template <typename T>
std::pair<int64_t, int64_t> transposeSquares(const std::byte *from, int64_t fromStep, std::byte *to, int64_t toStep,
                                             int64_t rows, int64_t columns) {
  if constexpr (sizeof(T) == 4) {
    constexpr int64_t side = 4;
    typedef uint32_t Row __attribute__((ext_vector_type(side)));
    int64_t r = 0, c = 0;
    for (r = 0; r + side <= rows; r += side)
      for (c = 0; c + side <= columns; c += side) {
        Row in[side];
        for (int64_t i = 0; i < side; ++i)
          std::memcpy(&in[i], from + (c + i) * fromStep + r * 4, sizeof(Row));
        const Row low = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5), // two by two, then four by four
            low2 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5),
                  high = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7),
                  high2 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
        const Row out[side] = {
            __builtin_shufflevector(low, low2, 0, 1, 4, 5), __builtin_shufflevector(low, low2, 2, 3, 6, 7),
            __builtin_shufflevector(high, high2, 0, 1, 4, 5), __builtin_shufflevector(high, high2, 2, 3, 6, 7)};
        for (int64_t i = 0; i < side; ++i)
          std::memcpy(to + (r + i) * toStep + c * 4, &out[i], sizeof(Row));
      }
    return {r, columns / side * side};
  }
  return {0, 0};
}

/// to[row][column] = from[column][row]: rows of the target and columns of the source are dense.
template <typename T>
void transposeTile(const std::byte *from, int64_t fromStep, std::byte *to, int64_t toStep, int64_t rows,
                   int64_t columns) {
  constexpr auto width = static_cast<int64_t>(sizeof(T));
  const auto [row, column] = transposeSquares<T>(from, fromStep, to, toStep, rows, columns);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < row ? column : 0; c < columns; ++c)
      copyCell<T>(to + r * toStep + c * width, from + c * fromStep + r * width);
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
  const auto moveLast = [&](auto holds) {
    const auto dim = std::find_if(dims.begin(), dims.end(), holds);
    if (dim == dims.end())
      return false;
    std::rotate(dim, dim + 1, dims.end());
    return true;
  };
  if (moveLast([&](const Dim &dim) { return dim.from == width && dim.to == width; })) {
    runBytes *= dims.back().size;
    dims.pop_back();
  } else {
    transposes = moveLast([&](const Dim &dim) { return dim.from == width; }) &&
                 moveLast([&](const Dim &dim) { return dim.to == width; });
  }
  for (const Dim &dim : dims)
    runs *= dim.size;
}

void StridedCopy::seek(int64_t row, size_t inner, const std::byte *&from, std::byte *&to) const {
  for (size_t d = dims.size() - inner; d-- > 0; row /= dims[d].size) {
    from += row % dims[d].size * dims[d].from;
    to += row % dims[d].size * dims[d].to;
  }
}

void StridedCopy::runTiles(const std::byte *from, std::byte *to, ThreadTeam &team) const {
  const Dim &high = dims[dims.size() - 2], &wide = dims.back();
  const int64_t down = (high.size + tileCells - 1) / tileCells, across = (wide.size + tileCells - 1) / tileCells;
  const int64_t tiles = runs / (high.size * wide.size) * down * across;
  const int64_t grain = std::max<int64_t>(1, grainBytes / (tileCells * tileCells * runBytes));
  team.parallelFor(tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t row = tile / across % down * tileCells, column = tile % across * tileCells;
      const std::byte *s = from + row * high.from + column * wide.from;
      std::byte *t = to + row * high.to + column * wide.to;
      seek(tile / across / down, 2, s, t);
      const int64_t rows = std::min(tileCells, high.size - row), columns = std::min(tileCells, wide.size - column);
      if (runBytes == 4)
        transposeTile<uint32_t>(s, wide.from, t, high.to, rows, columns);
      else if (runBytes == 2)
        transposeTile<uint16_t>(s, wide.from, t, high.to, rows, columns);
      else if (runBytes == 8)
        transposeTile<uint64_t>(s, wide.from, t, high.to, rows, columns);
      else
        transposeTile<uint8_t>(s, wide.from, t, high.to, rows, columns);
    }
  });
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
  if (transposes)
    return runTiles(source, target, team);
  const Dim inner = dims.back();
  int64_t rows = runs / inner.size;
  auto copyRow = [&](int64_t row, int64_t begin, int64_t end) {
    const std::byte *s = source;
    std::byte *t = target;
    seek(row, 1, s, t);
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
