//===- KernelsTest.cpp - Kernels against measurements and by hand
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cost/Kernels.h"
#include <gtest/gtest.h>

using namespace dtcc::cost;

/// Measured, Azure/AI-benchmarking-guide ND A100 v4: square products in fp16.
TEST(Kernels, SquareProductsOnA100) {
  Constants constants = startConstants();
  Kernels kernels(*findDevice("a100"), constants);
  struct {
    double size, teraflops, within;
  } rows[] = {{1024, 119.4, 0.40}, {2048, 221.8, 0.30}, {4096, 228.0, 0.15}, {8192, 253.7, 0.1}, {16384, 257, 0.1}};
  for (const auto &row : rows) {
    double seconds = kernels.seconds(Gemm{row.size, row.size, row.size});
    EXPECT_NEAR(2e-12 * row.size * row.size * row.size / seconds / row.teraflops, 1, row.within) << row.size;
  }
}

/// Measured with dtcc's programs of GPT-2 124M on an H100 (docs/validation.md): results of few tiles whose sums are
/// long. Without parts of sums the first would take 2.5 times as long.
TEST(Kernels, LongSumsOnH100) {
  Constants constants;
  Kernels kernels(*findDevice("h100-sxm"), constants);
  struct {
    double m, n, k, microseconds;
  } rows[] = {{2048, 768, 50304, 220}, {3072, 768, 16384, 135}, {768, 2304, 16384, 137}, {768, 768, 16384, 64}};
  for (const auto &row : rows)
    EXPECT_NEAR(1e6 * kernels.seconds(Gemm{row.m, row.n, row.k}) / row.microseconds, 1, 0.3) << row.m << " " << row.n;
}

/// Measured with dtcc's program of GPT-2 124M on an H200 (docs/measurements.md): five steps of Newton and Schulz on the
/// matrices of twelve layers. By their FLOP alone they would take a fifth of it.
TEST(Kernels, OrthogonalizedMatricesOnH200) {
  Constants constants;
  Kernels kernels(*findDevice("h200"), constants);
  double seconds = 0;
  for (auto [rows, columns] : {std::pair(768., 2304.), {768., 768.}, {768., 3072.}, {3072., 768.}}) {
    const double side = std::min(rows, columns);
    seconds += 12 * kernels.seconds(Orthogonalized{rows, columns, 5, 2 * side * (2 * rows * columns + side * side)});
  }
  EXPECT_NEAR(seconds / 11.7e-3, 1, 0.2);
}

TEST(Kernels, WorkByHand) {
  Constants constants = startConstants();
  constants.launch = 0;
  constants.wave = 0;
  constants.tile = 0;
  Kernels kernels(*findDevice("a100-80"), constants);
  double rate = 312e12 * constants.gemmAmpere, stream = 2039e9 * constants.stream;
  EXPECT_NEAR(kernels.seconds(Gemm{8192, 8192, 8192}), 2.0 * 8192 * 8192 * 8192 / rate, 1e-12);
  // No multiples of 64 are slower; m and n are padded to them.
  EXPECT_NEAR(kernels.seconds(Gemm{8192, 8192, 8200}), constants.misaligned * 2.0 * 8192 * 8192 * 8200 / rate, 1e-12);
  // Odd ones are much slower: 50257 words cost more than 50304.
  EXPECT_GT(kernels.seconds(Gemm{8192, 50257, 8192}), 2 * kernels.seconds(Gemm{8192, 50304, 8192}));
  // A product with one row moves its matrix.
  EXPECT_NEAR(kernels.seconds(Gemm{1, 8192, 8192}), 2.0 * (8192 * 8193.0 + 8192) / stream, 1e-9);
  EXPECT_NEAR(kernels.secondsForStream(1e9), 1e9 / stream, 1e-12);
  // Each tile of 128 x 256 takes its time besides, shared out among the multiprocessors.
  Constants tiled = constants;
  tiled.tile = 2e-6;
  EXPECT_NEAR(Kernels(*findDevice("a100-80"), tiled).seconds(Gemm{8192, 8192, 8192}) -
                  kernels.seconds(Gemm{8192, 8192, 8192}),
              2048 * 2e-6 / 108, 1e-12);
  // Causal attention does half of 4 s^2 d, its backward pass 2.5 times that.
  Attention attention{32, 4096, 4096, 128, true, false, AttentionKernel::Flash};
  double forward = 2.0 * 32 * 4096 * 4096 * 128 / (312e12 * constants.attentionAmpere * 4096 / 4396);
  EXPECT_NEAR(kernels.seconds(attention), forward, 1e-9);
  attention.kernel = AttentionKernel::FlashFirst;
  EXPECT_NEAR(kernels.seconds(attention), forward / constants.attentionFirst, 1e-9);
  // Narrow heads slow down the second version alone.
  attention.headSize = 64;
  EXPECT_NEAR(kernels.seconds(attention), forward / 2 / constants.attentionFirst, 1e-9);
  attention.kernel = AttentionKernel::Flash;
  EXPECT_NEAR(kernels.seconds(attention), forward / 2 / constants.attentionSmallHead, 1e-9);
  attention.headSize = 128;
  attention.kernel = AttentionKernel::Flash;
  attention.backward = true;
  EXPECT_NEAR(kernels.seconds(attention), 2.5 * forward / constants.attentionBackward, 1e-9);
}

TEST(Kernels, NarrowProductsNeedDevicesThatHaveThem) {
  Constants constants;
  Kernels a100(*findDevice("a100"), constants), h100(*findDevice("h100"), constants);
  Gemm gemm{8192, 8192, 8192};
  double wide = a100.seconds(gemm), wideHopper = h100.seconds(gemm);
  gemm.width = Width::F8;
  EXPECT_GT(a100.productRate(Width::F8), 0);
  EXPECT_LE(a100.productRate(Width::F8), a100.productRate(Width::B16));
  EXPECT_NEAR(a100.seconds(gemm) / wide, 1, 0.3);
  EXPECT_LT(h100.seconds(gemm) / wideHopper, 0.7);
}

/// Small products that one kernel computes fill a device together, and start once.
TEST(Kernels, ProductsOfOneKernelShareWaves) {
  Constants constants;
  Kernels h100(*findDevice("h100"), constants);
  Gemm small{1024, 1024, 1024, 16}, alone = small;
  alone.count = 1;
  EXPECT_DOUBLE_EQ(h100.seconds(small), 16 * h100.seconds(alone));
  small.together = true;
  EXPECT_LT(h100.seconds(small), 8 * h100.seconds(alone));
  // As many tiles of one product as of all of them.
  Gemm tall{16 * 1024, 1024, 1024};
  EXPECT_NEAR(h100.seconds(small) / h100.seconds(tall), 1, 0.1);
}

TEST(Constants, Rows) {
  Constants constants = startConstants();
  for (const ConstantRow &row : constantRows()) {
    EXPECT_GT(constants.*row.member, 0) << row.name;
    // A constant that the fit holds keeps its start value.
    if (row.spread == 0)
      EXPECT_EQ(Constants().*row.member, row.start) << row.name;
  }
}
