//===- Embedding.h - Parameters of the kernels of embeddings
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_ROWS_EMBEDDING_H
#define DTCC_RUNTIME_CUDA_KERNELS_ROWS_EMBEDDING_H

#include "runtime/cuda/kernels/Vectors.h"

namespace dtcc::rt::cuda {

constexpr int embeddingThreads = 128;
/// Rows that a thread of scatter_add loads together. It divides every length of a segment.
constexpr int scatterBatch = 8;

/// A strided matrix; strides in its elements (embedding_N: in units of N bytes).
struct Rows {
  void *data;
  int64_t rowStride, columnStride;
};

/// embedding_N: a block a row; cells are N bytes.
struct EmbeddingLookup {
  Rows table, out;
  Integers ids;
  int64_t rows, columns, tableRows, offset;
};

/// scatter_add_T: dtable (f32) += rows of dout in T. scatter_add_parts: dtable += partial sums of the level before.
///
/// Rows of one key are neighbours in the order of keys: they are a run. The places of that order are cut into segments.
/// A group of 2^widthBits threads of a block walks a segment, a thread a column, and the second dimension of the grid
/// has the other columns. The sum of a run that lies within its segment is added to the table. A run that reaches
/// beyond its segment leaves a partial sum, in the first of the segment's two rows of `parts` if it is the segment's
/// first run, else in the second. These rows are the places of the next level, which are in the order of keys again. On
/// the last level there is one segment, which no run leaves. For three segments of four places:
///
///     keys      2 2 2 3 | 3 3 3 3 | 3 5 5 7
///     parts     -     3 | 3     - | 3     -      keys 2, 5 and 7 are in the table
///     rowKeys  ~2     3 | 3    ~3 | 3    ~7
///
/// The order in which rows are added depends on the keys alone.
struct ScatterAdd {
  Rows dout, dtable;
  Integers ids;
  int64_t rows, columns;
  int64_t offset, keys, paddingId; // see Sort.h
  const int32_t *order;            // scatter_add_T
  const int32_t *rowKeys;          // scatter_add_parts: keys of the rows of dout; ~key if the row is absent
  float *parts;                    // [2 * segments, columns]
  int32_t *partKeys;               // [2 * segments], as rowKeys; null on the last level
  int32_t segment, widthBits;
};

/// Bytes of shared memory of a block: keys of its places and two neighbours, and rows.
constexpr int64_t scatterSharedBytes(int64_t segment, int32_t widthBits) {
  return (2 * (embeddingThreads >> widthBits) * segment + 2) * int64_t{sizeof(int32_t)};
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_ROWS_EMBEDDING_H
