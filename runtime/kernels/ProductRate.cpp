//===- ProductRate.cpp - The arithmetic that a rank is capable of - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ProductRate.h"

#include "runtime/kernels/Matmul.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace dtcc::rt {

double productRate(ThreadTeam &team) {
  constexpr int64_t kSize = 512;
  constexpr int kRuns = 8;
  std::vector<float> lhs(kSize * kSize, 1.0f), rhs(lhs), out(lhs);
  ProductProblem problem;
  problem.m = problem.n = problem.k = kSize;
  problem.lhs = lhs.data();
  problem.rhs = rhs.data();
  problem.out = out.data();
  for (int64_t *strides : {problem.lhsStrides, problem.rhsStrides, problem.outStrides}) {
    strides[0] = kSize * kSize;
    strides[1] = kSize;
    strides[2] = 1;
  }
  TeamScratch scratch(team.threads());
  Matmul product(problem, vectorKernels(), scratch);
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    auto begin = std::chrono::steady_clock::now();
    product.run(team, scratch, problem);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return best;
}

} // namespace dtcc::rt
