//===- OneDnnConvolution.h - Convolutions by oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN's direct convolutions want channels in blocks of a vector's length. A few
// samples at a time are brought into that order in scratch memory, computed and
// brought back while they are in the caches; kernels are brought over once a run.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNCONVOLUTION_H
#define DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNCONVOLUTION_H

#include "runtime/kernels/vector/ConvolutionProblem.h"

#include <cstddef>
#include <memory>

namespace dtcc::rt {

/// A convolution or one of its gradients, made once for its sizes. The addresses come with each run.
class OneDnnConvolution {
public:
  virtual ~OneDnnConvolution() = default;
  /// Bytes that run() needs: the samples and kernels in oneDNN's order, at most about 16 MiB and the kernels twice.
  virtual size_t scratchBytes() const = 0;
  /// Reads two operands and writes the third, in the order of the library op; adds to it if `accumulate`, which
  /// kernels' gradients alone may ask for. `scratch` is aligned to 64.
  virtual void run(const void *first, const void *second, void *result, bool accumulate, std::byte *scratch) = 0;
};

/// Null where oneDNN is missing, has no direct convolution for the problem, or is slower than our own; and for halves,
/// whose sums must stand in f32 until they are complete.
std::unique_ptr<OneDnnConvolution> createOneDnnConvolution(const ConvolutionProblem &problem,
                                                           ConvolutionDirection direction);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNCONVOLUTION_H
