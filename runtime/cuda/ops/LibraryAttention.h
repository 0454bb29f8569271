//===- LibraryAttention.h - Attention by cuDNN
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_LIBRARYATTENTION_H
#define DTCC_RUNTIME_CUDA_OPS_LIBRARYATTENTION_H

#include "runtime/cuda/driver/CudaOp.h"
#include "runtime/cuda/ops/AttentionGraph.h"
#include "runtime/kernels/ops/AttentionCommand.h"

#include <functional>

namespace dtcc::rt::cuda {

/// A way in which cuDNN computes one direction: its operations and a plan for them.
struct AttentionWay {
  std::shared_ptr<CudnnGraph> graph;
  CudnnPlan plan;
  bool addsInMemory = false; ///< see AttentionForm
};

/// Returns at most `most` ways, in the order of the library's heuristic, none with more workspace than the compiler
/// plans (GpuWorkspace.h). Throws CudnnRefusal if there is none.
std::vector<AttentionWay> attentionWays(const AttentionProblem &problem, const AttentionForm &form,
                                        const CudnnTarget &target, size_t most);

/// The command by cuDNN, by its heuristic's choice, or by what --tune measures of that and `makeOwn`, which binds it to
/// kernels of ours. Null where the library is not there or does not take such commands.
std::unique_ptr<CudaOp> bindLibraryAttention(const CheckedOperands &operands, Rank &rank, Launcher &launcher,
                                             bool backward, std::function<std::unique_ptr<CudaOp>()> makeOwn);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_LIBRARYATTENTION_H
