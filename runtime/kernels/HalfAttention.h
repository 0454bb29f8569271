//===- HalfAttention.h - Attention over bf16 and f16 ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A work item of attention reads the keys and values of one head many times: it converts
// that head to f32 in scratch memory once, and runs the f32 kernel on it. A conversion
// stands against 64 multiplications of each number.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_HALFATTENTION_H
#define DTCC_RUNTIME_KERNELS_HALFATTENTION_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt {

/// Scratch bytes a thread of the two below, besides those of attentionScratchBytes.
size_t halfAttentionScratchBytes(const AttentionProblem &problem, bool backward);

/// Compute attention and attentionGrad on q, k, v, out and gradients of type `half` (DTCC_BF16
/// or DTCC_F16), whose `data` points to 16-bit numbers. With `wideSums` out is f32, so that a
/// problem in several parts is rounded once, not with each part.
void halfAttention(ThreadTeam &team, const VectorKernels &kernels, dtcc_dtype half, bool wideSums,
                   const AttentionProblem &problem, const TeamScratch &scratch);
/// `wideSums`: dq, dk and dv are f32.
void halfAttentionGrad(ThreadTeam &team, const VectorKernels &kernels, dtcc_dtype half, bool wideSums,
                       const AttentionProblem &problem, const TeamScratch &scratch);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_HALFATTENTION_H
