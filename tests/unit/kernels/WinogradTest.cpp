//===- WinogradTest.cpp - Convolutions by fewer products against their definition
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/window/Winograd.h"
#include "ConvolutionCase.h"
#include "Fixture.h"
#include <cmath>
#include <cstring>
#include <vector>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

Window square(int64_t height, int64_t width, int64_t above, int64_t before, int64_t resultHeight, int64_t resultWidth) {
  return window({1, height, width, 1, 3, 3, 1, resultHeight, resultWidth, 1, 1, 1, 1, 1, 1, 0, above, before});
}

const ConvolutionProblem problems[] = {
    // Rows of tiles of less than a vector, of several, and images of an odd number of cells.
    {3, 1, 20, 50, square(7, 7, 1, 1, 7, 7)},
    {2, 1, 3, 5, square(4, 71, 1, 1, 4, 71)},
    {1, 1, 1, 1, square(1, 1, 1, 1, 1, 1)},
    // No padding, uneven padding, the most there is, and cells that no window sees.
    {2, 1, 16, 7, square(9, 6, 0, 0, 7, 4)},
    {2, 1, 5, 16, square(6, 9, 1, 0, 5, 9)},
    {2, 1, 4, 3, square(5, 5, 2, 2, 7, 7)},
    {2, 1, 4, 3, square(8, 9, 1, 1, 5, 6)},
    // More channels than stand in a part or in a sum, and many samples of one tile.
    {2, 1, 210, 130, square(6, 5, 1, 1, 6, 5)},
    {70, 1, 6, 4, square(2, 2, 1, 1, 2, 2)},
};

std::vector<float> run(const ConvolutionProblem &p, ConvolutionDirection direction, const VectorKernels &kernels,
                       int threads, const std::vector<float> &first, const std::vector<float> &second,
                       std::vector<float> out, bool accumulate = false) {
  ThreadTeam team(threads);
  const WinogradConvolution convolution(p, direction, threads);
  // Whatever stood in the scratch memory before is not read, nor is anything behind it written.
  const size_t floats = convolution.scratchBytes() / sizeof(float), guard = 64;
  std::vector<float> scratch(floats + guard, NAN);
  convolution.run(team, kernels, first.data(), second.data(), accumulate, out.data(), scratch.data());
  for (size_t i = floats; i < scratch.size(); ++i)
    EXPECT_TRUE(std::isnan(scratch[i])) << "behind the scratch memory";
  return out;
}

TEST(Winograd, IsTheDefinition) {
  using enum ConvolutionDirection;
  for (const ConvolutionProblem &p : problems) {
    ASSERT_TRUE(WinogradConvolution::fits(p));
    const ConvolutionCase c(p);
    forEachInstructionSet([&](const VectorKernels &kernels) {
      std::vector<float> bits;
      for (int threads : {1, 2, 5}) {
        std::vector<float> y = run(p, Forward, kernels, threads, c.x, c.kernel, std::vector<float>(c.y.size(), NAN)),
                           dx = run(p, InputGrad, kernels, threads, c.dy, c.kernel,
                                    std::vector<float>(c.dx.size(), NAN)),
                           dkernel = run(p, KernelGrad, kernels, threads, c.dy, c.x,
                                         std::vector<float>(c.kernel.size(), NAN));
        expectNear(y, c.y);
        expectNear(dx, c.dx);
        expectNear(dkernel, c.dkernel);
        expectNear(run(p, KernelGrad, kernels, threads, c.dy, c.x, c.start, true), c.sum);
        y.insert(y.end(), dx.begin(), dx.end());
        y.insert(y.end(), dkernel.begin(), dkernel.end());
        if (bits.empty())
          bits = y;
        EXPECT_EQ(0, std::memcmp(bits.data(), y.data(), y.size() * sizeof(float))) << threads << " threads";
      }
    });
  }
}

TEST(Winograd, DoesNotFitOtherWindows) {
  const ConvolutionProblem fits{2, 1, 16, 16, square(8, 8, 1, 1, 8, 8)};
  EXPECT_TRUE(WinogradConvolution::fits(fits));
  const auto without = [&](auto change) {
    ConvolutionProblem p = fits;
    change(p);
    return !WinogradConvolution::fits(p);
  };
  EXPECT_TRUE(without([](ConvolutionProblem &p) { p.window.strides[2] = 2; }));
  EXPECT_TRUE(without([](ConvolutionProblem &p) { p.window.dilations[1] = 2; }));
  EXPECT_TRUE(without([](ConvolutionProblem &p) { p.window.window[1] = 5; }));
  EXPECT_TRUE(without([](ConvolutionProblem &p) { p.window.low[2] = 3; }));
  EXPECT_TRUE(without([](ConvolutionProblem &p) { p.window.window[0] = p.window.image[0] = 3; }));
  EXPECT_TRUE(without([](ConvolutionProblem &p) { p.groups = 2; }));
  EXPECT_TRUE(without([](ConvolutionProblem &p) { p.type = DTCC_BF16; }));
  EXPECT_TRUE(without([](ConvolutionProblem &p) { p.inputs = p.outputs = 1024; }));
}

TEST(Winograd, PaysForManyCellsInFullTiles) {
  const auto pays = [](int64_t samples, int64_t channels, int64_t side) {
    return WinogradConvolution::pays({samples, 1, channels, channels, square(side, side, 1, 1, side, side)});
  };
  // ResNet-50's layers at eight samples, the last of which has a quarter of its tiles empty, and one of 3 channels.
  EXPECT_TRUE(pays(8, 64, 56));
  EXPECT_TRUE(pays(8, 256, 14));
  EXPECT_FALSE(pays(8, 512, 7));
  EXPECT_FALSE(pays(8, 3, 56));
  // The kernels are transformed for a few cells; rows of four tiles want many channels.
  EXPECT_FALSE(pays(1, 256, 14));
  EXPECT_FALSE(pays(32, 64, 8));
  EXPECT_TRUE(pays(32, 128, 8));
}

} // namespace
