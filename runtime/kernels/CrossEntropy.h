//===- CrossEntropy.h - Softmax cross entropy over sharded classes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The three steps of LibraryOps.def. Columns [offset, offset + columns) of the
// classes are here; those at or past `classes` are padding, which no step reads.
// Every step gives the same bits for any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_CROSSENTROPY_H
#define DTCC_RUNTIME_KERNELS_CROSSENTROPY_H

#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/Integers.h"
#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt {

/// Strided f32 vector.
template <typename T> struct Vector {
  T *data = nullptr;
  int64_t stride = 1;
  T &operator[](int64_t i) const { return data[i * stride]; }
};

/// The logarithm of the sum of exp(logit) of each row. f32 near 32 is 1e-6 off, by which factor all probabilities of
/// the row would be off too: programs keep it in f64.
struct RowLogs {
  void *data = nullptr;
  int64_t stride = 1;
  bool wide = false; // f64 instead of f32
  double get(int64_t i) const {
    return wide ? static_cast<const double *>(data)[i * stride] : static_cast<const float *>(data)[i * stride];
  }
  void set(int64_t i, double value) const {
    if (wide)
      static_cast<double *>(data)[i * stride] = value;
    else
      static_cast<float *>(data)[i * stride] = static_cast<float>(value);
  }
};

/// Logits of `rows` samples: columns are contiguous.
struct ClassShard {
  int64_t rows = 0, columns = 0;
  int64_t offset = 0;  // class of column 0
  int64_t classes = 0; // of all shards, without padding
  /// Columns here that are classes.
  int64_t valid() const {
    int64_t left = classes - offset;
    return left < 0 ? 0 : left < columns ? left : columns;
  }
};

/// rowmax and rowsum of exp(logit - rowmax) over the valid columns (-infinity and 0 if there
/// are none); target = the label's logit if it is here, else 0.
void crossEntropyStats(ThreadTeam &team, const VectorKernels &kernels, const ClassShard &shard, const float *logits,
                       int64_t rowStride, const Integers &labels, Vector<float> rowmax, Vector<float> rowsum,
                       Vector<float> target);

/// rowsum *= exp(rowmax - gmax).
void crossEntropyMerge(int64_t rows, Vector<const float> rowmax, Vector<const float> gmax, Vector<float> rowsum);

/// Labels that do not count.
struct IgnoredLabels {
  bool any = false;
  int64_t index = -100;
  bool ignores(int64_t label) const { return any && label == index; }
};

/// lse = gmax + log(rowsum) of every row; lossSum (+)= sum of lse - target over the
/// counted rows, summed in f64 in order; count (+)= their number.
void crossEntropyLoss(int64_t rows, Vector<const float> gmax, Vector<const float> rowsum, Vector<const float> target,
                      const Integers &labels, const IgnoredLabels &ignored, bool accumulate, const RowLogs &lse,
                      float &lossSum, float &count);

/// dlogits = exp(logit - lse) - onehot(label); 0 in ignored rows and padding columns. `type`: of dlogits, f32 or a
/// half, to which each is rounded; `dlogits` may be `logits` where it is f32.
void crossEntropyGrad(ThreadTeam &team, const VectorKernels &kernels, const ClassShard &shard, const float *logits,
                      int64_t rowStride, const Integers &labels, const RowLogs &lse, const IgnoredLabels &ignored,
                      void *dlogits, int64_t gradStride, dtcc_dtype type = DTCC_F32);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_CROSSENTROPY_H
