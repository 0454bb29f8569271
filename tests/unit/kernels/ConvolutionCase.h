//===- ConvolutionCase.h - Convolutions by their definition -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_KERNELS_CONVOLUTIONCASE_H
#define DTCC_TESTS_UNIT_KERNELS_CONVOLUTIONCASE_H

#include "runtime/kernels/vector/ConvolutionProblem.h"

#include <cmath>
#include <gtest/gtest.h>
#include <initializer_list>
#include <random>
#include <vector>

namespace dtcc::rt::test {

/// Calls body(result cell, window cell, image cell) for all that exist.
template <typename Fn> void forEachRead(const Window &w, Fn body) {
  auto unpack = [](int64_t i, const int64_t (&sizes)[3], int64_t (&to)[3]) {
    for (int d = 2; d >= 0; i /= sizes[d--])
      to[d] = i % sizes[d];
  };
  for (int64_t i = 0; i < w.resultCells(); ++i)
    for (int64_t j = 0; j < w.windowCells(); ++j) {
      int64_t to[3], at[3], cell = 0;
      unpack(i, w.result, to);
      unpack(j, w.window, at);
      bool inside = true;
      for (int d = 0; d < 3; ++d) {
        int64_t x = w.at(d, to[d], at[d]);
        inside &= x >= 0 && x < w.image[d];
        cell = cell * w.image[d] + x;
      }
      if (inside)
        body(i, j, cell);
    }
}

inline std::vector<float> randomCells(int64_t count, std::mt19937 &random) {
  std::normal_distribution<float> normal;
  std::vector<float> cells(static_cast<size_t>(count));
  for (float &cell : cells)
    cell = normal(random);
  return cells;
}

/// `scale`: how large sums of products are that cancel.
inline void expectNear(const std::vector<float> &got, const std::vector<double> &want, double scale = 10) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 1e-5 * (scale + std::abs(want[i]))) << "cell " << i;
}

inline Window window(std::initializer_list<int64_t> values) {
  // image, window, result, strides, dilations, low.
  Window w;
  auto value = values.begin();
  for (auto *list : {w.image, w.window, w.result, w.strides, w.dilations, w.low})
    for (int d = 0; d < 3; ++d)
      list[d] = *value++;
  return w;
}

/// Operands of a convolution, and by definition in double precision its result, its gradients and the kernel's gradient
/// added to `start`.
struct ConvolutionCase {
  explicit ConvolutionCase(const ConvolutionProblem &p) {
    const Window &w = p.window;
    std::mt19937 random(5);
    int64_t image = w.imageCells(), taps = w.windowCells(), cells = w.resultCells();
    x = randomCells(p.samples * p.groups * p.inputs * image, random);
    kernel = randomCells(p.groups * p.outputs * p.inputs * taps, random);
    dy = randomCells(p.samples * p.groups * p.outputs * cells, random);
    y.resize(dy.size()), dx.resize(x.size()), dkernel.resize(kernel.size());
    for (int64_t plane = 0; plane < p.samples * p.groups; ++plane)
      for (int64_t o = 0; o < p.outputs; ++o)
        for (int64_t c = 0; c < p.inputs; ++c)
          forEachRead(w, [&](int64_t to, int64_t tap, int64_t cell) {
            auto result = static_cast<size_t>((plane * p.outputs + o) * cells + to);
            auto from = static_cast<size_t>((plane * p.inputs + c) * image + cell);
            auto filter = static_cast<size_t>(((plane % p.groups * p.outputs + o) * p.inputs + c) * taps + tap);
            y[result] += double(x[from]) * kernel[filter];
            dx[from] += double(dy[result]) * kernel[filter];
            dkernel[filter] += double(dy[result]) * x[from];
          });
    start = randomCells(static_cast<int64_t>(kernel.size()), random);
    sum = dkernel;
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += start[i];
  }
  std::vector<float> x, kernel, dy, start;
  std::vector<double> y, dx, dkernel, sum;
};

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_UNIT_KERNELS_CONVOLUTIONCASE_H
