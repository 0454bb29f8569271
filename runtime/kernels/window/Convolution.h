//===- Convolution.h - Convolution and its gradients
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Our own convolution, where oneDNN's (onednn/OneDnnConvolution.h) is missing or no faster.
// Blocks of the image's windows are laid out as columns (im2col) in a thread's scratch
// memory and multiplied by our own matrix product; the whole matrix of columns never
// exists. All tensors are dense, with channels before cells. Sums run in an order that does not depend on the number
// of threads; those of halves stand in f32 until they are complete.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_WINDOW_CONVOLUTION_H
#define DTCC_RUNTIME_KERNELS_WINDOW_CONVOLUTION_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/vector/ConvolutionProblem.h"
#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt {

/// Floats of scratch memory that a thread needs for any of the three.
int64_t convolutionScratch(const ConvolutionProblem &problem);

void convolution(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &problem, const void *x,
                 const void *kernel, void *y, const TeamScratch &scratch);

/// dx: every dy times the kernel, at the cells that were read.
void convolutionInputGrad(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &problem,
                          const void *dy, const void *kernel, void *dx, const TeamScratch &scratch);

/// dkernel: the sum over samples and cells of dy times the cells that were read, added
/// to what is there if `accumulate`.
void convolutionKernelGrad(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &problem,
                           const void *dy, const void *x, bool accumulate, void *dkernel, const TeamScratch &scratch);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_WINDOW_CONVOLUTION_H
