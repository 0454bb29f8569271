//===- WindowRules.cpp - Convolution and pooling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "passes/exec/bufferize/OpRules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

/// Views a place in the form of the library: `leading` dimensions, then three spatial ones. If the
/// op has no group dimension, one of size 1 is inserted at `groupAt`.
static Place boxOf(const Place &place, int64_t spatial, int64_t leading, int64_t groupAt, Bufferizer &b) {
  Place from = b.dense(place, "window");
  SmallVector<int64_t> shape(from.sizes);
  if (from.rank() < spatial + leading)
    shape.insert(shape.begin() + groupAt, 1);
  shape.insert(shape.begin() + leading, 3 - spatial, 1);
  return *from.reshaped(shape);
}

/// Three values, those of missing dimensions before.
static void append(SmallVectorImpl<Attribute> &parameters, ArrayRef<int64_t> values, int64_t missing, Bufferizer &b) {
  for (size_t i = values.size(); i < 3; ++i)
    parameters.push_back(b.builder().getI64IntegerAttr(missing));
  for (int64_t value : values)
    parameters.push_back(b.builder().getI64IntegerAttr(value));
}
template <typename OpTy> static SmallVector<Attribute> stepsOf(OpTy op, Bufferizer &b) {
  SmallVector<Attribute> parameters;
  append(parameters, op.getStrides(), 1, b);
  append(parameters, op.getDilations(), 1, b);
  append(parameters, op.getLow(), 0, b);
  return parameters;
}
static bool isHalf(Type type) { return type.isBF16() || type.isF16(); }
static LogicalResult verifyTypes(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (Type element = cast<ShapedType>(type).getElementType(); !element.isF32() && !isHalf(element))
      return op->emitOpError("has no library op for ") << type << ": windows slide over f32, bf16 and f16";
  return success();
}

template <typename OpTy> static LogicalResult lowerConvolution(OpTy op, Bufferizer &b) {
  if (failed(verifyTypes(op)))
    return failure();
  int64_t spatial = op.getStrides().size();
  SmallVector<Attribute> parameters = stepsOf(op, b);
  // A kernel begins with the groups, images with the samples.
  constexpr bool kernelGrad = std::is_same_v<OpTy, graph::ConvolutionKernelGradOp>;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1), result = op->getResult(0);
  Place left = boxOf(b.placeOf(lhs), spatial, 3, 1, b), right = boxOf(b.placeOf(rhs), spatial, 3, kernelGrad, b);
  auto destination = b.destinationOf(result);
  int64_t accumulate = destination ? destination->accumulate : int64_t(Overwrite);
  Place to = boxOf(b.place(result), spatial, 3, !kernelGrad, b);
  if (kernelGrad)
    parameters.push_back(b.builder().getI64IntegerAttr(accumulate));
  b.library(op, op->getName().stripDialect(), {b.view(left), b.view(right)}, b.view(to), parameters, accumulate != 0);
  return success();
}

/// All planes as one dimension before the spatial ones.
static Place planesOf(const Place &place, int64_t spatial, Bufferizer &b) {
  Place from = b.dense(place, "window");
  int64_t planes = 1;
  for (int64_t size : ArrayRef(from.sizes).drop_back(spatial))
    planes *= size;
  SmallVector<int64_t> shape{planes};
  shape.append(3 - spatial, 1);
  llvm::append_range(shape, ArrayRef(from.sizes).take_back(spatial));
  return *from.reshaped(shape);
}

template <typename OpTy> static LogicalResult lowerPool(OpTy op, Bufferizer &b) {
  if (failed(verifyTypes(op)))
    return failure();
  int64_t spatial = op.getStrides().size();
  SmallVector<Attribute> parameters;
  append(parameters, op.getWindow(), 1, b);
  llvm::append_range(parameters, stepsOf(op, b));
  SmallVector<Value> ins;
  for (Value operand : op->getOperands())
    ins.push_back(b.view(planesOf(b.placeOf(operand), spatial, b)));
  Place to = planesOf(b.place(op->getResult(0)), spatial, b);
  b.library(op, op->getName().stripDialect(), ins, b.view(to), parameters);
  return success();
}

void dtcc::exec::addWindowRules(OpRules &rules) {
  rules[graph::ConvolutionOp::getOperationName()] =
      ruleOf<graph::ConvolutionOp, lowerConvolution<graph::ConvolutionOp>>();
  rules[graph::ConvolutionInputGradOp::getOperationName()] =
      ruleOf<graph::ConvolutionInputGradOp, lowerConvolution<graph::ConvolutionInputGradOp>>();
  OpRule &kernel = rules[graph::ConvolutionKernelGradOp::getOperationName()] =
      ruleOf<graph::ConvolutionKernelGradOp, lowerConvolution<graph::ConvolutionKernelGradOp>>();
  kernel.accumulates = true;
  rules[graph::MaxPoolOp::getOperationName()] = ruleOf<graph::MaxPoolOp, lowerPool<graph::MaxPoolOp>>();
  rules[graph::MaxPoolGradOp::getOperationName()] = ruleOf<graph::MaxPoolGradOp, lowerPool<graph::MaxPoolGradOp>>();
}
