//===- WindowReference.cpp - The meaning of convolution and pooling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

/// The cell of the image that result cell `to` reads at window cell `at`; nothing outside.
template <typename OpTy>
static std::optional<Dims> cellOf(OpTy op, ArrayRef<int64_t> to, ArrayRef<int64_t> at, ArrayRef<int64_t> image) {
  Dims cell;
  for (size_t d = 0; d < to.size(); ++d) {
    cell.push_back(to[d] * op.getStrides()[d] + at[d] * op.getDilations()[d] - op.getLow()[d]);
    if (cell[d] < 0 || cell[d] >= image[d])
      return std::nullopt;
  }
  return cell;
}

/// Calls `body(image cell, kernel cell, result cell)`, positions in the three tensors, for
/// every product of a convolution.
template <typename OpTy>
static void forEachProduct(OpTy op, const HostTensor &x, const HostTensor &kernel, const HostTensor &y,
                           llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
  size_t spatial = op.getStrides().size();
  bool grouped = x.rank() == static_cast<int64_t>(spatial) + 3;
  Dims xStrides = x.strides(), kernelStrides = kernel.strides(), yStrides = y.strides();
  ArrayRef<int64_t> image = ArrayRef(x.shape).take_back(spatial);
  int64_t inputs = kernel.shape[1 + grouped];
  forEachIndex(y.shape, [&](ArrayRef<int64_t> to, int64_t position) {
    // y [n, (g), o, ..]
    Dims filter(to.drop_front().take_front(1 + grouped));
    forEachIndex(ArrayRef(kernel.shape).take_back(spatial), [&](ArrayRef<int64_t> at, int64_t) {
      std::optional<Dims> cell = cellOf(op, to.take_back(spatial), at, image);
      if (!cell)
        return;
      for (int64_t c = 0; c < inputs; ++c) {
        Dims from(to.take_front(1 + grouped));
        from.push_back(c);
        body(positionOf(concat(from, *cell), xStrides), positionOf(concat(concat(filter, {c}), at), kernelStrides),
             position);
      }
    });
  });
}

LogicalResult ConvolutionOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  forEachProduct(*this, operands[0], operands[1], results[0], [&](int64_t x, int64_t kernel, int64_t y) {
    results[0].floats[y] += operands[0].floats[x] * operands[1].floats[kernel];
  });
  return success();
}
LogicalResult ConvolutionInputGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  forEachProduct(*this, results[0], operands[1], operands[0], [&](int64_t x, int64_t kernel, int64_t y) {
    results[0].floats[x] += operands[0].floats[y] * operands[1].floats[kernel];
  });
  return success();
}
LogicalResult ConvolutionKernelGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  forEachProduct(*this, operands[1], results[0], operands[0], [&](int64_t x, int64_t kernel, int64_t y) {
    results[0].floats[kernel] += operands[0].floats[y] * operands[1].floats[x];
  });
  return success();
}

/// The position of the first largest cell of the window that result cell `to` reads.
template <typename OpTy> static int64_t largestOf(OpTy op, const HostTensor &x, ArrayRef<int64_t> to) {
  size_t spatial = op.getStrides().size();
  Dims strides = x.strides();
  int64_t best = -1;
  forEachIndex(op.getWindow(), [&](ArrayRef<int64_t> at, int64_t) {
    std::optional<Dims> cell = cellOf(op, to.take_back(spatial), at, ArrayRef(x.shape).take_back(spatial));
    if (!cell)
      return;
    int64_t position = positionOf(concat(to.drop_back(spatial), *cell), strides);
    double value = x.floats[position];
    if (best < 0 || value > x.floats[best] || (std::isnan(value) && !std::isnan(x.floats[best])))
      best = position;
  });
  return best;
}

LogicalResult MaxPoolOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  forEachIndex(results[0].shape, [&](ArrayRef<int64_t> to, int64_t position) {
    results[0].floats[position] = operands[0].floats[largestOf(*this, operands[0], to)];
  });
  return success();
}
LogicalResult MaxPoolGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  forEachIndex(operands[0].shape, [&](ArrayRef<int64_t> to, int64_t position) {
    results[0].floats[largestOf(*this, operands[1], to)] += operands[0].floats[position];
  });
  return success();
}
