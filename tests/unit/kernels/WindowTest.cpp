//===- WindowTest.cpp - Convolution and pooling against their definitions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionCase.h"
#include "Fixture.h"
#include "runtime/kernels/onednn/OneDnnConvolution.h"
#include "runtime/kernels/onednn/OneDnnProduct.h"
#include "runtime/kernels/window/Convolution.h"
#include "runtime/kernels/window/Pooling.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

const ConvolutionProblem problems[] = {
    // The first layer of a residual network; more cells than are laid out at a time.
    {4, 1, 3, 8, window({1, 33, 33, 1, 7, 7, 1, 17, 17, 1, 2, 2, 1, 1, 1, 0, 3, 3})},
    // More channels than are laid out at a time.
    {3, 1, 64, 70, window({1, 2, 3, 1, 3, 3, 1, 2, 3, 1, 1, 1, 1, 1, 1, 0, 1, 1})},
    // Groups, dilations, a step that leaves cells over.
    {2, 3, 2, 5, window({1, 9, 11, 1, 2, 3, 1, 3, 4, 1, 3, 2, 1, 2, 2, 0, 0, 1})},
    // One dimension, and three.
    {2, 1, 4, 3, window({1, 1, 300, 1, 1, 5, 1, 1, 300, 1, 1, 1, 1, 1, 1, 0, 0, 2})},
    {1, 2, 2, 2, window({4, 5, 6, 2, 2, 2, 3, 5, 3, 1, 1, 2, 1, 2, 1, 0, 1, 0})},
    // Windows that see nothing but padding.
    {1, 1, 1, 1, window({1, 1, 2, 1, 1, 1, 1, 1, 6, 1, 1, 1, 1, 1, 1, 0, 0, 2})},
    // A point per image, as at the end of a network.
    {5, 1, 7, 9, window({1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0})},
};

TEST(Convolution, AndItsGradientsAreTheirDefinitions) {
  for (const ConvolutionProblem &p : problems) {
    const ConvolutionCase c(p);
    forEachInstructionSet([&](const VectorKernels &kernels) {
      std::vector<float> first;
      for (int threads : {1, 2, 5}) {
        ThreadTeam team(threads);
        TeamScratch scratch(threads);
        scratch.reserve(static_cast<size_t>(convolutionScratch(p)) * sizeof(float));
        std::vector<float> gotY(c.y.size(), NAN), gotDx(c.dx.size(), NAN), gotKernel(c.kernel.size(), NAN),
            added(c.start);
        convolution(team, kernels, p, c.x.data(), c.kernel.data(), gotY.data(), scratch);
        convolutionInputGrad(team, kernels, p, c.dy.data(), c.kernel.data(), gotDx.data(), scratch);
        convolutionKernelGrad(team, kernels, p, c.dy.data(), c.x.data(), false, gotKernel.data(), scratch);
        convolutionKernelGrad(team, kernels, p, c.dy.data(), c.x.data(), true, added.data(), scratch);
        expectNear(gotY, c.y);
        expectNear(gotDx, c.dx);
        expectNear(gotKernel, c.dkernel);
        expectNear(added, c.sum);
        // The bits do not depend on the number of threads.
        std::vector<float> all(gotY);
        all.insert(all.end(), gotDx.begin(), gotDx.end());
        all.insert(all.end(), gotKernel.begin(), gotKernel.end());
        if (first.empty())
          first = all;
        EXPECT_EQ(0, std::memcmp(first.data(), all.data(), all.size() * sizeof(float)));
      }
    });
  }
}

/// Problems of which oneDNN has direct convolutions.
const ConvolutionProblem directProblems[] = {
    // The first layer of a residual network, and one behind it.
    {4, 1, 3, 16, window({1, 33, 33, 1, 7, 7, 1, 17, 17, 1, 2, 2, 1, 1, 1, 0, 3, 3})},
    {3, 1, 32, 16, window({1, 9, 8, 1, 3, 3, 1, 9, 8, 1, 1, 1, 1, 1, 1, 0, 1, 1})},
    // A step that leaves a row and a column over, dilations, uneven padding.
    {2, 1, 16, 32, window({1, 10, 12, 1, 3, 3, 1, 5, 6, 1, 2, 2, 1, 1, 1, 0, 0, 1})},
    {2, 1, 16, 16, window({1, 11, 11, 1, 3, 3, 1, 11, 9, 1, 1, 1, 1, 2, 2, 0, 2, 1})},
    // Groups, and one channel a group.
    {2, 2, 16, 16, window({1, 7, 7, 1, 3, 3, 1, 7, 7, 1, 1, 1, 1, 1, 1, 0, 1, 1})},
    {2, 32, 1, 1, window({1, 8, 8, 1, 3, 3, 1, 8, 8, 1, 1, 1, 1, 1, 1, 0, 1, 1})},
    // Channels that are no multiple of a vector; one and three dimensions.
    {2, 1, 20, 24, window({1, 6, 7, 1, 3, 3, 1, 6, 7, 1, 1, 1, 1, 1, 1, 0, 1, 1})},
    {2, 1, 16, 16, window({1, 1, 50, 1, 1, 5, 1, 1, 50, 1, 1, 1, 1, 1, 1, 0, 0, 2})},
    {1, 1, 16, 16, window({4, 5, 6, 2, 2, 2, 3, 5, 6, 1, 1, 1, 1, 1, 1, 0, 1, 1})},
    // More samples than one execution sums up into the kernel's gradient.
    {6, 1, 16, 16, window({1, 40, 40, 1, 3, 3, 1, 40, 40, 1, 1, 1, 1, 1, 1, 0, 1, 1})},
};

TEST(Convolution, OfOneDnnIsItsDefinition) {
  if (!hasOneDnn())
    GTEST_SKIP() << "oneDNN is not installed";
  using enum ConvolutionDirection;
  int made = 0;
  for (const ConvolutionProblem &p : directProblems) {
    const ConvolutionCase c(p);
    const auto result = [&](ConvolutionDirection direction, const std::vector<float> &first,
                            const std::vector<float> &second, std::vector<float> out, bool accumulate) {
      auto convolution = createOneDnnConvolution(p, direction);
      if (!convolution)
        return std::vector<float>();
      ++made;
      TeamScratch scratch(1);
      scratch.reserveTotal(convolution->scratchBytes());
      for (int run = 0; run < (accumulate ? 1 : 2); ++run) // A second run meets the first one's scratch memory.
        convolution->run(first.data(), second.data(), out.data(), accumulate, scratch.at<std::byte>(0));
      return out;
    };
    const auto check = [](const std::vector<float> &got, const std::vector<double> &want) {
      if (!got.empty())
        expectNear(got, want, 30); // oneDNN's sums run on in single precision.
    };
    check(result(Forward, c.x, c.kernel, std::vector<float>(c.y.size(), NAN), false), c.y);
    check(result(InputGrad, c.dy, c.kernel, std::vector<float>(c.dx.size(), NAN), false), c.dx);
    check(result(KernelGrad, c.dy, c.x, std::vector<float>(c.kernel.size(), NAN), false), c.dkernel);
    check(result(KernelGrad, c.dy, c.x, c.start, true), c.sum);
  }
  // The gradient of an image of three channels is left to our own; an older processor may lack a few more.
  EXPECT_GE(made, 4 * 8);
}

TEST(Convolution, OfOneDnnIsNotMadeWhereItWouldBeAnother) {
  // A whole step of cells that no window sees.
  ConvolutionProblem p{2, 1, 16, 16, window({1, 9, 9, 1, 3, 3, 1, 3, 3, 1, 2, 2, 1, 1, 1, 0, 0, 0})};
  EXPECT_EQ(nullptr, createOneDnnConvolution(p, ConvolutionDirection::Forward));
  p.type = p.outType = DTCC_F16;
  EXPECT_EQ(nullptr, createOneDnnConvolution(p, ConvolutionDirection::Forward));
}

TEST(Convolution, OfHalvesIsThatOfTheirValuesRoundedOnce) {
  const VectorKernels &kernels = vectorKernels();
  for (ConvolutionProblem p : problems)
    for (dtcc_dtype type : {DTCC_BF16, DTCC_F16}) {
      const Window &w = p.window;
      std::mt19937 random(7);
      const auto cells = [&](int64_t count) {
        auto values = randomCells(count, random);
        std::vector<uint16_t> bits(values.size());
        kernels.narrow(type, values.data(), count, bits.data());
        kernels.widen(type, bits.data(), count, values.data());
        return std::pair(values, bits);
      };
      const auto [x, halfX] = cells(p.samples * p.groups * p.inputs * w.imageCells());
      const auto [kernel, halfKernel] = cells(p.groups * p.outputs * p.inputs * w.windowCells());
      const auto [dy, halfDy] = cells(p.samples * p.groups * p.outputs * w.resultCells());
      ThreadTeam team(2);
      TeamScratch scratch(2);
      // result(convolve, start, start's bits): of f32, and of halves as f32.
      const auto compare = [&](const auto &convolve, const std::vector<float> &start, const auto &startBits,
                               bool narrow) {
        std::vector<float> want(start), got(start);
        std::vector<uint16_t> bits(startBits);
        p.type = p.outType = DTCC_F32;
        scratch.reserve(static_cast<size_t>(convolutionScratch(p)) * sizeof(float));
        convolve(dy.data(), x.data(), kernel.data(), want.data());
        p.type = type, p.outType = narrow ? type : DTCC_F32;
        scratch.reserve(static_cast<size_t>(convolutionScratch(p)) * sizeof(float));
        convolve(halfDy.data(), halfX.data(), halfKernel.data(),
                 narrow ? static_cast<void *>(bits.data()) : got.data());
        if (narrow)
          kernels.widen(type, bits.data(), static_cast<int64_t>(bits.size()), got.data());
        const float unit = !narrow ? 1e-5f : type == DTCC_BF16 ? 0x1p-8f : 0x1p-11f;
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_NEAR(got[i], want[i], unit * std::max(std::abs(want[i]), 1.0f)) << i;
      };
      compare([&](auto *, auto *x, auto *kernel, void *y) { convolution(team, kernels, p, x, kernel, y, scratch); }, dy,
              halfDy, true);
      compare([&](auto *dy, auto *, auto *kernel,
                  void *dx) { convolutionInputGrad(team, kernels, p, dy, kernel, dx, scratch); },
              x, halfX, true);
      for (bool narrow : {false, true})
        for (bool add : {false, true})
          compare([&](auto *dy, auto *x, auto *,
                      void *to) { convolutionKernelGrad(team, kernels, p, dy, x, add, to, scratch); },
                  kernel, halfKernel, narrow);
    }
}

TEST(MaxPool, TakesTheFirstOfEqualCells) {
  for (const ConvolutionProblem &p : problems) {
    if (p.window.low[2] >= p.window.window[2])
      continue; // windows without a cell
    const Window &w = p.window;
    const int64_t planes = 6;
    std::mt19937 random(6);
    auto x = randomCells(planes * w.imageCells(), random), dy = randomCells(planes * w.resultCells(), random);
    for (float &cell : x)
      cell = std::round(cell); // many are equal
    x[1] = NAN;
    std::vector<float> y(dy.size()), dx(x.size());
    for (int64_t plane = 0; plane < planes; ++plane) {
      std::vector<int64_t> best(static_cast<size_t>(w.resultCells()), -1);
      forEachRead(w, [&](int64_t to, int64_t, int64_t cell) {
        int64_t &at = best[static_cast<size_t>(to)];
        float value = x[static_cast<size_t>(plane * w.imageCells() + cell)];
        float held = at < 0 ? 0 : x[static_cast<size_t>(plane * w.imageCells() + at)];
        if (at < 0 || value > held || (std::isnan(value) && !std::isnan(held)))
          at = cell;
      });
      for (int64_t to = 0; to < w.resultCells(); ++to) {
        auto from = static_cast<size_t>(plane * w.imageCells() + best[static_cast<size_t>(to)]);
        y[static_cast<size_t>(plane * w.resultCells() + to)] = x[from];
        dx[from] += dy[static_cast<size_t>(plane * w.resultCells() + to)];
      }
    }
    forEachInstructionSet([&](const VectorKernels &kernels) {
      for (int threads : {1, 3}) {
        ThreadTeam team(threads);
        TeamScratch scratch(threads);
        const PoolProblem problem = {planes, w, DTCC_F32};
        scratch.reserve(static_cast<size_t>(poolScratch(problem)) * sizeof(float));
        std::vector<float> gotY(y.size()), gotDx(dx.size(), NAN);
        maxPool(team, kernels, problem, x.data(), gotY.data(), scratch);
        maxPoolGrad(team, kernels, problem, dy.data(), x.data(), gotDx.data(), scratch);
        EXPECT_EQ(0, std::memcmp(gotY.data(), y.data(), y.size() * sizeof(float)));
        EXPECT_EQ(0, std::memcmp(gotDx.data(), dx.data(), dx.size() * sizeof(float)));
        // With 16-bit floats the values are whole numbers. Gradients are rounded when they are read and once more when
        // their sum is complete.
        for (dtcc_dtype type : {DTCC_BF16, DTCC_F16}) {
          const PoolProblem halves = {planes, w, type};
          scratch.reserve(static_cast<size_t>(poolScratch(halves)) * sizeof(float));
          const auto narrowed = [&](const std::vector<float> &values) {
            std::vector<uint16_t> bits(values.size());
            kernels.narrow(type, values.data(), static_cast<int64_t>(values.size()), bits.data());
            return bits;
          };
          const auto halfX = narrowed(x), halfDy = narrowed(dy);
          std::vector<uint16_t> halfY(y.size()), halfDx(dx.size(), 0xffff);
          std::vector<float> roundedDy(dy.size()), want(dx.size());
          kernels.widen(type, halfDy.data(), static_cast<int64_t>(dy.size()), roundedDy.data());
          maxPool(team, kernels, halves, halfX.data(), halfY.data(), scratch);
          maxPoolGrad(team, kernels, halves, halfDy.data(), halfX.data(), halfDx.data(), scratch);
          maxPoolGrad(team, kernels, problem, roundedDy.data(), x.data(), want.data(), scratch);
          EXPECT_EQ(halfY, narrowed(y));
          EXPECT_EQ(halfDx, narrowed(want));
        }
      }
    });
  }
}

} // namespace
