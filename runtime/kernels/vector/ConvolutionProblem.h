//===- ConvolutionProblem.h - What a convolution computes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The argument of our own convolution and of oneDNN's.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_CONVOLUTIONPROBLEM_H
#define DTCC_RUNTIME_KERNELS_VECTOR_CONVOLUTIONPROBLEM_H

#include "runtime/abi/dtcc_rt.h"
#include "runtime/kernels/vector/Window.h"

namespace dtcc::rt {

/// Elements from one sample, group, channel or cell of an image to the next. Cells are numbered row-major.
struct ImageStrides {
  int64_t sample, group, channel, cell;
};
/// Elements from one group, output channel, input channel or window cell of a kernel to the next.
struct KernelStrides {
  int64_t group, output, input, cell;
};

/// x [samples, groups, inputs, image], kernel [groups, outputs, inputs, window],
/// y [samples, groups, outputs, result]. Each is dense in this order or channels last, which is dense as
/// [samples, image, groups, inputs], [groups, outputs, window, inputs] or [samples, result, groups, outputs].
struct ConvolutionProblem {
  int64_t samples = 1, groups = 1, inputs = 1, outputs = 1;
  Window window;
  dtcc_dtype type = DTCC_F32, outType = DTCC_F32; // of operands: f32, bf16 or f16; of the result: that, or f32
  /// Which operands are channels last. One that is dense in both orders counts as the others that are dense in one.
  struct {
    bool image = false, kernel = false, result = false;
    bool any() const { return image || kernel || result; }
  } channelsLast = {};

  ImageStrides imageStrides() const { return strides(window.imageCells(), inputs, channelsLast.image); }
  ImageStrides resultStrides() const { return strides(window.resultCells(), outputs, channelsLast.result); }
  KernelStrides kernelStrides() const { return kernelStrides(channelsLast.kernel); }
  KernelStrides kernelStrides(bool last) const {
    const int64_t cells = window.windowCells(), output = inputs * cells;
    return {outputs * output, output, last ? 1 : cells, last ? inputs : 1};
  }

private:
  ImageStrides strides(int64_t cells, int64_t channels, bool last) const {
    const int64_t sample = groups * channels * cells;
    return last ? ImageStrides{sample, channels, 1, groups * channels}
                : ImageStrides{sample, channels * cells, cells, 1};
  }
};

/// The convolution, or which of its gradients.
enum class ConvolutionDirection { Forward, InputGrad, KernelGrad };

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_VECTOR_CONVOLUTIONPROBLEM_H
