//===- LibraryConvolution.h - Convolutions by cuDNN
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution or a gradient of one as a graph of a single operation. On Hopper the library's
// engines are several times as fast as kernels of ours where channels are last; for dense
// images most of them first transpose the operands in their workspace.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_LIBRARYCONVOLUTION_H
#define DTCC_RUNTIME_CUDA_OPS_LIBRARYCONVOLUTION_H

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/cuda/driver/CudaOp.h"
#include "runtime/cuda/driver/CudnnGraph.h"
#include "runtime/kernels/ops/WindowCommands.h"

#include <string>
#include <vector>

namespace dtcc::rt::cuda {

/// A convolution as cuDNN computes it: `problem` may differ from the command's in the type and the order of the
/// kernel's gradient, which then is in the workspace.
struct LibraryConvolutionForm {
  ConvolutionProblem problem;
  ConvolutionDirection direction = ConvolutionDirection::Forward;
  bool usesTf32 = false; ///< products of f32 may round their factors
};

/// A way in which cuDNN computes a convolution: its operation and a plan for it.
struct LibraryConvolutionWay {
  std::shared_ptr<CudnnGraph> graph;
  CudnnPlan plan;
};

/// Returns at most `most` ways, in the order of the library's heuristic, with at most `mostWorkspace` bytes. Throws
/// CudnnRefusal if there is none.
std::vector<LibraryConvolutionWay> convolutionWays(const LibraryConvolutionForm &form, const CudnnTarget &target,
                                                   int64_t mostWorkspace, size_t most);

/// All that the library is told of a command but for its direction, in one line.
std::string convolutionText(const ConvolutionCommand &command, const Rank &rank);

/// Workspace that the compiler plans for the command.
gpu_workspace::LibraryConvolution convolutionWorkspace(const ConvolutionProblem &problem);

/// Whether the library takes such commands, as far as is known without asking it.
bool isForCudnn(const ConvolutionCommand &command, const CheckedOperands &operands, const Rank &rank);

/// The command by cuDNN, by its heuristic's choice, in the workspace of convolutionWorkspace. Null where the library
/// has no engine for it.
std::unique_ptr<CudaOp> bindLibraryConvolution(const ConvolutionCommand &command, ConvolutionDirection direction,
                                               Rank &rank, Launcher &launcher);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_LIBRARYCONVOLUTION_H
