//===- WholeTensor.h - Steps that need whole tensors -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Muon and LAMB change a parameter along a direction that depends on its whole tensor, while a rank updates a share of
// a bucket. The functions here work on shares; the program reduces or gathers between them (LibraryOps.def).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_WHOLETENSOR_H
#define DTCC_RUNTIME_KERNELS_WHOLETENSOR_H

#include "runtime/kernels/Optimizer.h"

namespace dtcc::rt {

/// The cells of one tensor in a share, and its number among the tensors of the bucket.
struct TensorRange {
  int64_t begin, end; // in the share
  int64_t tensor;
  double decay;
  double lrScale;
};

/// Momentum of Muon: buf += (1 - momentum) * (g - buf), and the direction g + momentum * (buf - g) or buf.
void muonDirection(ThreadTeam &team, int64_t n, double momentum, bool nesterov, float scale, const float *grad,
                   float *buffer, float *direction);

struct LambOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-6;
};
/// Moments of LAMB as those of Adam, and the direction mhat / (sqrt(vhat) + eps) + decay * p. Zero between the tensors.
void lambDirection(ThreadTeam &team, std::span<const TensorRange> ranges, int64_t n, const LambOptions &options,
                   float scale, int64_t step, const float *grad, const float *p, float *m, float *v, float *direction);

/// squares[2 t] and squares[2 t + 1]: sums of squares of the share's cells of tensor t in `p` and in `direction`.
void tensorSquares(ThreadTeam &team, const VectorKernels &kernels, std::span<const TensorRange> ranges, int64_t tensors,
                   const float *p, const float *direction, std::span<double> partial, float *squares);

/// The step of a tensor along its direction u: p = kept * p - size * u.
struct DirectionStep {
  double kept = 1, size = 0;
};

/// How LAMB trusts a direction: see APPLY_DIRECTION in LibraryOps.def.
struct TrustOptions {
  bool alwaysAdapt = false, clips = false;
};
/// The ratio of a tensor's norms by which LAMB multiplies its rate.
double trustRatio(const TrustOptions &options, double decay, double squaresOfParameter, double squaresOfDirection);

/// The step of Adafactor: its settings, the tensor's number of cells and sums of squares, the rate and the step's
/// number.
struct RmsOptions {
  double eps2 = 1e-3, d = 1;
};
DirectionStep rmsStep(const RmsOptions &options, double rate, double decay, int64_t step, double cells,
                      double squaresOfParameter, double squaresOfDirection);

/// Steps of one share: `steps` has one for each range.
void applyDirection(ThreadTeam &team, const VectorKernels &kernels, std::span<const TensorRange> ranges,
                    std::span<const DirectionStep> steps, const float *direction, float *p, HalfCopy copy);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_WHOLETENSOR_H
