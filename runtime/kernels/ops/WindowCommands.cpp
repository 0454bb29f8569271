//===- WindowCommands.cpp - Convolution and pooling commands, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/WindowCommands.h"

#include <limits>

namespace dtcc::rt {
namespace {

/// Whether a view is dense with its dimensions in this order, the innermost last. A stride of a dimension of size 1
/// says nothing.
template <int rank> bool isDense(const dtcc_view &view, const int (&order)[rank]) {
  int64_t step = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const int d = order[i];
    if (view.sizes[d] > 1 && view.strides[d] != step)
      return false;
    step *= view.sizes[d];
  }
  return true;
}

/// Three values each, from attribute `first` on: strides, dilations, low.
void readSteps(const CheckedOperands &operands, size_t first, Window &w) {
  for (size_t d = 0; d < 3; ++d) {
    w.strides[d] = operands.integer(first + d);
    w.dilations[d] = operands.integer(first + 3 + d);
    w.low[d] = operands.integer(first + 6 + d);
    if (w.strides[d] < 1 || w.dilations[d] < 1 || w.low[d] < 0)
      operands.reject("strides and dilations must be at least 1 and low at least 0, got: ", w.strides[d], ", ",
                      w.dilations[d], ", ", w.low[d]);
  }
}

/// The operands of an op that are the image, kernel and result of the convolution.
enum Role { OfImage, OfKernel, OfResult };
/// Dimensions of each in memory where it is channels last.
const int lastOrders[][6] = {{0, 3, 4, 5, 1, 2}, {0, 1, 3, 4, 5, 2}, {0, 3, 4, 5, 1, 2}};
const int denseOrder[] = {0, 1, 2, 3, 4, 5};
const Role operandRoles[][3] = {
    {OfImage, OfKernel, OfResult}, {OfResult, OfKernel, OfImage}, {OfResult, OfImage, OfKernel}};

} // namespace

ConvolutionCommand::ConvolutionCommand(const CheckedOperands &operands, ConvolutionDirection direction) {
  const Role(&roles)[3] = operandRoles[static_cast<size_t>(direction)];
  operands.expect(3, direction == ConvolutionDirection::KernelGrad ? 10 : 9);
  const dtcc_view *views[3];
  static const char *const names[] = {"image", "kernel", "result"};
  problem.type = problem.outType =
      static_cast<dtcc_dtype>(operands.floats(0, names[roles[0]], {-1, -1, -1, -1, -1, -1}).dtype);
  for (size_t i = 0; i < 3; ++i) {
    if (i == 2 && direction == ConvolutionDirection::KernelGrad && operands.operand(2).dtype == DTCC_F32)
      problem.outType = DTCC_F32;
    views[roles[i]] =
        &operands.tensor(i, names[roles[i]], {-1, -1, -1, -1, -1, -1}, i == 2 ? problem.outType : problem.type);
  }
  const int64_t *x = views[OfImage]->sizes, *kernel = views[OfKernel]->sizes, *y = views[OfResult]->sizes;
  if (x[0] != y[0] || x[1] != y[1] || x[1] != kernel[0] || x[2] != kernel[2] || y[2] != kernel[1])
    operands.reject("image [n,g,c], kernel [g,o,c] and result [n,g,o] must fit, got: [", x[0], ",", x[1], ",", x[2],
                    "], [", kernel[0], ",", kernel[1], ",", kernel[2], "], [", y[0], ",", y[1], ",", y[2], "]");
  problem.samples = x[0], problem.groups = x[1], problem.inputs = x[2], problem.outputs = y[2];
  for (size_t d = 0; d < 3; ++d)
    problem.window.image[d] = x[3 + d], problem.window.window[d] = kernel[3 + d], problem.window.result[d] = y[3 + d];
  bool *const last[] = {&problem.channelsLast.image, &problem.channelsLast.kernel, &problem.channelsLast.result};
  bool isLast[3], both[3], anyIsLast = false;
  for (size_t i = 0; i < 3; ++i) {
    const bool dense = isDense(*views[i], denseOrder);
    isLast[i] = isDense(*views[i], lastOrders[i]), both[i] = dense && isLast[i];
    anyIsLast |= isLast[i] && !dense;
    if (!dense && !isLast[i])
      operands.reject(names[i], " must be dense, with channels behind groups or last");
  }
  // An operand that is dense in both orders takes that of the others, as libraries want one order.
  for (size_t i = 0; i < 3; ++i)
    *last[i] = both[i] ? anyIsLast : isLast[i];
  readSteps(operands, 0, problem.window);
  if (direction == ConvolutionDirection::KernelGrad)
    accumulate = operands.accumulation(9);
}

PoolCommand::PoolCommand(const CheckedOperands &operands, bool gradient) {
  operands.expect(gradient ? 3 : 2, 12);
  const dtcc_view &x = operands.floats(gradient, "image", {-1, -1, -1, -1, -1});
  problem.type = static_cast<dtcc_dtype>(x.dtype);
  const dtcc_view &y = operands.tensor(!gradient, "result", {x.sizes[0], x.sizes[1], -1, -1, -1}, problem.type);
  bool isDense = true, isLast = true;
  const auto look = [&](const dtcc_view &view) {
    static const int dense[] = {0, 1, 2, 3, 4}, last[] = {0, 2, 3, 4, 1};
    isDense &= rt::isDense(view, dense), isLast &= rt::isDense(view, last);
  };
  look(x), look(y);
  if (gradient)
    look(operands.tensor(2, "dx", {x.sizes[0], x.sizes[1], x.sizes[2], x.sizes[3], x.sizes[4]}, problem.type));
  if (!isDense && !isLast)
    operands.reject("images [n,c,d,h,w] must all be dense, or all have their channels last in memory");
  problem.planes = x.sizes[0] * x.sizes[1], problem.channels = x.sizes[1], problem.channelsLast = !isDense;
  Window &window = problem.window;
  for (size_t d = 0; d < 3; ++d)
    window.image[d] = x.sizes[2 + d], window.result[d] = y.sizes[2 + d], window.window[d] = operands.integer(d);
  readSteps(operands, 3, window);
  if (window.imageCells() > std::numeric_limits<int32_t>::max())
    operands.reject("an image must have less than 2^31 cells, got: ", window.imageCells());
  for (int d = 0; d < 3; ++d)
    for (int64_t i = 0; i < window.result[d]; ++i) {
      bool any = false;
      for (int64_t j = 0; j < window.window[d] && !any; ++j)
        any = window.at(d, i, j) >= 0 && window.at(d, i, j) < window.image[d];
      if (!any)
        operands.reject("every window must hold a cell of the image, none in window ", i, " of dimension ", d);
    }
}

} // namespace dtcc::rt
