//===- Optimizer.h - Updates of a share of a bucket -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPTIMIZER_H
#define DTCC_RUNTIME_KERNELS_OPTIMIZER_H

#include "runtime/core/DynamicCodes.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/vector/VectorKernels.h"

#include <limits>
#include <span>
#include <vector>

namespace dtcc::rt {

/// The gradients of a share: f32, or halves, which readers widen to f32 a block at a time.
struct GradientCells {
  GradientCells(const float *cells) : cells(cells) {}
  GradientCells(const void *cells, dtcc_dtype type) : cells(cells), type(type) {}
  /// The gradients behind the first `count`.
  GradientCells from(int64_t count) const {
    return {static_cast<const char *>(cells) + count * dtcc_dtype_size(type), type};
  }

  const void *cells;
  dtcc_dtype type = DTCC_F32;
};

/// Blocks of sumSquares: their partial sums are added in order.
constexpr int64_t sumSquaresBlocks = 1024;

/// Sum of squares of x[0, n) in f64, the same bits for any number of threads.
/// `partial` is scratch memory for sumSquaresBlocks sums.
double sumSquares(ThreadTeam &team, const VectorKernels &kernels, GradientCells x, int64_t n,
                  std::span<double> partial);

/// The limit of norms where all are welcome.
constexpr float noGradLimit = std::numeric_limits<float>::infinity();

struct GradScale {
  float norm;  // of the mean gradient
  float scale; // to multiply the summed gradient by
};
/// `squares`: of the summed gradient; `count`: what the sum is divided by; `clip`:
/// largest norm, or 0. Where there is no mean gradient (no label counts, or its norm is not
/// finite), or its norm is above `limit`, the scale is noUpdate: one bad batch must not reach
/// parameters and optimizer state.
GradScale gradScale(double squares, double count, double clip, float limit = noGradLimit);

/// The scale by which updates change nothing. Every rank has the same norm, hence the same scale.
constexpr float noUpdate = std::numeric_limits<float>::quiet_NaN();

/// The scale of gradients whose norm is not known yet: that of gradScale without clipping, if the loss is finite.
float meanScale(double lossSum, double count);

/// Norm and scale of gradients that are `lossScale` (a product of scales) times too large.
struct GradUnscale {
  GradScale scale;
  bool finite;
};
GradUnscale gradUnscale(double squares, double count, double clip, double lossScale, float limit = noGradLimit);

/// The state of a dynamic loss scale, as torch.amp.GradScaler keeps it.
struct LossScale {
  float scale, streak, skipped;
};
void adjustLossScale(LossScale &state, bool finite, double growth, double backoff, int64_t interval);

/// A range of a share whose elements have the same hyperparameters.
struct UpdateRange {
  int64_t begin, end; // in the share
  double decay;
  double lrScale;
};

/// Destination of a second copy of a shard, in a narrower type; none if `to` is null.
struct HalfCopy {
  dtcc_dtype type = DTCC_BF16;
  void *to = nullptr;
};

/// Form of weight decay: a term of the gradient (Adam), or a factor of the parameter before (AdamW) or after its step.
enum class AdamDecay : uint8_t { Gradient, Before, Behind };
/// Bias correction of v: none, or before or after eps is added to the root of v.
enum class AdamCorrection : uint8_t { None, BeforeEps, BehindEps };

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  /// At the end of a step parameters are multiplied by 1 - postDecay.
  double postDecay = 0;
  AdamDecay decay = AdamDecay::Before;
  AdamCorrection correction = AdamCorrection::BeforeEps;
  /// Added to the step's number; nothing is corrected where the sum is below 1.
  int64_t start = 0;
};
/// One step number `step` (from 1) of torch.optim.AdamW or Adam over the ranges,
/// the gradient times `scale` first. Elements outside every range stay.
void adamUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
                const AdamOptions &options, float scale, double lr, int64_t step, GradientCells grad, float *p,
                float *m, float *v, HalfCopy copy = {});

/// A step of AdamW with moments that are 8-bit codes. Ranges begin at blocks of codes, as their tensors do. A step
/// encodes all cells of the ranges again.
void codedAdamUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
                     const AdamOptions &options, float scale, double lr, int64_t step, GradientCells grad, float *p,
                     const CodedShare &m, const CodedShare &v, HalfCopy copy = {});

struct SgdOptions {
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  /// Steps taken before: the first of all has no dampening.
  int64_t start = 0;
};
/// One step of torch.optim.SGD; `buffer` is null without momentum.
void sgdUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
               const SgdOptions &options, float scale, double lr, int64_t step, GradientCells grad, float *p,
               float *buffer, HalfCopy copy = {});

/// Adagrad (Duchi et al. 2011) as torch.optim has it. `sum`: its only slot.
struct AdagradOptions {
  double lrDecay = 0, eps = 1e-10;
  /// Added to the step's number, by which the rate decays.
  int64_t start = 0;
};
void adagradUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
                   const AdagradOptions &options, float scale, double lr, int64_t step, GradientCells grad, float *p,
                   float *sum, HalfCopy copy = {});

/// Lion (Chen et al. 2023). `m`: its only slot.
struct LionOptions {
  double beta1 = 0.9, beta2 = 0.99;
};
void lionUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
                const LionOptions &options, float scale, double lr, GradientCells grad, float *p, float *m,
                HalfCopy copy = {});

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPTIMIZER_H
