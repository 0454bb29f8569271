//===- Attention.h - Attention over the threads of a rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both directions give the same bits for any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_ATTENTION_H
#define DTCC_RUNTIME_KERNELS_ATTENTION_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt {

/// Bytes of scratch that either direction needs for each thread.
size_t attentionScratchBytes(int64_t qkSize, int64_t vSize);

/// Writes out and lse of `problem`. `scratch` holds attentionScratchBytes a thread.
void attention(ThreadTeam &team, const VectorKernels &kernels, const AttentionProblem &problem,
               const TeamScratch &scratch);

/// Writes dq, dk and dv of `problem` from q, k, v, out, lse and dout.
void attentionGrad(ThreadTeam &team, const VectorKernels &kernels, const AttentionProblem &problem,
                   const TeamScratch &scratch);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_ATTENTION_H
