//===- Winograd.cpp - Convolutions of 3 x 3 cells by fewer products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/window/Winograd.h"

#include <algorithm>

namespace dtcc::rt {
namespace {

/// Most tiles that are transformed at a time, and most floats of their transformed images.
constexpr int64_t mostTiles = 112, mostImageFloats = int64_t{1} << 20;
/// Most floats of transformed kernels.
constexpr int64_t mostKernelFloats = int64_t{8} << 20;
/// Parts that the kernels' gradient is made of at least, so that threads have work. It is a constant, for sums of parts
/// are added up in their order.
constexpr int64_t leastParts = 16;

int64_t ceilDivide(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

WinogradProblem problemOf(const ConvolutionProblem &p, ConvolutionDirection direction) {
  const bool turned = direction == ConvolutionDirection::InputGrad;
  const Window &w = p.window;
  WinogradProblem problem = {};
  problem.samples = p.samples;
  problem.inputs = turned ? p.outputs : p.inputs, problem.outputs = turned ? p.inputs : p.outputs;
  for (int d = 0; d < 2; ++d) {
    problem.image[d] = turned ? w.result[1 + d] : w.image[1 + d];
    problem.result[d] = turned ? w.image[1 + d] : w.result[1 + d];
    problem.low[d] = turned ? 2 - w.low[1 + d] : w.low[1 + d];
  }
  problem.tileRows = ceilDivide(problem.result[0], 2), problem.tileColumns = ceilDivide(problem.result[1], 2);
  problem.turned = turned;
  return problem;
}

int64_t padded(int64_t tiles) { return ceilDivide(tiles, 16) * 16; }

/// The lines of an image's transformation.
int64_t lineFloats(const WinogradProblem &p) {
  return 4 * (padded(2 * p.tileColumns + 2 + p.low[1] + p.image[1]) + 48);
}

} // namespace

int64_t winogradScratch(const WinogradProblem &p, int64_t rows) {
  const int64_t tiles = rows * p.tileColumns;
  return lineFloats(p) + winogradPositions * ((1 + winogradOutputs) * padded(tiles) + 32 +
                                              p.inputs * ceilDivide(tiles, winogradPanel) * winogradPanel);
}

int64_t winogradSumScratch(const WinogradProblem &p) {
  const int64_t tiles = padded(std::max(p.tileColumns, winogradDepth));
  return lineFloats(p) + winogradPositions * (2 * winogradChannels * tiles + 32) + tiles * winogradChannels;
}

bool WinogradConvolution::fits(const ConvolutionProblem &p) {
  const Window &w = p.window;
  if (p.type != DTCC_F32 || p.outType != DTCC_F32 || p.groups != 1 || p.samples == 0 || w.image[0] != 1 ||
      w.window[0] != 1 || w.result[0] != 1)
    return false;
  for (int d = 1; d < 3; ++d)
    if (w.window[d] != 3 || w.strides[d] != 1 || w.dilations[d] != 1 || w.low[d] < 0 || w.low[d] > 2)
      return false;
  return w.resultCells() > 0 && w.imageCells() > 0 && winogradPositions * p.inputs * p.outputs <= mostKernelFloats;
}

bool WinogradConvolution::pays(const ConvolutionProblem &p) {
  if (!fits(p))
    return false;
  // A row of few tiles fills a small part of the vectors that transform it, which many channels make up for.
  constexpr int64_t leastCells = 1024, leastChannels = 16, leastColumns = 7, manyChannels = 128;
  const Window &w = p.window;
  const int64_t rows = ceilDivide(w.result[1], 2), columns = ceilDivide(w.result[2], 2);
  const int64_t channels = std::min(p.inputs, p.outputs);
  return p.samples * w.resultCells() >= leastCells &&
         channels >= (columns < leastColumns ? manyChannels : leastChannels) &&
         5 * 4 * rows * columns <= 6 * w.resultCells();
}

WinogradConvolution::WinogradConvolution(const ConvolutionProblem &p, ConvolutionDirection direction, int threads)
    : problem(problemOf(p, direction)), direction(direction), threads(threads) {
  const int64_t rows = problem.samples * problem.tileRows;
  if (direction == ConvolutionDirection::KernelGrad) {
    pairs = ceilDivide(problem.inputs, winogradChannels) * ceilDivide(problem.outputs, winogradChannels);
    parts = std::clamp<int64_t>(leastParts / pairs, 1, rows);
    return;
  }
  const int64_t tiles = std::min(mostTiles, mostImageFloats / (winogradPositions * problem.inputs));
  const int64_t most = std::clamp<int64_t>(tiles / problem.tileColumns, 1, rows);
  blocks = std::min(rows, ceilDivide(ceilDivide(rows, most), threads) * threads);
  blockRows = ceilDivide(rows, blocks);
  blocks = ceilDivide(rows, blockRows);
  // Few blocks: threads share out the channels that are written as well, and transform images again.
  const int64_t groups = ceilDivide(problem.outputs, winogradOutputs);
  shares = std::clamp<int64_t>(ceilDivide(threads, blocks), 1, groups);
  shareOutputs = ceilDivide(groups, shares) * winogradOutputs;
  shares = ceilDivide(problem.outputs, shareOutputs);
}

size_t WinogradConvolution::scratchBytes() const {
  int64_t floats;
  if (direction == ConvolutionDirection::KernelGrad)
    floats = (parts > 1 ? pairs * parts : threads) * winogradSums + threads * winogradSumScratch(problem);
  else
    floats = winogradPositions * problem.inputs * problem.outputs + threads * winogradScratch(problem, blockRows);
  return static_cast<size_t>(floats) * sizeof(float);
}

void WinogradConvolution::run(ThreadTeam &team, const VectorKernels &kernels, const float *first, const float *second,
                              bool accumulate, float *out, float *scratch) const {
  if (direction == ConvolutionDirection::KernelGrad)
    kernelGrad(team, kernels, first, second, accumulate, out, scratch);
  else
    image(team, kernels, first, second, out, scratch);
}

void WinogradConvolution::image(ThreadTeam &team, const VectorKernels &kernels, const float *read, const float *kernel,
                                float *written, float *scratch) const {
  const WinogradProblem &p = problem;
  const int64_t count = p.inputs * p.outputs, rows = p.samples * p.tileRows;
  team.parallelFor(count, 4096,
                   [&](int64_t begin, int64_t end) { kernels.winogradKernels(kernel, begin, end, count, scratch); });
  float *rest = scratch + winogradPositions * count;
  const int64_t room = winogradScratch(p, blockRows);
  team.parallelParts(blocks * shares, 1, [&](int64_t begin, int64_t end, int part) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item / shares * blockRows, output = item % shares * shareOutputs;
      kernels.winograd(p, scratch, read, written,
                       {row, std::min(blockRows, rows - row), output, std::min(shareOutputs, p.outputs - output)},
                       rest + part * room);
    }
  });
}

WinogradKernelPart WinogradConvolution::kernelPart(int64_t pair) const {
  const int64_t columns = ceilDivide(problem.inputs, winogradChannels);
  const int64_t input = pair % columns * winogradChannels, output = pair / columns * winogradChannels;
  return {0,      problem.samples * problem.tileRows,
          input,  std::min(winogradChannels, problem.inputs - input),
          output, std::min(winogradChannels, problem.outputs - output)};
}

void WinogradConvolution::kernelGrad(ThreadTeam &team, const VectorKernels &kernels, const float *dy, const float *x,
                                     bool accumulate, float *dkernel, float *scratch) const {
  const WinogradProblem &p = problem;
  const int64_t rows = p.samples * p.tileRows, room = winogradSumScratch(p);
  float *rest = scratch + (parts > 1 ? pairs * parts : threads) * winogradSums;
  team.parallelParts(pairs * parts, 1, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t item = begin; item < end; ++item) {
      WinogradKernelPart part = kernelPart(item / parts);
      const int64_t number = item % parts;
      part.firstRow = rows * number / parts, part.rows = rows * (number + 1) / parts - part.firstRow;
      float *sums = scratch + (parts > 1 ? item : thread) * winogradSums;
      kernels.winogradSum(p, x, dy, part, sums, rest + thread * room);
      if (parts == 1)
        kernels.winogradKernelGrad(p, part, sums, 1, accumulate, dkernel);
    }
  });
  if (parts == 1)
    return;
  team.parallelFor(pairs * winogradChannels, 8, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      WinogradKernelPart part = kernelPart(item / winogradChannels);
      const int64_t output = item % winogradChannels;
      if (output >= part.outputs)
        continue;
      part.firstOutput += output, part.outputs = 1;
      kernels.winogradKernelGrad(p, part,
                                 scratch + item / winogradChannels * parts * winogradSums + output * winogradChannels,
                                 parts, accumulate, dkernel);
    }
  });
}

} // namespace dtcc::rt
