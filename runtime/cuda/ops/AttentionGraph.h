//===- AttentionGraph.h - Attention as operations of cuDNN
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN finds its fused kernels by the pattern of a graph: products, scale, mask, softmax and
// what it leaves for the gradient, in the order in which they stand here. Its statistics are
// the kernels' of ours: the natural log of the sum of exponentials of scaled scores, so one
// direction may run here and the other there.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_ATTENTIONGRAPH_H
#define DTCC_RUNTIME_CUDA_OPS_ATTENTIONGRAPH_H

#include "runtime/abi/dtcc_rt.h"
#include "runtime/cuda/driver/CudnnGraph.h"
#include "runtime/kernels/vector/AttentionProblem.h"

namespace dtcc::rt::cuda {

/// Properties of an attention command that AttentionProblem does not hold.
struct AttentionForm {
  dtcc_dtype type = DTCC_BF16;
  bool backward = false, isPart = false, hasMasks = false;
  /// The sums of dq are a tensor in memory, where engines for Hopper and Blackwell want them; else the engine has room
  /// of its own for them, as those for Ampere.
  bool addsInMemory = true;
};

/// Why cuDNN does not compute the problem, as far as that can be told without asking it; null if it may. The one place
/// that knows. Of the problem `firstQuery` is that of this rank; `version` is cudnnGetVersion's.
const char *attentionObstacle(const AttentionProblem &problem, const AttentionForm &form, size_t version);

/// The operations of one direction. Tensors in memory, in the order of CudnnGraph::execute:
///   forward   q, k, v, out, lse
///   backward  q, k, v, out, lse, dout, dq, dk, dv, dots [b, h, g, t], and, if addsInMemory, sums of dq
///             [b, h, g, t, d], both dense f32
CudnnGraph attentionGraph(const AttentionProblem &problem, const AttentionForm &form);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_ATTENTIONGRAPH_H
