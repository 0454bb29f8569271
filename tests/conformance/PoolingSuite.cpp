//===- PoolingSuite.cpp - Pooling on a GPU against its definition
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maxima of windows and their gradient, of planes and with channels last, which processors do
// not have. All results are compared bit by bit: gradients are added in the order of the windows.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/HalfFloat.h"
#include "runtime/kernels/vector/Window.h"
#include "tests/conformance/KernelSuite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

struct Shape {
  const char *name;
  int64_t samples, channels, image[3], window[3], strides[3], dilations[3], low[3], high[3];
};
const Shape shapes[] = {
    {"a resnet's", 2, 16, {1, 14, 24}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"odd channels", 2, 13, {1, 9, 11}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"cells below and right of all windows", 1, 16, {3, 13, 10}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0}, {0, 0, 0}},
    {"the last windows are cut", 2, 24, {1, 21, 6}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 2, 1}, {0, 2, 2}},
    {"a window a cell", 2, 16, {1, 11, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 2}, {0, 1, 0}},
    {"apart and cut", 2, 8, {1, 9, 7}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 0, 1}},
    {"apart", 3, 8, {1, 8, 8}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {"gaps between windows", 1, 8, {1, 11, 13}, {1, 2, 2}, {1, 4, 3}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {"dilated", 2, 8, {1, 12, 16}, {1, 3, 3}, {1, 1, 2}, {1, 2, 3}, {0, 2, 3}, {0, 2, 3}},
    {"one dimension", 4, 24, {1, 1, 50}, {1, 1, 5}, {1, 1, 3}, {1, 1, 2}, {0, 0, 4}, {0, 0, 2}},
    {"three dimensions", 1, 8, {5, 6, 8}, {2, 3, 3}, {1, 2, 2}, {2, 1, 1}, {1, 1, 1}, {1, 0, 1}},
    {"many in a cell", 1, 40, {1, 20, 19}, {1, 13, 13}, {1, 1, 1}, {1, 1, 1}, {0, 6, 6}, {0, 6, 6}},
    {"several tiles", 3, 4, {1, 70, 136}, {1, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"the whole image", 5, 16, {1, 7, 7}, {1, 7, 7}, {1, 7, 7}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {"many in a cell of a cube", 1, 3, {15, 16, 17}, {14, 14, 15}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {"reach beyond a tile", 1, 1, {1, 1, 8230}, {1, 1, 2}, {1, 1, 1}, {1, 1, 4110}, {0, 0, 0}, {0, 0, 0}},
    {"one cell", 2, 8, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {"no channel", 2, 0, {1, 4, 4}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
};

Window windowOf(const Shape &shape) {
  Window w;
  for (int d = 0; d < 3; ++d) {
    w.image[d] = shape.image[d], w.window[d] = shape.window[d], w.strides[d] = shape.strides[d];
    w.dilations[d] = shape.dilations[d], w.low[d] = shape.low[d];
    w.result[d] =
        (w.image[d] + shape.low[d] + shape.high[d] - (w.window[d] - 1) * w.dilations[d] - 1) / w.strides[d] + 1;
  }
  return w;
}

/// Cells of [n, c, d, h, w] in that order; how they lie in memory is the test's.
struct Images {
  std::vector<float> cells;
  int64_t planes;

  Images(int64_t planes, int64_t cells) : cells(static_cast<size_t>(planes * cells)), planes(planes) {}
};

/// What y and dx must be.
void compute(const Window &w, const Images &x, const Images &dy, Images &y, Images &dx) {
  const int64_t imageCells = w.imageCells(), resultCells = w.resultCells();
  for (int64_t plane = 0; plane < x.planes; ++plane)
    for (int64_t to = 0; to < resultCells; ++to) {
      const int64_t at[3] = {to / (w.result[1] * w.result[2]), to / w.result[2] % w.result[1], to % w.result[2]};
      int64_t best = -1;
      float top = 0;
      for (int64_t tap = 0; tap < w.windowCells(); ++tap) {
        const int64_t in[3] = {tap / (w.window[1] * w.window[2]), tap / w.window[2] % w.window[1], tap % w.window[2]};
        int64_t cell = 0;
        bool exists = true;
        for (int d = 0; d < 3; ++d) {
          const int64_t place = w.at(d, at[d], in[d]);
          exists &= place >= 0 && place < w.image[d];
          cell = cell * w.image[d] + place;
        }
        if (!exists)
          continue;
        const float value = x.cells[static_cast<size_t>(plane * imageCells + cell)];
        if (best < 0 || value > top || (std::isnan(value) && !std::isnan(top)))
          best = cell, top = value;
      }
      const auto result = static_cast<size_t>(plane * resultCells + to);
      y.cells[result] = top;
      dx.cells[static_cast<size_t>(plane * imageCells + best)] += dy.cells[result];
    }
}

class Command {
public:
  Command(dtcc_library_op op, const Shape &shape, dtcc_dtype type, bool last, int64_t shift)
      : command(op), shape(shape), type(type), last(last), shift(shift) {}

  /// Appends images whose first cell lies `shift` cells behind 16 aligned bytes.
  size_t add(const int64_t (&sizes)[3], const Images &images) {
    const int64_t cells = sizes[0] * sizes[1] * sizes[2];
    std::vector<float> lying(images.cells.size() + static_cast<size_t>(shift));
    for (size_t i = 0; i < images.cells.size(); ++i)
      lying[static_cast<size_t>(shift + place(static_cast<int64_t>(i), cells))] = images.cells[i];
    size_t number;
    const std::vector<int64_t> dims = {shape.samples, shape.channels, sizes[0], sizes[1], sizes[2]};
    if (type == DTCC_F32) {
      number = command.operand(type, dims, lying);
    } else {
      std::vector<uint16_t> halves;
      for (float value : lying)
        halves.push_back(type == DTCC_BF16 ? toBF16(value) : toF16(value));
      number = command.operand(type, dims, halves);
    }
    dtcc_view &view = command.view(number);
    view.offset += shift * dtcc_dtype_size(view.dtype);
    if (last) {
      const int64_t strides[] = {cells * shape.channels, 1, sizes[1] * sizes[2] * shape.channels,
                                 sizes[2] * shape.channels, shape.channels};
      std::copy(std::begin(strides), std::end(strides), view.strides);
    }
    return number;
  }
  Images read(size_t number, int64_t cells) {
    Images images(shape.samples * shape.channels, cells);
    const dtcc_view &view = command.view(number);
    for (size_t i = 0; i < images.cells.size(); ++i) {
      const char *from =
          command.memory.data() + view.offset + place(static_cast<int64_t>(i), cells) * dtcc_dtype_size(view.dtype);
      uint16_t half;
      if (type == DTCC_F32)
        std::memcpy(&images.cells[i], from, sizeof(float));
      else
        std::memcpy(&half, from, sizeof half), images.cells[i] = type == DTCC_BF16 ? fromBF16(half) : fromF16(half);
    }
    return images;
  }
  void run() {
    for (const int64_t *three : {shape.window, shape.strides, shape.dilations, shape.low})
      for (int d = 0; d < 3; ++d)
        command.attribute(three[d]);
    command.run();
  }

private:
  int64_t place(int64_t i, int64_t cells) const {
    if (!last)
      return i;
    const int64_t plane = i / cells, sample = plane / shape.channels, channel = plane % shape.channels;
    return (sample * cells + i % cells) * shape.channels + channel;
  }

  OneCommand command;
  const Shape &shape;
  dtcc_dtype type;
  bool last;
  int64_t shift;
};

float rounded(dtcc_dtype type, float value) {
  return type == DTCC_F32 ? value : type == DTCC_BF16 ? fromBF16(toBF16(value)) : fromF16(toF16(value));
}

void expectSame(const Images &got, const Images &want, dtcc_dtype type) {
  int wrong = 0;
  for (size_t i = 0; i < got.cells.size(); ++i) {
    const float a = got.cells[i], b = rounded(type, want.cells[i]);
    if (std::isnan(b) ? !std::isnan(a) : a != b || std::signbit(a) != std::signbit(b))
      if (++wrong <= 3)
        ADD_FAILURE() << "cell " << i << " is " << a << ", must be " << b;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(CudaPooling, IsItsDefinition) {
  ASSERT_TRUE(OneCommand::runner);
  std::mt19937 random(5);
  for (const Shape &shape : shapes)
    for (dtcc_dtype type : {DTCC_F32, DTCC_BF16, DTCC_F16}) {
      const Window w = windowOf(shape);
      const int64_t planes = shape.samples * shape.channels;
      Images x(planes, w.imageCells()), dy(planes, w.resultCells()), y = dy, dx = x;
      // Few values, so that many are equal; zeros of both signs, infinities and NaN.
      std::normal_distribution<float> normal;
      for (float &cell : x.cells) {
        const uint32_t kind = random() % 40;
        cell = kind == 0   ? NAN
               : kind == 1 ? -INFINITY
               : kind == 2 ? INFINITY
               : kind == 3 ? -0.0f
               : kind == 4 ? -NAN
                           : std::round(normal(random) * 2);
      }
      for (float &cell : dy.cells)
        cell = rounded(type, normal(random));
      // Windows of nothing but the least value.
      for (size_t i = 0; i < x.cells.size() / 4; ++i)
        x.cells[i] = -INFINITY;
      compute(w, x, dy, y, dx);
      for (bool last : {false, true})
        for (int64_t shift : {0, 1}) {
          SCOPED_TRACE(std::string(shape.name) + (last ? ", channels last" : "") + (shift ? ", not aligned" : "") +
                       ", type " + std::to_string(type));
          const Images nothing(planes, w.resultCells()), noGradient(planes, w.imageCells());
          Command forward(DTCC_LIB_MAX_POOL, shape, type, last, shift);
          forward.add(shape.image, x);
          const size_t result = forward.add(w.result, nothing);
          ASSERT_NO_THROW(forward.run());
          expectSame(forward.read(result, w.resultCells()), y, type);
          Command backward(DTCC_LIB_MAX_POOL_GRAD, shape, type, last, shift);
          backward.add(w.result, dy);
          backward.add(shape.image, x);
          const size_t gradient = backward.add(shape.image, noGradient);
          ASSERT_NO_THROW(backward.run());
          expectSame(backward.read(gradient, w.imageCells()), dx, type);
        }
    }
}

} // namespace
