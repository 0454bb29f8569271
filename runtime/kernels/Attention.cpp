//===- Attention.cpp - Attention over the threads of a rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Attention.h"

#include <algorithm>

namespace dtcc::rt {
namespace {

int64_t blockCount(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

/// The order 0, n-1, 1, n-2, ...: under a causal mask late queries see more keys,
/// and in this order every contiguous share of the blocks has the same work.
int64_t balanced(int64_t x, int64_t n) { return x % 2 == 0 ? x / 2 : n - 1 - x / 2; }

} // namespace

size_t attentionScratchBytes(int64_t qkSize, int64_t vSize) {
  // Scratch of AttentionBackward.cpp for the widest vectors; the forward kernel needs less.
  int64_t d = blockCount(qkSize, 16) * 16, e = blockCount(vSize, 16) * 16;
  int64_t floats =
      attentionQueryBlock * (3 * d + 2 * e) + attentionKeyBlock * (2 * attentionQueryBlock + std::max(d, e));
  return static_cast<size_t>(floats) * sizeof(float);
}

void attention(ThreadTeam &team, const VectorKernels &kernels, const AttentionProblem &problem,
               const TeamScratch &scratch) {
  int64_t blocks = blockCount(problem.queries, attentionQueryBlock);
  int64_t heads = problem.batch * problem.kvHeads * problem.groups;
  team.parallelParts(heads * blocks, 1, [&](int64_t begin, int64_t end, int part) {
    for (int64_t item = begin; item < end; ++item)
      kernels.attention(problem, item / blocks * blocks + balanced(item % blocks, blocks), scratch.at<float>(part));
  });
}

void attentionGrad(ThreadTeam &team, const VectorKernels &kernels, const AttentionProblem &problem,
                   const TeamScratch &scratch) {
  const int64_t heads = problem.batch * problem.kvHeads, threads = team.threads();
  const int64_t queries = problem.queries, keys = problem.keys;
  // Whole heads share P between all gradients: 5 products instead of 7. They win
  // unless more than 2/7 of the threads would stand idle.
  if (heads * 7 >= blockCount(heads, threads) * threads * 5) {
    team.parallelParts(heads, 1, [&](int64_t begin, int64_t end, int part) {
      for (int64_t item = begin; item < end; ++item)
        kernels.attentionGrad(problem, item / problem.kvHeads, item % problem.kvHeads, 0, queries, 0, keys, true, true,
                              scratch.at<float>(part));
    });
    return;
  }
  const int64_t keyBlocks = blockCount(keys, attentionKeyBlock);
  team.parallelParts(heads * keyBlocks, 1, [&](int64_t begin, int64_t end, int part) {
    for (int64_t item = begin; item < end; ++item) {
      int64_t head = item / keyBlocks, key = balanced(item % keyBlocks, keyBlocks) * attentionKeyBlock;
      kernels.attentionGrad(problem, head / problem.kvHeads, head % problem.kvHeads, 0, queries, key,
                            std::min(key + attentionKeyBlock, keys), false, true, scratch.at<float>(part));
    }
  });
  const int64_t queryBlocks = blockCount(queries, attentionQueryBlock);
  team.parallelParts(heads * queryBlocks, 1, [&](int64_t begin, int64_t end, int part) {
    for (int64_t item = begin; item < end; ++item) {
      int64_t head = item / queryBlocks, query = balanced(item % queryBlocks, queryBlocks) * attentionQueryBlock;
      kernels.attentionGrad(problem, head / problem.kvHeads, head % problem.kvHeads, query,
                            std::min(query + attentionQueryBlock, queries), 0, keys, true, false,
                            scratch.at<float>(part));
    }
  });
}

} // namespace dtcc::rt
