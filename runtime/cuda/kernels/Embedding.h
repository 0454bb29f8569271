//===- Embedding.h - Parameters of the kernels of embeddings
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_EMBEDDING_H
#define DTCC_RUNTIME_CUDA_KERNELS_EMBEDDING_H

#include "runtime/cuda/kernels/Vectors.h"

namespace dtcc::rt::cuda {

constexpr int embeddingThreads = 128;

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

/// scatter_add_T: dtable (f32) += rows of dout in T. A block a place of the sorted rows: the first of its key
/// works, and stops behind the last.
struct ScatterAdd {
  Rows dout, dtable;
  Integers ids;
  int64_t rows, columns;
  int64_t offset, keys, paddingId; // see Sort.h
  const int32_t *order;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_EMBEDDING_H
