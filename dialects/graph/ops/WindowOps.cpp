//===- WindowOps.cpp - Factors, verifiers and gradients of convolution and pooling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

/// Windows overlap: spatial dimensions of image, kernel and result are loops of their own.
static Dims windowFactors(FactorMap &map, ArrayRef<int64_t> sizes) {
  Dims dims;
  for (int64_t size : sizes)
    dims.push_back(map.add(size, FactorKind::Window));
  return dims;
}

/// Verifies what all window ops have: one entry per spatial dimension, with sensible values.
template <typename OpTy> static LogicalResult verifyWindows(OpTy op) {
  int64_t spatial = op.getStrides().size();
  if (spatial < 1 || spatial > 3)
    return op.emitOpError() << "must have 1 to 3 spatial dimensions, got: " << spatial;
  if (failed(verifyLength(op, "dilations", op.getDilations().size(), spatial)) ||
      failed(verifyLength(op, "low", op.getLow().size(), spatial)))
    return failure();
  for (int64_t i = 0; i < spatial; ++i) {
    if (op.getStrides()[i] < 1 || op.getDilations()[i] < 1)
      return op.emitOpError() << "strides and dilations must be at least 1, got: "
                              << std::min(op.getStrides()[i], op.getDilations()[i]);
    if (op.getLow()[i] < 0)
      return op.emitOpError() << "low must not be negative, got: " << op.getLow()[i];
  }
  return success();
}

//===----------------------------------------------------------------------===//
// convolution
//===----------------------------------------------------------------------===//

namespace {
/// The loops of a convolution; the three ops name them alike.
struct ConvolutionLoops {
  Dims image, kernel, result;
  int64_t sample, inputs, outputs;

  ConvolutionLoops(FactorMap &map, Value x, Value weights, Value y, int64_t spatial) {
    bool grouped = rankOf(x) == spatial + 3;
    sample = map.add(shapeOf(x)[0]);
    image = result = {sample};
    if (grouped) {
      int64_t group = map.add(shapeOf(x)[1]);
      for (Dims *dims : {&image, &kernel, &result})
        dims->push_back(group);
    }
    inputs = map.add(shapeOf(x)[1 + grouped]);
    outputs = map.add(shapeOf(weights)[grouped]);
    image.push_back(inputs);
    kernel.append({outputs, inputs});
    result.push_back(outputs);
    image.append(windowFactors(map, shapeOf(x).take_back(spatial)));
    kernel.append(windowFactors(map, shapeOf(weights).take_back(spatial)));
    result.append(windowFactors(map, shapeOf(y).take_back(spatial)));
  }
};
} // namespace

/// All loops but the image's own: each kernel cell meets each result cell.
static double convolutionFlops(const FactorMap &map, ArrayRef<int64_t> image, int64_t spatial,
                               ArrayRef<int64_t> sizes) {
  double flops = 2;
  for (size_t factor = 0; factor < map.factors.size(); ++factor)
    if (!llvm::is_contained(image.take_back(spatial), static_cast<int64_t>(factor)))
      flops *= static_cast<double>(sizes[factor]);
  return flops;
}

/// A kernel's gradient may be f32 where its operands are halves.
template <typename OpTy> static LogicalResult verifyConvolution(OpTy op, Value x, Value kernel, Value y) {
  if (failed(verifyWindows(op)))
    return failure();
  int64_t spatial = op.getStrides().size(), rank = rankOf(x);
  if (rank != spatial + 2 && rank != spatial + 3)
    return op.emitOpError() << "image must have rank " << spatial + 2 << ", or one more with groups, got: " << rank;
  if (failed(verifyRank(op, "kernel", kernel, rank)) || failed(verifyRank(op, "result", y, rank)) ||
      failed(verifySameElement(op, x, y)) ||
      failed(isa<ConvolutionKernelGradOp>(op) ? verifySumElement(op, x, kernel) : verifySameElement(op, x, kernel)))
    return failure();
  return success();
}

FactorMap ConvolutionOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}, {1}};
  ConvolutionLoops loops(map, getX(), getKernel(), getY(), getStrides().size());
  setFactorKind(map, loops.inputs, FactorKind::Reduce, PaddingNeed::Neutral);
  map.operands = {loops.image, loops.kernel};
  map.results = {loops.result};
  return map;
}
double ConvolutionOp::getFlops(ArrayRef<int64_t> sizes) {
  FactorMap map = getFactorMap();
  return convolutionFlops(map, map.operands[0], getStrides().size(), sizes);
}
LogicalResult ConvolutionOp::verify() { return verifyConvolution(*this, getX(), getKernel(), getY()); }

FactorMap ConvolutionInputGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}, {1}};
  ConvolutionLoops loops(map, getDx(), getKernel(), getDy(), getStrides().size());
  setFactorKind(map, loops.outputs, FactorKind::Reduce, PaddingNeed::Neutral);
  map.operands = {loops.result, loops.kernel};
  map.results = {loops.image};
  return map;
}
double ConvolutionInputGradOp::getFlops(ArrayRef<int64_t> sizes) {
  FactorMap map = getFactorMap();
  return convolutionFlops(map, map.results[0], getStrides().size(), sizes);
}
LogicalResult ConvolutionInputGradOp::verify() { return verifyConvolution(*this, getDx(), getKernel(), getDy()); }

FactorMap ConvolutionKernelGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}, {1}};
  ConvolutionLoops loops(map, getX(), getDkernel(), getDy(), getStrides().size());
  setFactorKind(map, loops.sample, FactorKind::Reduce, PaddingNeed::Neutral);
  map.operands = {loops.result, loops.image};
  map.results = {loops.kernel};
  return map;
}
double ConvolutionKernelGradOp::getFlops(ArrayRef<int64_t> sizes) {
  FactorMap map = getFactorMap();
  return convolutionFlops(map, map.operands[1], getStrides().size(), sizes);
}
LogicalResult ConvolutionKernelGradOp::verify() { return verifyConvolution(*this, getX(), getDkernel(), getDy()); }

LogicalResult ConvolutionOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                           MutableArrayRef<Value> operandGrads) {
  if (!grads[0])
    return success();
  // As of products: a wider gradient is rounded to the operands' type.
  Value dy = Build(builder, getLoc()).cast(grads[0], elementOf(getX()));
  if (wanted[0])
    operandGrads[0] = ConvolutionInputGradOp::create(builder, getLoc(), getX().getType(), dy, getKernel(), getStrides(),
                                                     getDilations(), getLow());
  if (wanted[1])
    operandGrads[1] = ConvolutionKernelGradOp::create(builder, getLoc(), getKernel().getType(), dy, getX(),
                                                      getStrides(), getDilations(), getLow());
  return success();
}

//===----------------------------------------------------------------------===//
// max_pool
//===----------------------------------------------------------------------===//

/// Factors of (image, result): leading dimensions are shared and parallel.
static std::pair<Dims, Dims> poolFactors(FactorMap &map, Value x, Value y, int64_t spatial) {
  Dims image;
  for (int64_t size : shapeOf(x).drop_back(spatial))
    image.push_back(map.add(size));
  Dims result = image;
  image.append(windowFactors(map, shapeOf(x).take_back(spatial)));
  result.append(windowFactors(map, shapeOf(y).take_back(spatial)));
  return {image, result};
}

template <typename OpTy> static LogicalResult verifyPool(OpTy op, Value x, Value y) {
  if (failed(verifyWindows(op)) || failed(verifyLength(op, "window", op.getWindow().size(), op.getStrides().size())) ||
      failed(verifyRankAtLeast(op, "image", x, op.getStrides().size())) ||
      failed(verifyRank(op, "result", y, rankOf(x))) || failed(verifySameElement(op, x, y)))
    return failure();
  int64_t leading = rankOf(x) - op.getStrides().size();
  for (size_t dim = 0; dim < op.getStrides().size(); ++dim) {
    int64_t size = shapeOf(x)[leading + dim];
    if (op.getWindow()[dim] < 1)
      return op.emitOpError() << "window must be at least 1, got: " << op.getWindow()[dim];
    for (int64_t i = 0; i < shapeOf(y)[leading + dim]; ++i) {
      int64_t start = i * op.getStrides()[dim] - op.getLow()[dim], step = op.getDilations()[dim];
      // The first that does not lie before the image.
      int64_t first = start < 0 ? (step - 1 - start) / step : 0;
      if (first >= op.getWindow()[dim] || start + first * step >= size)
        return op.emitOpError() << "every window must hold a cell of the image, none in window " << i
                                << " of dimension " << leading + dim;
    }
  }
  return success();
}

FactorMap MaxPoolOp::getFactorMap() {
  FactorMap map;
  auto [image, result] = poolFactors(map, getX(), getY(), getStrides().size());
  map.operands = {image};
  map.results = {result};
  return map;
}
/// One comparison a cell of a window; the image's own loops do not multiply the work.
static double poolFlops(const FactorMap &map, ArrayRef<int64_t> result, ArrayRef<int64_t> window,
                        ArrayRef<int64_t> sizes) {
  double flops = product(window);
  for (int64_t factor : result)
    flops *= static_cast<double>(sizes[factor]);
  return flops;
}
double MaxPoolOp::getFlops(ArrayRef<int64_t> sizes) {
  FactorMap map = getFactorMap();
  return poolFlops(map, map.results[0], getWindow(), sizes);
}
LogicalResult MaxPoolOp::verify() { return verifyPool(*this, getX(), getY()); }

FactorMap MaxPoolGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  auto [image, result] = poolFactors(map, getX(), getDy(), getStrides().size());
  map.operands = {result, image};
  map.results = {image};
  return map;
}
double MaxPoolGradOp::getFlops(ArrayRef<int64_t> sizes) {
  FactorMap map = getFactorMap();
  return poolFlops(map, map.operands[0], getWindow(), sizes);
}
LogicalResult MaxPoolGradOp::verify() { return verifyPool(*this, getX(), getDy()); }

LogicalResult MaxPoolOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandGrads) {
  if (grads[0] && wanted[0])
    operandGrads[0] = MaxPoolGradOp::create(builder, getLoc(), getX().getType(), grads[0], getX(), getWindow(),
                                            getStrides(), getDilations(), getLow());
  return success();
}
