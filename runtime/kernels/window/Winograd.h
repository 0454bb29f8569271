//===- Winograd.h - Convolutions of 3 x 3 cells by fewer products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Winograd's minimal filtering F(2 x 2, 3 x 3) (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015): a tile of 4 x 4 cells of the image, d, and a kernel,
// g, give 2 x 2 cells of the result,
//
//   A^T ((G g G^T) * (B^T d B)) A,
//
// with 16 products where the definition has 36, and the sum over the input channels is a matrix
// product for each of the 16 positions. Its factors are 0, 1 and a half: in f32 it rounds about
// as the definition does, which is not so of larger tiles. The gradient of the image is the
// convolution of dy with the kernel turned by half, whose transformed values are the same ones
// in another order; that of the kernel is G^T (sum of (A dy A^T) * (B^T d B)) G.
//
// All tensors are dense. Sums run in an order that does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_WINDOW_WINOGRAD_H
#define DTCC_RUNTIME_KERNELS_WINDOW_WINOGRAD_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/vector/ConvolutionProblem.h"
#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt {

class WinogradConvolution {
public:
  /// Whether a convolution, or its gradient, can be computed so: f32, one group, windows of 3 x 3 adjacent cells one
  /// cell apart, at most 2 cells of padding, and kernels of which the transformed ones take at most 32 MiB.
  static bool fits(const ConvolutionProblem &problem);

  /// Whether it is taken to be faster than the other ways: that fits, and there are enough cells for the kernels to be
  /// transformed, in tiles that are nearly all full (runtime/kernels/README.md has the measurements).
  static bool pays(const ConvolutionProblem &problem);

  /// `problem` must fit.
  WinogradConvolution(const ConvolutionProblem &problem, ConvolutionDirection direction, int threads);

  /// Scratch memory of all threads together.
  size_t scratchBytes() const;

  /// Operands as of the functions of Convolution.h: x and the kernel; dy and the kernel; or dy and x, whose result is
  /// added to what is there if `accumulate`.
  void run(ThreadTeam &team, const VectorKernels &kernels, const float *first, const float *second, bool accumulate,
           float *out, float *scratch) const;

private:
  void image(ThreadTeam &team, const VectorKernels &kernels, const float *read, const float *kernel, float *written,
             float *scratch) const;
  void kernelGrad(ThreadTeam &team, const VectorKernels &kernels, const float *dy, const float *x, bool accumulate,
                  float *dkernel, float *scratch) const;
  WinogradKernelPart kernelPart(int64_t pair) const;

  WinogradProblem problem;
  ConvolutionDirection direction;
  int threads;
  int64_t blockRows = 1, blocks = 1, shares = 1, shareOutputs = 1; // of images
  int64_t pairs = 1, parts = 1;                                    // of the kernels' gradient
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_WINDOW_WINOGRAD_H
