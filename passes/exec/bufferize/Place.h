//===- Place.h - Where a value lies -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strided box of a buffer, and what the ops that move no data do to it. All
// functions that cannot express their result as one box return nothing: the caller
// then copies.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_BUFFERIZE_PLACE_H
#define DTCC_PASSES_EXEC_BUFFERIZE_PLACE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace dtcc::exec {

struct Place {
  /// Symbol of the buffer.
  mlir::StringAttr buffer;
  /// Offset from the start of the buffer, in bytes.
  int64_t offset = 0;
  /// Distance of two slots, in bytes.
  int64_t slotStride = 0;
  /// Sizes and strides, in elements.
  llvm::SmallVector<int64_t> sizes, strides;
  mlir::Type element;
  /// The rank's own block: it starts `index in blockOf * blockStride` elements later.
  mlir::StringAttr blockOf;
  int64_t blockStride = 0;

  /// Dense in row-major order at the start of a buffer.
  static Place dense(mlir::StringAttr buffer, mlir::ShapedType type);

  int64_t rank() const { return sizes.size(); }
  int64_t elements() const;
  bool isDense() const;
  bool operator==(const Place &) const = default;

  /// The type of an exec.view of it.
  mlir::MemRefType type() const;
  /// The dimension along which blocks follow each other; nothing if there is none.
  std::optional<int64_t> blockDim() const;
  /// A block that no view can say: its dimension was cut or merged away.
  bool isTorn() const { return blockOf && !blockDim(); }

  /// Dimension i is dimension permutation[i] of this.
  Place transposed(llvm::ArrayRef<int64_t> permutation) const;
  /// Cells offsets[i] + k * steps[i], `shape[i]` of them.
  Place sliced(llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int64_t> shape) const;
  /// Index `index` of dimension `dim`, which vanishes.
  Place part(int64_t dim, int64_t index) const;
  /// Dimension i stands at dims[i] of `shape`; the new ones repeat.
  Place broadcast(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape) const;
  /// A dimension of size 1 before dimension `dim`.
  Place withUnitDim(int64_t dim) const;
  /// A dimension of size 1 before all others. Of a torn block it is the one along which blocks follow each other.
  Place withBlockDim() const;
  /// Views the cells, in row-major order, under another shape.
  std::optional<Place> reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// Merges each group of dimensions, outermost first, into one. An empty group gets size 1.
  std::optional<Place> merged(llvm::ArrayRef<llvm::SmallVector<int64_t>> groups) const;

private:
  /// Leaves strides of dimensions of one cell out, but for that of the dimension `kept`.
  std::optional<Place> mergedBut(std::optional<int64_t> kept, llvm::ArrayRef<llvm::SmallVector<int64_t>> groups) const;
};

/// The dimensions [begin, end).
llvm::SmallVector<int64_t> dimRange(int64_t begin, int64_t end);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_PLACE_H
