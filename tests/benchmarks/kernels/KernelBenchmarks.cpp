//===- KernelBenchmarks.cpp - Speed of the library ops -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints one JSON object a measurement: the best of several runs, each long enough
// to be timed. Usage: kernel-benchmarks THREADS [FILTER], where FILTER is a part
// of a measurement's name.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/HalfFloat.h"
#include "runtime/kernels/Attention.h"
#include "runtime/kernels/CrossEntropy.h"
#include "runtime/kernels/Embedding.h"
#include "runtime/kernels/Matmul.h"
#include "runtime/kernels/Optimizer.h"
#include "runtime/kernels/blas/BlasProduct.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

using namespace dtcc::rt;

namespace {

const char *filter = "";

/// Memory aligned as an arena's is.
template <typename T> struct ArenaAllocator {
  using value_type = T;
  T *allocate(size_t n) { return static_cast<T *>(std::aligned_alloc(4096, (n * sizeof(T) + 4095) / 4096 * 4096)); }
  void deallocate(T *p, size_t) { std::free(p); }
  bool operator==(const ArenaAllocator &) const { return true; }
};
using Floats = std::vector<float, ArenaAllocator<float>>;

Floats randomFloats(size_t n) {
  Floats x(n);
  uint32_t state = 12345;
  for (float &v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return x;
}

struct Time {
  double wall, processor; // seconds; of all threads
};
Time now() {
  timespec wall, processor;
  clock_gettime(CLOCK_MONOTONIC, &wall);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor);
  auto seconds = [](const timespec &t) {
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  return {seconds(wall), seconds(processor)};
}

/// Runs `fn` for at least 0.4 s and 3 times; returns the least times.
template <typename Fn> Time bestTime(Fn fn) {
  fn();
  Time best = {1e30, 1e30};
  double total = 0;
  for (int i = 0; i < 3 || (total < 0.4 && i < 200); ++i) {
    Time start = now();
    fn();
    Time end = now();
    best.wall = std::min(best.wall, end.wall - start.wall);
    best.processor = std::min(best.processor, end.processor - start.processor);
    total += end.wall - start.wall;
  }
  return best;
}

/// `amount` of `unit` (GFLOP or GB) in one call. Where other programs use the
/// machine, the processor's time is the steadier one.
template <typename Fn> void measure(const std::string &name, double amount, const char *unit, Fn fn) {
  if (name.find(filter) == std::string::npos)
    return;
  Time t = bestTime(fn);
  std::printf("{\"name\": \"%s\", \"ms\": %.4f, \"cpu_ms\": %.4f, \"%s/s\": %.2f, \"%s/cpu_s\": %.2f}\n", name.c_str(),
              t.wall * 1e3, t.processor * 1e3, unit, amount / t.wall, unit, amount / t.processor);
  std::fflush(stdout);
}

/// `x` rounded to bf16.
std::vector<uint16_t, ArenaAllocator<uint16_t>> halves(const Floats &x) {
  std::vector<uint16_t, ArenaAllocator<uint16_t>> rounded(x.size());
  std::transform(x.begin(), x.end(), rounded.begin(), toBF16);
  return rounded;
}

/// Products by oneDNN, on operands as they lie and on packed ones, by OpenBLAS and MKL and by our own kernel, in f32
/// and bf16. Gradients of weights (TN) are f32 in both.
void matmuls(ThreadTeam &team, TeamScratch &scratch) {
  struct {
    int64_t m, n, k;
  } shapes[] = {{1024, 2304, 768}, {1024, 768, 768},  {1024, 3072, 768}, {1024, 768, 3072},
                {1576, 768, 768},  {1576, 3072, 768}, {1576, 768, 3072}, {256, 50304, 768}};
  for (auto [m, n, k] : shapes)
    // The forward product, the gradient of its input and of its weight.
    for (std::string kind : {"NN", "NT", "TN"}) {
      bool transposeLhs = kind == "TN", transposeRhs = kind == "NT";
      int64_t rows = transposeLhs ? k : m, columns = transposeRhs ? k : n;
      int64_t depth = transposeLhs ? m : transposeRhs ? n : k;
      Floats lhs = randomFloats(static_cast<size_t>(rows * depth)),
             rhs = randomFloats(static_cast<size_t>(depth * columns)), out(static_cast<size_t>(rows * columns));
      auto halfLhs = halves(lhs), halfRhs = halves(rhs);
      ProductProblem p;
      p.m = rows, p.n = columns, p.k = depth;
      p.out = out.data();
      p.lhsStrides[1] = transposeLhs ? 1 : depth, p.lhsStrides[2] = transposeLhs ? rows : 1;
      p.rhsStrides[1] = transposeRhs ? 1 : columns, p.rhsStrides[2] = transposeRhs ? depth : 1;
      p.outStrides[1] = columns, p.outStrides[2] = 1;
      double gflop = 2e-9 * static_cast<double>(rows * columns * depth);
      std::string name = "matmul " + kind + " " + std::to_string(rows) + "x" + std::to_string(columns) + "x" +
                         std::to_string(depth) + " ";
      for (bool half : {false, true}) {
        p.type = half ? DTCC_BF16 : DTCC_F32;
        p.outType = half && !transposeLhs ? DTCC_BF16 : DTCC_F32;
        p.lhs = half ? static_cast<const void *>(halfLhs.data()) : lhs.data();
        p.rhs = half ? static_cast<const void *>(halfRhs.data()) : rhs.data();
        const std::string typed = name + (half ? "bf16 " : "");
        for (auto operands : {OneDnnOperands::InPlace, OneDnnOperands::Packed})
          if (auto product = createOneDnnProduct(p, operands)) {
            scratch.reserveTotal(product->scratchBytes());
            measure(typed + (operands == OneDnnOperands::InPlace ? "onednn" : "onednn packed"), gflop, "GFLOP",
                    [&] { product->run(p, scratch.at<std::byte>(0)); });
          }
        scratch.reserve((productScratch + (half ? halfProductScratch : 0)) * sizeof(float));
        if (suitsBlas(p))
          for (auto [library, known] : {std::pair(BlasLibrary::OpenBlas, "openblas"), {BlasLibrary::Mkl, "mkl"}})
            if (Sgemm sgemm = sgemmOf(library))
              measure(typed + known, gflop, "GFLOP", [&] { blasProduct(sgemm, team, p); });
        measure(typed + "own", gflop, "GFLOP", [&] { ownProduct(team, vectorKernels(), p, scratch); });
      }
    }
}

void attentions(ThreadTeam &team, TeamScratch &scratch) {
  struct {
    int64_t b, t, h, d;
    bool causal;
  } shapes[] = {{4, 256, 12, 64, true},   {4, 256, 12, 64, false}, {1, 1024, 12, 64, true},
                {1, 1024, 12, 64, false}, {1, 1024, 8, 128, true}, {4, 197, 12, 64, false}};
  for (auto [b, t, h, d, causal] : shapes) {
    size_t n = static_cast<size_t>(b * t * h * d);
    Floats qkv = randomFloats(3 * n), grads(3 * n), out(n), dout = randomFloats(n), lse(static_cast<size_t>(b * h * t));
    AttentionProblem p;
    p.batch = b, p.queries = p.keys = t, p.kvHeads = h, p.groups = 1, p.qkSize = p.vSize = d;
    p.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(d)));
    p.causal = causal;
    auto view = [](float *data, int64_t batch, int64_t row, int64_t head, bool query) {
      AttentionTensor x;
      x.data = data;
      int64_t strides[] = {batch, row, head, query ? 0 : 1, query ? 1 : 0};
      std::copy_n(strides, 5, x.strides);
      return x;
    };
    int64_t c = h * d;
    for (int part = 0; part < 3; ++part) {
      AttentionTensor *in[] = {&p.q, &p.k, &p.v}, *grad[] = {&p.dq, &p.dk, &p.dv};
      *in[part] = view(qkv.data() + part * c, t * 3 * c, 3 * c, d, part == 0);
      *grad[part] = view(grads.data() + part * c, t * 3 * c, 3 * c, d, part == 0);
    }
    p.out = view(out.data(), t * c, c, d, true);
    p.dout = view(dout.data(), t * c, c, d, true);
    p.lse.data = lse.data();
    p.lse.strides[0] = h * t, p.lse.strides[1] = t, p.lse.strides[3] = 1;
    scratch.reserve(attentionScratchBytes(d, d));
    // Counted without the masked half.
    double pairs =
        static_cast<double>(b * h) * (causal ? 0.5 * static_cast<double>(t * (t + 1)) : static_cast<double>(t * t));
    double gflop = 4e-9 * pairs * static_cast<double>(d);
    std::string name = "attention b=" + std::to_string(b) + " t=" + std::to_string(t) + " h=" + std::to_string(h) +
                       " d=" + std::to_string(d) + (causal ? " causal" : "");
    measure(name + " forward", gflop, "GFLOP", [&] { attention(team, vectorKernels(), p, scratch); });
    measure(name + " backward", gflop * 2.5, "GFLOP", [&] { attentionGrad(team, vectorKernels(), p, scratch); });
  }
}

void crossEntropies(ThreadTeam &team) {
  const int64_t rows = 256, classes = 50257, columns = 50304;
  Floats logits = randomFloats(rows * columns), grad(logits.size());
  Floats rowmax(rows), rowsum(rows), target(rows), lse(rows, 11);
  std::vector<int64_t> labels(rows, 17);
  Integers given{labels.data(), rows, 1, true};
  double gb = 1e-9 * rows * columns * 4;
  measure("cross_entropy_stats 256x50257", gb, "GB", [&] {
    crossEntropyStats(team, vectorKernels(), {rows, columns, 0, classes}, logits.data(), columns, given,
                      {rowmax.data()}, {rowsum.data()}, {target.data()});
  });
  measure("cross_entropy_grad 256x50257 (read and written)", 2 * gb, "GB", [&] {
    crossEntropyGrad(team, vectorKernels(), {rows, columns, 0, classes}, logits.data(), columns, given, {lse.data()},
                     {}, grad.data(), columns);
  });
}

void updates(ThreadTeam &team) {
  const size_t n = 32 << 20;
  Floats grad(n, 1e-3f), p(n, 1), m(n, 0), v(n, 0);
  std::vector<UpdateRange> ranges = {{0, static_cast<int64_t>(n), 0.1, 1}};
  double gb = 1e-9 * static_cast<double>(n) * 4;
  measure("adamw 32Mi (4 read, 3 written)", 7 * gb, "GB", [&] {
    adamUpdate(team, vectorKernels(), ranges, {}, 0.5f, 1e-3, 3, grad.data(), p.data(), m.data(), v.data());
  });
  measure("sgd 32Mi (3 read, 2 written)", 5 * gb, "GB", [&] {
    sgdUpdate(team, vectorKernels(), ranges, {0.9, 0, false, 0}, 0.5f, 1e-3, 3, grad.data(), p.data(), m.data());
  });
  measure("memcpy 32Mi (1 read, 1 written)", 2 * gb, "GB", [&] {
    team.parallelFor(static_cast<int64_t>(n), 4096, [&](int64_t begin, int64_t end) {
      std::memcpy(p.data() + begin, m.data() + begin, static_cast<size_t>(end - begin) * 4);
    });
  });
  std::vector<double> partial(sumSquaresBlocks);
  measure("sum_squares 32Mi", gb, "GB",
          [&] { sumSquares(team, vectorKernels(), grad.data(), static_cast<int64_t>(n), partial); });
  std::vector<int64_t> ids(1024);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int64_t>(i * 7919 % 32768);
  Matrix<float> table{p.data(), 32768, 768, 768, 1};
  Matrix<const float> rows{grad.data(), 1024, 768, 768, 1};
  measure("scatter_add 1024x768 into 32768 rows, accumulating", 3e-9 * 1024 * 768 * 4, "GB",
          [&] { scatterAdd(team, vectorKernels(), rows, {ids.data(), 1024, 1, true}, 0, true, -1, table); });
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  if (argc > 2)
    filter = argv[2];
  ThreadTeam team(threads);
  TeamScratch scratch(threads);
  std::printf("{\"threads\": %d, \"instructions\": \"%s\", \"onednn\": %s}\n", threads, vectorKernels().name,
              hasOneDnn() ? "true" : "false");
  matmuls(team, scratch);
  attentions(team, scratch);
  crossEntropies(team);
  updates(team);
}
