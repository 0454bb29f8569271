//===- ops/Random.cpp - Dropout and random numbers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every random op has an id of its own and is otherwise keyed by the program's seed, the
// step and the cell (dialects/graph/RandomOps.td): the numbers of a step are the same
// under every plan, and new ones come each step.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Model.h"
#include "frontends/onnx/Rules.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

static LogicalResult dropoutRule(OpBinder &node) {
  Emitter &emit = node.emit();
  OpBuilder &builder = emit.getBuilder();
  Tensor x = node.input(0);
  double ratio = 0.5;
  std::optional<double> training = 0.0;
  if (node.opset() < 12) {
    ratio = node.real("ratio", 0.5);
  } else {
    std::optional<double> given = node.has(1) ? node.emit().knownSplat(node.input(1)) : ratio;
    if (node.has(2))
      training = node.emit().knownSplat(node.input(2));
    if (!given || !training)
      return node.error("ratio and training_mode must be known at compile time");
    ratio = *given;
  }
  if (!(ratio >= 0 && ratio < 1))
    return node.error("ratio must be at least 0 and below 1, got: " + std::to_string(ratio));
  if (node.wants(1))
    return node.error("the output mask is not supported");
  bool on = *training != 0;
  if (!on && ratio > 0 && node.getImporter().getOptions().forceTraining) {
    node.getImporter().noteOfNode("dropout of ratio " + llvm::formatv("{0}", ratio).str() +
                                  " is switched to training (--train-mode=as-is keeps it off)");
    on = true;
  }
  if (!on || ratio == 0)
    return node.result(0, x);
  return node.result(0, emit.fromValue(graph::DropoutOp::create(
                            builder, emit.getLoc(), x->type, emit.value(x), builder.getF64FloatAttr(ratio),
                            builder.getI64IntegerAttr(node.getImporter().nextRandomId()), nullptr, nullptr)));
}

/// A number of (0, 1) in each cell.
static Tensor uniformCells(OpBinder &node, ArrayRef<int64_t> shape) {
  Emitter &emit = node.emit();
  OpBuilder &builder = emit.getBuilder();
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  Value like = emit.value(emit.splat(type, 0));
  return emit.fromValue(graph::UniformOp::create(builder, emit.getLoc(), type, like,
                                                 builder.getI64IntegerAttr(node.getImporter().nextRandomId()), nullptr,
                                                 nullptr));
}

static Tensor uniformBetween(OpBinder &node, ArrayRef<int64_t> shape) {
  Emitter &emit = node.emit();
  double low = node.real("low", 0), high = node.real("high", 1);
  Type f32 = emit.getBuilder().getF32Type();
  return emit.add(emit.mul(uniformCells(node, shape), emit.scalar(high - low, f32)), emit.scalar(low, f32));
}

/// sqrt(-2 ln u) cos(2 pi v): Box and Muller, "A note on the generation of random normal deviates", 1958. The smallest
/// u, 2^-24, gives the largest number, 5.8.
static Tensor normalCells(OpBinder &node, ArrayRef<int64_t> shape) {
  Emitter &emit = node.emit();
  Type f32 = emit.getBuilder().getF32Type();
  Tensor logarithm = emit.unary<graph::LogOp>(uniformCells(node, shape));
  Tensor radius = emit.unary<graph::SqrtOp>(emit.mul(logarithm, emit.scalar(-2, f32)));
  Tensor angle = emit.mul(uniformCells(node, shape), emit.scalar(2 * M_PI, f32));
  Tensor unit = emit.mul(radius, emit.unary<graph::CosOp>(angle));
  double scale = node.real("scale", 1), mean = node.real("mean", 0);
  return emit.add(emit.mul(unit, emit.scalar(scale, f32)), emit.scalar(mean, f32));
}

using Draw = Tensor (*)(OpBinder &, ArrayRef<int64_t>);

/// The op's `dtype`, or `otherwise`. Null: the error is out.
static Type drawnType(OpBinder &node, Type otherwise) {
  if (!node.hasAttribute("dtype"))
    return otherwise;
  auto number = static_cast<int32_t>(node.integer("dtype", 0));
  Type type = node.getImporter().elementType(number);
  if (!type)
    node.error("cannot draw numbers of type " + elementTypeName(number));
  return type;
}

static LogicalResult drawn(OpBinder &node, Draw draw, ArrayRef<int64_t> shape, Type otherwise) {
  Type type = drawnType(node, otherwise);
  if (!type)
    return failure();
  if (!isa<FloatType>(type))
    return node.error("must draw floats");
  if (node.hasAttribute("seed"))
    node.getImporter().noteOfNode("the seed of a node is not used: programs have one, --seed");
  return node.result(0, node.emit().cast(draw(node, shape), type));
}

template <Draw draw> static LogicalResult drawnLike(OpBinder &node) {
  Tensor x = node.input(0);
  Type element = elementOf(x);
  return drawn(node, draw, shapeOf(x), isa<FloatType>(element) ? element : node.emit().getBuilder().getF32Type());
}

template <Draw draw> static LogicalResult drawnOf(OpBinder &node) {
  auto shape = node.integers("shape");
  if (!shape)
    return node.error("must have a shape");
  if (!checkedSize(*shape))
    return node.error("shape has a negative size, or too many cells");
  return drawn(node, draw, *shape, node.emit().getBuilder().getF32Type());
}

/// 1 with the probability that the operand says, else 0.
static LogicalResult bernoulliRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  Type type = drawnType(node, elementOf(x));
  if (!type)
    return failure();
  Tensor p = emit.cast(x, emit.getBuilder().getF32Type());
  return node.result(0, emit.cast(emit.compare(graph::Predicate::lt, uniformCells(node, shapeOf(x)), p), type));
}

void dtcc::onnx::addRandomRules(RuleTable &table) {
  table.on("Dropout", 7, {1, 3}, dropoutRule);
  table.on("RandomUniform", 1, {0, 0}, drawnOf<uniformBetween>);
  table.on("RandomUniformLike", 1, {1, 1}, drawnLike<uniformBetween>);
  table.on("RandomNormal", 1, {0, 0}, drawnOf<normalCells>);
  table.on("RandomNormalLike", 1, {1, 1}, drawnLike<normalCells>);
  table.on("Bernoulli", 15, {1, 1}, ofFloats<bernoulliRule>);
}
