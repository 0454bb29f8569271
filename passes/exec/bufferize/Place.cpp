//===- Place.cpp - Where a value lies -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/Place.h"
#include "dialects/exec/Exec.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace dtcc::exec;

/// Row-major strides of a dense tensor.
static SmallVector<int64_t> denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

Place Place::dense(StringAttr buffer, ShapedType type) {
  Place place;
  place.buffer = buffer;
  place.sizes = SmallVector<int64_t>(type.getShape());
  place.strides = denseStrides(type.getShape());
  place.element = type.getElementType();
  return place;
}

int64_t Place::elements() const { return llvm::product_of(sizes); }

bool Place::isDense() const {
  int64_t expected = 1;
  for (auto [size, stride] : llvm::reverse(llvm::zip_equal(sizes, strides))) {
    if (size != 1 && stride != expected)
      return false;
    expected *= size;
  }
  return true;
}

/// The dimension of such a box whose extent is `blockStride`.
static std::optional<int64_t> findBlockDim(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, int64_t blockStride) {
  for (auto [dim, size, stride] : llvm::enumerate(sizes, strides))
    if (size * stride == blockStride)
      return dim;
  return std::nullopt;
}

MemRefType Place::type() const {
  // A dimension of one cell may have any stride: the dense one makes equal types of equal boxes. But blocks may follow
  // each other along that dimension.
  if (isDense() && (!blockOf || findBlockDim(sizes, denseStrides(sizes), blockStride)))
    return MemRefType::get(sizes, element);
  return MemRefType::get(sizes, element, StridedLayoutAttr::get(element.getContext(), 0, strides));
}

std::optional<int64_t> Place::blockDim() const {
  // The strides of a dense type are those of its sizes, whatever `strides` says of dimensions of one cell.
  return findBlockDim(sizes, getStrides(type()), blockStride);
}

Place Place::transposed(ArrayRef<int64_t> permutation) const {
  Place result = *this;
  for (auto [i, from] : llvm::enumerate(permutation)) {
    result.sizes[i] = sizes[from];
    result.strides[i] = strides[from];
  }
  return result;
}

Place Place::sliced(ArrayRef<int64_t> offsets, ArrayRef<int64_t> steps, ArrayRef<int64_t> shape) const {
  Place result = *this;
  for (int64_t i = 0; i < rank(); ++i) {
    result.offset += offsets[i] * strides[i] * getElementBytes(element);
    result.strides[i] *= steps[i];
    result.sizes[i] = shape[i];
  }
  return result;
}

Place Place::part(int64_t dim, int64_t index) const {
  Place result = *this;
  result.offset += index * strides[dim] * getElementBytes(element);
  result.sizes.erase(result.sizes.begin() + dim);
  result.strides.erase(result.strides.begin() + dim);
  return result;
}

Place Place::broadcast(ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) const {
  Place result = *this;
  result.sizes = SmallVector<int64_t>(shape);
  result.strides.assign(shape.size(), 0);
  for (auto [i, dim] : llvm::enumerate(dims))
    result.strides[dim] = strides[i];
  return result;
}

Place Place::withUnitDim(int64_t dim) const {
  Place result = *this;
  int64_t stride = dim < rank() ? sizes[dim] * strides[dim] : 1;
  result.sizes.insert(result.sizes.begin() + dim, 1);
  result.strides.insert(result.strides.begin() + dim, stride);
  return result;
}

Place Place::withBlockDim() const {
  Place result = withUnitDim(0);
  if (isTorn())
    result.strides.front() = blockStride;
  return result;
}

std::optional<Place> Place::merged(ArrayRef<SmallVector<int64_t>> groups) const {
  std::optional<Place> result = mergedBut({}, groups);
  // The stride of a dimension of one cell matters where the blocks of ranks follow each other along it.
  if (blockOf && !result)
    result = mergedBut(blockDim(), groups);
  return result;
}

std::optional<Place> Place::mergedBut(std::optional<int64_t> kept, ArrayRef<SmallVector<int64_t>> groups) const {
  Place result = *this;
  result.sizes.clear();
  result.strides.clear();
  for (ArrayRef<int64_t> group : groups) {
    int64_t size = 1, stride = 1;
    bool first = true;
    for (int64_t dim : llvm::reverse(group)) {
      if (sizes[dim] == 1 && dim != kept)
        continue;
      if (first)
        stride = strides[dim];
      else if (strides[dim] != size * stride)
        return std::nullopt;
      first = false;
      size *= sizes[dim];
    }
    result.sizes.push_back(size);
    result.strides.push_back(stride);
  }
  if (result.isTorn())
    return std::nullopt;
  return result;
}

std::optional<Place> Place::reshaped(ArrayRef<int64_t> shape) const {
  Place result = *this;
  result.sizes = SmallVector<int64_t>(shape);
  result.strides.assign(shape.size(), 1);
  // Walk both shapes from the inside: runs of equal products must lie without gaps.
  int64_t from = rank() - 1, to = int64_t(shape.size()) - 1;
  while (to >= 0) {
    while (from >= 0 && sizes[from] == 1)
      --from;
    if (shape[to] == 1) {
      --to;
      continue;
    }
    if (from < 0)
      return std::nullopt;
    int64_t have = sizes[from], base = strides[from], want = shape[to];
    int64_t firstTo = to, inner = base;
    while (have != want) {
      if (have < want) {
        --from;
        while (from >= 0 && sizes[from] == 1)
          --from;
        if (from < 0 || strides[from] != have * base)
          return std::nullopt;
        have *= sizes[from];
      } else {
        if (--to < 0)
          return std::nullopt;
        want *= shape[to];
      }
    }
    for (int64_t i = firstTo; i >= to; --i) {
      result.strides[i] = inner;
      inner *= shape[i];
    }
    --from;
    --to;
  }
  if (result.isTorn())
    return std::nullopt;
  return result;
}

SmallVector<int64_t> dtcc::exec::dimRange(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq(begin, std::max(begin, end)));
}
