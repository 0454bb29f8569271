//===- Optimizer.h - Parameters of the kernels of the update
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_UPDATES_OPTIMIZER_H
#define DTCC_RUNTIME_CUDA_KERNELS_UPDATES_OPTIMIZER_H

#include <cstdint>

namespace dtcc::rt::cuda {

constexpr int updateThreads = 256;
/// Elements of a block: four threads' worth of 16 bytes each.
constexpr int64_t updateChunk = updateThreads * 4 * 4;

constexpr int sumSquaresThreads = 512;
/// Blocks of the first stage: their sums are added in order by the second.
constexpr int64_t sumSquaresBlocks = 1024;

/// sum_squares_blocks: blocks of `block` elements, a multiple of 4; sum_squares_total: one thread block.
struct SumSquares {
  const void *in;
  int32_t type; // dtcc_dtype of `in`
  int64_t size, block, blocks;
  double *partial;
  float *out;
  int32_t accumulate;
};

/// grad_scale and, with a loss scale and `finite`, grad_unscale: one thread.
struct GradScale {
  const float *squares, *count, *lossScale;
  const float *limit; /* largest norm by which parameters are updated; null: none */
  float *norm, *scale;
  int32_t *finite;
  double *found; /* of norms by parameter: the unit, and whether the step is left out; null: no one asks */
  double clip, unit;
};

/// mean_scale: one thread.
struct MeanScale {
  const float *lossSum, *count;
  float *scale;
};

/// loss_scale_adjust: one thread.
struct LossScaleAdjust {
  const int32_t *finite;
  const int64_t *step;
  float *scale, *streak, *skipped;
  int64_t *taken;
  double growth, backoff;
  int64_t interval;
};

/// A range of a share whose elements have the same hyperparameters, as the host has it.
struct UpdateRange {
  int64_t begin, end;
  double decay, lrScale;
};
/// Factors that this step applies to the elements of one range.
struct RangeStep {
  // Adam: L2 decay, factor of p, lr / correction; SGD, Adagrad: decay, -, lr; Lion: -, 1 - lr wd, lr
  float decay, keep, rate;
  float root, eps; // Adam: the root of v's correction; Adam, Adagrad: what is added to the root
};

enum class UpdateRule : int32_t { Adam, Sgd, Adagrad, Lion };

struct UpdateCommon {
  const UpdateRange *ranges;
  RangeStep *steps; // one a range, made by update_ranges
  int64_t rangeCount, size;
  const void *grad; // of `gradType`
  const float *scale, *lr;
  const int64_t *step;
  float *p, *slots[2]; // slots that the rule has
  void *copy;          // of `copyType`; or null
  int32_t copyType;    // dtcc_dtype
  int32_t gradType;    // dtcc_dtype
  int32_t aligned;     // four elements of each can be read at once
};

/// update_ranges: a thread a range. adam, sgd, adagrad, lion: a block a chunk.
struct Update {
  UpdateCommon common;
  UpdateRule rule;
  double beta1, beta2, eps;  // SGD: momentum, dampening; Adagrad: decay of the rate, -, eps
  double postDecay;          // Adam: at the end p *= 1 - postDecay
  int32_t decay, correction; // Adam: AdamDecay and AdamCorrection of runtime/kernels/Optimizer.h
  int32_t nesterov;
  int64_t start; // added to the step's number
};

/// One moment of a share as 8-bit codes, with the tables of runtime/core/DynamicCodes.h.
struct CodedMoment {
  uint8_t *codes;                 // one a cell
  float *scales;                  // one a block of cells
  const float *numbers, *middles; // 256 each
  int32_t zero;                   // the code of 0
};

/// adam_codes: a block a block of codes (BlockCodes.h).
struct CodedAdam {
  Update update; // without slots
  CodedMoment m, v;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_UPDATES_OPTIMIZER_H
