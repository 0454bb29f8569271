//===- WholeTensor.cu - Steps along directions of whole tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas and their order of operations are those of runtime/kernels/WholeTensor.cpp. What depends on a range and the
// step alone is worked out in f64 by a first small launch.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/dtcc_rt.h"
#include "runtime/cuda/kernels/Cells.h"
#include "runtime/cuda/kernels/Reduce.h"
#include "runtime/cuda/kernels/updates/Chunks.h"

using namespace dtcc::rt::cuda;

DTCC_KERNEL(muon_direction, MuonDirection, wholeTensorThreads) {
  const float scale = *p.scale;
  if (scale != scale)
    return; // the step changes nothing
  forChunk(p.size, [&](int64_t i) {
    const float g = p.grad[i] * scale;
    const float buffer = p.buffer[i] + p.weight * (g - p.buffer[i]);
    p.buffer[i] = buffer;
    p.direction[i] = p.nesterov ? g + p.momentum * (buffer - g) : buffer;
  });
}

DTCC_KERNEL(lamb_correction, LambDirection, warpSize) {
  if (threadIndex() != 0)
    return;
  p.correction->bias = static_cast<float>(1 - powerOf(p.beta1, *p.step));
  p.correction->root = static_cast<float>(__builtin_sqrt(1 - powerOf(p.beta2, *p.step)));
}

DTCC_KERNEL(lamb_direction, LambDirection, wholeTensorThreads) {
  const float scale = *p.scale;
  if (scale != scale)
    return; // the step changes nothing
  const LambCorrection correction = *p.correction;
  const float beta1 = static_cast<float>(p.beta1), beta2 = static_cast<float>(p.beta2);
  const float rest1 = static_cast<float>(1 - p.beta1), rest2 = static_cast<float>(1 - p.beta2);
  forChunkInRanges(p.ranges, p.rangeCount, p.size, [&](int64_t i, int64_t range) {
    if (range < 0) {
      p.direction[i] = 0;
      return;
    }
    const float g = p.grad[i] * scale;
    const float m = beta1 * p.m[i] + rest1 * g, v = beta2 * p.v[i] + rest2 * g * g;
    p.m[i] = m, p.v[i] = v;
    p.direction[i] = m / correction.bias / (__builtin_sqrtf(v) / correction.root + p.eps) +
                     static_cast<float>(p.ranges[range].decay) * p.p[i];
  });
}

DTCC_KERNEL(tensor_squares_pieces, TensorSquares, wholeTensorThreads) {
  DTCC_SHARED double room[wholeTensorThreads / warpSize];
  const GradPiece piece = p.pieces[blockX()];
  double ofParameter = 0, ofDirection = 0;
  for (int64_t i = piece.begin + threadIndex(); i < piece.end; i += wholeTensorThreads) {
    ofParameter += static_cast<double>(p.p[i]) * p.p[i];
    ofDirection += static_cast<double>(p.direction[i]) * p.direction[i];
  }
  ofParameter = sumBlock(ofParameter, room);
  ofDirection = sumBlock(ofDirection, room);
  if (threadIndex() != 0)
    return;
  p.partial[2 * blockX()] = ofParameter;
  p.partial[2 * blockX() + 1] = ofDirection;
}

DTCC_KERNEL(tensor_squares, TensorSquares, wholeTensorThreads) {
  const int64_t number = blockX() * wholeTensorThreads + threadIndex();
  if (number >= p.tensorCount)
    return;
  double ofParameter = 0, ofDirection = 0;
  for (int64_t i = p.tensors[number].firstPiece; i < p.tensors[number].lastPiece; ++i)
    ofParameter += p.partial[2 * i], ofDirection += p.partial[2 * i + 1];
  p.squares[2 * number] = static_cast<float>(ofParameter);
  p.squares[2 * number + 1] = static_cast<float>(ofDirection);
}

DTCC_KERNEL(direction_steps, ApplyDirection, wholeTensorThreads) {
  const int64_t number = blockX() * wholeTensorThreads + threadIndex();
  if (number >= p.rangeCount)
    return;
  const ShareRange range = p.ranges[number];
  const double rate = *p.lr * range.lrScale;
  double kept = 1 - rate * range.decay, size = rate;
  if (p.kind == DTCC_DIRECTION_BY_TRUST) {
    const double ofParameter = __builtin_sqrt(static_cast<double>(p.squares[2 * range.tensor]));
    const double ofDirection = __builtin_sqrt(static_cast<double>(p.squares[2 * range.tensor + 1]));
    double ratio = ofParameter > 0 && ofDirection > 0 ? ofParameter / ofDirection : 1;
    if (p.clips)
      ratio = least(ratio, 1.0);
    // The direction holds the decay.
    kept = 1, size = rate * (p.adapts || range.decay != 0 ? ratio : 1);
  }
  if (p.kind == DTCC_DIRECTION_BY_RMS) {
    auto rms = [&](int64_t of) { return __builtin_sqrt(p.squares[2 * range.tensor + of] / p.cells[number]); };
    const double relative = largest(p.leastRms, rms(0));
    const double alpha = relative * least(rate, 1 / __builtin_sqrt(static_cast<double>(*p.step)));
    size = alpha / largest(1.0, rms(1) / p.mostRms);
  }
  p.steps[number] = {static_cast<float>(kept), static_cast<float>(size)};
}

DTCC_KERNEL(apply_direction, ApplyDirection, wholeTensorThreads) {
  const float scale = *p.scale;
  if (scale != scale)
    return; // the step changes nothing
  forChunkInRanges(p.ranges, p.rangeCount, p.size, [&](int64_t i, int64_t range) {
    if (range < 0)
      return;
    const RangeDirection step = p.steps[range];
    const float value = p.p[i] * step.kept - p.direction[i] * step.size;
    p.p[i] = value;
    if (p.copy)
      storeCell(p.copy, p.copyType, i, value);
  });
}
