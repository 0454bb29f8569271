//===- VectorKernels.h - The kernels of one instruction set -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hand-written inner loops, one table an instruction set. All work on a part
// of an op and know nothing of threads, ranks or images.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_VECTORKERNELS_H
#define DTCC_RUNTIME_KERNELS_VECTOR_VECTORKERNELS_H

#include "runtime/kernels/vector/AttentionProblem.h"
#include "runtime/kernels/vector/ProductProblem.h"
#include "runtime/kernels/vector/RecurrenceRows.h"
#include "runtime/kernels/vector/WinogradProblem.h"

namespace dtcc::rt {

/// Hyperparameters of one Adam step over elements that share them.
struct AdamStep {
  float gradScale; // times the gradient
  float l2;        // weight decay added to the gradient
  float keep;      // 1 - lr * decoupled weight decay
  float beta2;
  float oneMinusBeta1, oneMinusBeta2; // rounded from f64: 1 - float(beta) has another last bit
  float stepSize;                     // lr / (1 - beta1^t)
  float rootCorrection;               // sqrt(1 - beta2^t)
  float eps;
};

/// Hyperparameters of one SGD step over elements that share them.
struct SgdStep {
  float gradScale;
  float decay;
  float momentum; // 0: no buffer
  float dampened; // factor of the gradient in the buffer: 1 on the first step, else 1 - dampening
  float lr;
  bool nesterov;
};

struct AdagradStep {
  float gradScale, decay, lr, eps;
};

struct LionStep {
  float gradScale, keep, lr; // keep: 1 - lr * weight decay
  float beta1, beta2, oneMinusBeta1, oneMinusBeta2;
};

/// Windows along a row: window v has the cells v * stride + k * dilation for k < window, all of them in the row.
struct RowWindows {
  int64_t stride, dilation, window;
};

struct VectorKernels {
  const char *name;
  int lanes;

  /// Attention of query block `item` (see attentionItems). `scratch`: attentionScratch floats.
  void (*attention)(const AttentionProblem &problem, int64_t item, float *scratch);
  /// Gradients of one (batch, kv head): dk and dv of keys [keyBegin, keyEnd) if
  /// `keyGradients`, dq of all queries if `queryGradients` (over those keys only).
  void (*attentionGrad)(const AttentionProblem &problem, int64_t batch, int64_t head, int64_t queryBegin,
                        int64_t queryEnd, int64_t keyBegin, int64_t keyEnd, bool queryGradients, bool keyGradients,
                        float *scratch);

  /// The largest of x[0, n) and the sum of exp(x - largest) in f64; n >= 1.
  void (*rowStatistics)(const float *x, int64_t n, float *largest, double *sum);
  /// y[i] = exp(x[i] - shift); may be in place.
  void (*shiftedExponential)(const float *x, int64_t n, float shift, float *y);
  /// Sum of squares in f64, in an order that depends on n alone.
  double (*sumSquares)(const float *x, int64_t n);
  /// to[i] += from[i].
  void (*addTo)(float *to, const float *from, int64_t n);

  void (*adam)(const AdamStep &step, int64_t n, const float *grad, float *p, float *m, float *v);
  void (*sgd)(const SgdStep &step, int64_t n, const float *grad, float *p, float *buffer);
  void (*adagrad)(const AdagradStep &step, int64_t n, const float *grad, float *p, float *sum);
  void (*lion)(const LionStep &step, int64_t n, const float *grad, float *p, float *m);

  /// f32 of n adjacent bf16 or f16, and back, rounded to nearest even.
  void (*widen)(dtcc_dtype half, const void *from, int64_t n, float *to);
  void (*narrow)(dtcc_dtype half, const float *from, int64_t n, void *to);

  /// Rows [row, row + rows) of columns [column, column + productColumns) of matrix
  /// `g` of a product; rows <= productRows. `scratch`: productScratch floats, and halfProductScratch more for halves.
  void (*product)(const ProductProblem &problem, int64_t g, int64_t row, int64_t rows, int64_t column, float *scratch);

  /// The largest cell of each of `count` windows along a row, the first of equal ones, NaN if one is; in `cells`,
  /// unless it is null, its number in an image whose cell `first` the row begins with.
  void (*largestOfWindows)(const float *row, int64_t count, const RowWindows &windows, int32_t first, float *largest,
                           int32_t *cells);
  /// Puts values and their cells (null: none) in place of those that they replace: of smaller ones, or of any by the
  /// first NaN.
  void (*takeLarger)(const float *values, const int32_t *cells, int64_t n, float *largest, int32_t *largestCells);

  /// Kernels [first, last) of 3 x 3 cells transformed: G g G^T, position i at transformed[i * step + kernel].
  void (*winogradKernels)(const float *kernels, int64_t first, int64_t last, int64_t step, float *transformed);
  /// The cells of y in the tiles of a part. `scratch`: winogradScratch floats.
  void (*winograd)(const WinogradProblem &problem, const float *transformed, const float *x, float *y,
                   const WinogradPart &part, float *scratch);
  /// Sums over the tiles of a part of the kernels' transformed gradient: winogradSums floats. `scratch`:
  /// winogradSumScratch floats.
  void (*winogradSum)(const WinogradProblem &problem, const float *x, const float *dy, const WinogradKernelPart &part,
                      float *sums, float *scratch);
  /// The kernels' gradient of a part from the sums of `parts` parts that are winogradSums floats apart.
  void (*winogradKernelGrad)(const WinogradProblem &problem, const WinogradKernelPart &part, const float *sums,
                             int64_t parts, bool accumulate, float *dkernel);

  /// The functions of a recurrent cell behind its products, and the slopes before them. A gru has a product between its
  /// reset gate and its step, and in the backward pass between the step's slopes and the reset gate's.
  void (*recurrentStep)(RecurrentCell cell, const RecurrentRow &row);
  void (*recurrentReset)(const RecurrentRow &row);
  void (*recurrentStepGrad)(RecurrentCell cell, const RecurrentGradRow &row);
  void (*recurrentResetGrad)(const RecurrentGradRow &row);
};

/// Queries of one forward item, and of one backward block.
constexpr int64_t attentionQueryBlock = 64;
constexpr int64_t attentionKeyBlock = 64;
/// Block of `product`: most rows and columns of the result, and depth of a packed panel.
constexpr int64_t productRows = 516, productColumns = 64, productDepth = 192;
constexpr int64_t productScratch = (productRows + productDepth) * productColumns;
/// Besides, where the operands are halves: a block of the left one in f32.
constexpr int64_t halfProductScratch = productRows * productDepth;

/// Floats of scratch memory for `winograd` with parts of `rows` rows of tiles, and for `winogradSum`.
int64_t winogradScratch(const WinogradProblem &problem, int64_t rows);
int64_t winogradSumScratch(const WinogradProblem &problem);

/// The best table for this processor.
const VectorKernels &vectorKernels();
/// Every table that this processor can run, best first.
const VectorKernels *const *supportedVectorKernels(size_t &count);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_VECTOR_VECTORKERNELS_H
