//===- Table.h - The functions that each instruction set defines -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Documented at the fields of VectorKernels, which Table.cpp fills in.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_TABLE_H
#define DTCC_RUNTIME_KERNELS_VECTOR_TABLE_H

#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {

void attention(const AttentionProblem &problem, int64_t item, float *scratch);
void attentionGrad(const AttentionProblem &problem, int64_t batch, int64_t head, int64_t queryBegin, int64_t queryEnd,
                   int64_t keyBegin, int64_t keyEnd, bool queryGradients, bool keyGradients, float *scratch);
void rowStatistics(const float *x, int64_t n, float *largest, double *sum);
void shiftedExponential(const float *x, int64_t n, float shift, float *y);
double sumSquares(const float *x, int64_t n);
void addTo(float *to, const float *from, int64_t n);
void adam(const AdamStep &step, int64_t n, const float *grad, float *p, float *m, float *v);
void sgd(const SgdStep &step, int64_t n, const float *grad, float *p, float *buffer);
void adagrad(const AdagradStep &step, int64_t n, const float *grad, float *p, float *sum);
void lion(const LionStep &step, int64_t n, const float *grad, float *p, float *m);
void widen(dtcc_dtype half, const void *from, int64_t n, float *to);
void narrow(dtcc_dtype half, const float *from, int64_t n, void *to);
void productBlock(const ProductProblem &problem, int64_t g, int64_t row, int64_t rows, int64_t column, float *scratch);
void largestOfWindows(const float *row, int64_t count, const RowWindows &windows, int32_t first, float *largest,
                      int32_t *cells);
void takeLarger(const float *values, const int32_t *cells, int64_t n, float *largest, int32_t *largestCells);
void winogradKernels(const float *kernels, int64_t first, int64_t last, int64_t step, float *transformed);
void winograd(const WinogradProblem &problem, const float *transformed, const float *x, float *y,
              const WinogradPart &part, float *scratch);
void winogradSum(const WinogradProblem &problem, const float *x, const float *dy, const WinogradKernelPart &part,
                 float *sums, float *scratch);
void winogradKernelGrad(const WinogradProblem &problem, const WinogradKernelPart &part, const float *sums,
                        int64_t parts, bool accumulate, float *dkernel);

void recurrentStep(RecurrentCell cell, const RecurrentRow &row);
void recurrentReset(const RecurrentRow &row);
void recurrentStepGrad(RecurrentCell cell, const RecurrentGradRow &row);
void recurrentResetGrad(const RecurrentGradRow &row);

extern const VectorKernels table;

} // namespace dtcc::rt::DTCC_SIMD_LEVEL

#endif // DTCC_RUNTIME_KERNELS_VECTOR_TABLE_H
