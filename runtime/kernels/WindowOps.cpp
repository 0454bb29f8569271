//===- WindowOps.cpp - Convolution and pooling as library ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/CheckedOperands.h"
#include "runtime/kernels/Convolution.h"
#include "runtime/kernels/LibraryOps.h"
#include "runtime/kernels/Pooling.h"

namespace dtcc::rt {
namespace {

void expectDense(const CheckedOperands &operands, const dtcc_view &view, const char *name) {
  int64_t step = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    if (view.sizes[d] > 1 && view.strides[d] != step)
      operands.reject(name, " must be dense, got stride ", view.strides[d], " in dimension ", d);
    step *= view.sizes[d];
  }
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

/// Which operands an op has as image, kernel and result of the convolution.
enum Role { Image, Kernel, Result };

class ConvolutionOp : public LibraryOp {
public:
  ConvolutionOp(const CheckedOperands &operands, Rank &rank, const Role (&roles)[3], size_t attributes) {
    operands.expect(3, attributes);
    const dtcc_view *views[3];
    static const char *const names[] = {"image", "kernel", "result"};
    for (size_t i = 0; i < 3; ++i) {
      views[roles[i]] = &operands.tensor(i, names[roles[i]], {-1, -1, -1, -1, -1, -1});
      expectDense(operands, *views[roles[i]], names[roles[i]]);
    }
    const int64_t *x = views[Image]->sizes, *kernel = views[Kernel]->sizes, *y = views[Result]->sizes;
    if (x[0] != y[0] || x[1] != y[1] || x[1] != kernel[0] || x[2] != kernel[2] || y[2] != kernel[1])
      operands.reject("image [n,g,c], kernel [g,o,c] and result [n,g,o] must fit, got: [", x[0], ",", x[1], ",", x[2],
                      "], [", kernel[0], ",", kernel[1], ",", kernel[2], "], [", y[0], ",", y[1], ",", y[2], "]");
    p.examples = x[0], p.groups = x[1], p.inputs = x[2], p.outputs = y[2];
    for (size_t d = 0; d < 3; ++d)
      p.window.image[d] = x[3 + d], p.window.window[d] = kernel[3 + d], p.window.result[d] = y[3 + d];
    readSteps(operands, 0, p.window);
    rank.scratch.reserve(static_cast<size_t>(convolutionScratch(p)) * sizeof(float));
  }

protected:
  ConvolutionProblem p;
};

class ForwardOp final : public ConvolutionOp {
public:
  ForwardOp(const CheckedOperands &operands, Rank &rank) : ConvolutionOp(operands, rank, {Image, Kernel, Result}, 9) {}
  void run(Rank &rank, void *const *buffers) override {
    convolution(rank.team, vectorKernels(), p, static_cast<const float *>(buffers[0]),
                static_cast<const float *>(buffers[1]), static_cast<float *>(buffers[2]), rank.scratch);
  }
};

class InputGradOp final : public ConvolutionOp {
public:
  InputGradOp(const CheckedOperands &operands, Rank &rank)
      : ConvolutionOp(operands, rank, {Result, Kernel, Image}, 9) {}
  void run(Rank &rank, void *const *buffers) override {
    convolutionInputGrad(rank.team, vectorKernels(), p, static_cast<const float *>(buffers[0]),
                         static_cast<const float *>(buffers[1]), static_cast<float *>(buffers[2]), rank.scratch);
  }
};

class KernelGradOp final : public ConvolutionOp {
public:
  KernelGradOp(const CheckedOperands &operands, Rank &rank)
      : ConvolutionOp(operands, rank, {Result, Image, Kernel}, 10), accumulate(operands.accumulation(9)) {}
  void run(Rank &rank, void *const *buffers) override {
    convolutionKernelGrad(rank.team, vectorKernels(), p, static_cast<const float *>(buffers[0]),
                          static_cast<const float *>(buffers[1]), accumulates(accumulate, rank),
                          static_cast<float *>(buffers[2]), rank.scratch);
  }

private:
  Accumulation accumulate;
};

class PoolOp final : public LibraryOp {
public:
  PoolOp(const CheckedOperands &operands, bool gradient) : gradient(gradient) {
    operands.expect(gradient ? 3 : 2, 12);
    const dtcc_view &x = operands.tensor(gradient, "image", {-1, -1, -1, -1});
    const dtcc_view &y = operands.tensor(!gradient, "result", {x.sizes[0], -1, -1, -1});
    expectDense(operands, x, "image");
    expectDense(operands, y, "result");
    if (gradient)
      expectDense(operands, operands.tensor(2, "dx", {x.sizes[0], x.sizes[1], x.sizes[2], x.sizes[3]}), "dx");
    planes = x.sizes[0];
    for (size_t d = 0; d < 3; ++d)
      w.image[d] = x.sizes[1 + d], w.result[d] = y.sizes[1 + d], w.window[d] = operands.integer(d);
    readSteps(operands, 3, w);
    for (int d = 0; d < 3; ++d)
      for (int64_t i = 0; i < w.result[d]; ++i) {
        bool any = false;
        for (int64_t j = 0; j < w.window[d] && !any; ++j)
          any = w.at(d, i, j) >= 0 && w.at(d, i, j) < w.image[d];
        if (!any)
          operands.reject("every window must hold a cell of the image, none in window ", i, " of dimension ", d);
      }
  }
  void run(Rank &rank, void *const *buffers) override {
    if (gradient)
      maxPoolGrad(rank.team, w, planes, static_cast<const float *>(buffers[0]), static_cast<const float *>(buffers[1]),
                  static_cast<float *>(buffers[2]));
    else
      maxPool(rank.team, w, planes, static_cast<const float *>(buffers[0]), static_cast<float *>(buffers[1]));
  }

private:
  Window w;
  int64_t planes;
  bool gradient;
};

} // namespace

template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_CONVOLUTION>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<ForwardOp>(CheckedOperands(command, rank), rank);
}
template <>
std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_CONVOLUTION_INPUT_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<InputGradOp>(CheckedOperands(command, rank), rank);
}
template <>
std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_CONVOLUTION_KERNEL_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<KernelGradOp>(CheckedOperands(command, rank), rank);
}
template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_MAX_POOL>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<PoolOp>(CheckedOperands(command, rank), false);
}
template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_MAX_POOL_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<PoolOp>(CheckedOperands(command, rank), true);
}

} // namespace dtcc::rt
