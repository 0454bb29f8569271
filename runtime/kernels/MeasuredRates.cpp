//===- MeasuredRates.cpp - What a rank is capable of ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/MeasuredRates.h"

#include "runtime/kernels/Matmul.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <numeric>
#include <vector>

namespace dtcc::rt {

static dtcc_dtype typeOfLargestProduct(const Image &image) {
  double flops = 0;
  dtcc_dtype type = DTCC_F32;
  for (const dtcc_command &command : image.commands())
    if (command.kind == DTCC_LIBRARY && (command.op == DTCC_LIB_MATMUL || command.op == DTCC_LIB_GROUPED_MATMUL) &&
        command.flops > flops) {
      flops = command.flops;
      type = static_cast<dtcc_dtype>(image.views()[image.operands(command)[0]].dtype);
    }
  return type;
}

ProductRate productRate(const Rank &rank) {
  constexpr int64_t kSize = 512;
  constexpr int kRuns = 8;
  const VectorKernels &kernels = vectorKernels();
  std::vector<float> ones(kSize * kSize, 1.0f), out(ones);
  std::vector<uint16_t> halves(ones.size());
  ProductProblem problem;
  problem.type = problem.outType = typeOfLargestProduct(rank.image);
  if (problem.type != DTCC_F32)
    kernels.narrow(problem.type, ones.data(), kSize * kSize, halves.data());
  problem.m = problem.n = problem.k = kSize;
  problem.lhs = problem.rhs = problem.type == DTCC_F32 ? static_cast<void *>(ones.data()) : halves.data();
  problem.out = out.data();
  for (int64_t *strides : {problem.lhsStrides, problem.rhsStrides, problem.outStrides}) {
    strides[0] = kSize * kSize;
    strides[1] = kSize;
    strides[2] = 1;
  }
  TeamScratch scratch(rank.team.threads());
  Matmul product(problem, kernels, scratch);
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    auto begin = std::chrono::steady_clock::now();
    product.run(rank.team, scratch, problem);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return {best, problem.type};
}

/// The sum of words, in as many parts as hide the time of an addition.
static uint64_t sumOf(const uint64_t *words, int64_t count) {
  constexpr int64_t kParts = 16;
  uint64_t sums[kParts] = {};
  for (int64_t i = 0; i + kParts <= count; i += kParts)
    for (int64_t part = 0; part < kParts; ++part)
      sums[part] += words[i + part];
  return std::accumulate(std::begin(sums), std::end(sums), uint64_t{0});
}

double readRate(const Rank &rank) {
  constexpr uint64_t kMost = uint64_t{256} << 20;
  constexpr int kRounds = 3;
  uint64_t bytes = 0;
  const std::byte *data = nullptr;
  for (uint32_t i = 0; i < rank.stage.arenas.count; ++i)
    if (uint32_t number = rank.stage.arenas.first + i; rank.image.arenas()[number].bytes > bytes)
      bytes = rank.image.arenas()[number].bytes, data = rank.arenas[number];
  bytes = std::min(bytes, kMost);
  const auto words = static_cast<int64_t>(bytes / sizeof(uint64_t));
  if (words == 0)
    return 0;
  // Small arenas are read so often that the clock can tell.
  const int64_t times = std::max<int64_t>(1, static_cast<int64_t>((uint64_t{16} << 20) / bytes));
  double best = 0;
  std::atomic<uint64_t> total = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < times; ++i)
      rank.team.parallelFor(words, 4096, [&](int64_t first, int64_t last) {
        total += sumOf(reinterpret_cast<const uint64_t *>(data) + first, last - first);
      });
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, static_cast<double>(bytes) * static_cast<double>(times) / seconds);
  }
  return best;
}

} // namespace dtcc::rt
