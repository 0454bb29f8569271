//===- WholeTensor.h - Parameters of the kernels of whole tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Muon, LAMB and Adafactor change a parameter along a direction that depends on its whole tensor
// (runtime/kernels/WholeTensor.h). These kernels work on a rank's share of a bucket. Adafactor's direction stands in
// Factors.h.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_UPDATES_WHOLETENSOR_H
#define DTCC_RUNTIME_CUDA_KERNELS_UPDATES_WHOLETENSOR_H

#include "runtime/cuda/kernels/updates/GradSquares.h"

#include <cstdint>

namespace dtcc::rt::cuda {

constexpr int wholeTensorThreads = 256;
/// Elements of a block: four a thread.
constexpr int64_t wholeTensorChunk = wholeTensorThreads * 4;

/// The cells of one tensor in a share, as the host has them (rt::TensorRange).
struct ShareRange {
  int64_t begin, end, tensor;
  double decay, lrScale;
};

/// muon_direction: a block a chunk.
struct MuonDirection {
  int64_t size;
  const float *grad, *scale;
  float *buffer, *direction;
  float weight, momentum; // weight = 1 - momentum
  int32_t nesterov;
};

/// Corrections of LAMB's moments by the number of the step.
struct LambCorrection {
  float bias, root; // of m; of v's root
};

/// lamb_correction: one thread. lamb_direction: a block a chunk. Cells outside every range are 0.
struct LambDirection {
  const ShareRange *ranges;
  int64_t rangeCount, size;
  const float *grad, *scale, *p;
  const int64_t *step;
  float *m, *v, *direction;
  LambCorrection *correction;
  double beta1, beta2;
  float eps;
};

/// tensor_squares_pieces: a block a piece. tensor_squares: a thread a tensor, which adds up its pieces in order.
struct TensorSquares {
  const float *p, *direction;
  const GradPiece *pieces;
  const GradTensor *tensors; // all of the bucket; `state` is not read
  int64_t tensorCount;
  double *partial; // two a piece
  float *squares;  // two a tensor
};

/// The step of a range's cells: p = kept * p - size * u.
struct RangeDirection {
  float kept, size;
};

/// direction_steps: a thread a range. apply_direction: a block a chunk.
struct ApplyDirection {
  const ShareRange *ranges;
  const double *cells; // of each range's whole tensor, where steps go by rms
  RangeDirection *steps;
  int64_t rangeCount, size;
  int64_t kind; // dtcc_direction_size
  const float *direction, *scale, *lr;
  const int64_t *step;
  const float *squares;
  float *p;
  void *copy;               // of `copyType`; or null
  int32_t copyType;         // dtcc_dtype
  int32_t adapts, clips;    // by trust
  double leastRms, mostRms; // by rms
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_UPDATES_WHOLETENSOR_H
