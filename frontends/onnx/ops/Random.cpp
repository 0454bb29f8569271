//===- ops/Random.cpp - Dropout and random numbers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every random op has an id of its own and is otherwise keyed by the program's seed, the
// step and the cell (dialects/graph/ops/RandomOps.td): the numbers of a step are the same
// under every plan, and new ones come each step.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Dropout.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Reductions.h"
#include "frontends/onnx/file/Model.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Dropout by a ratio that is known; `training` false: only where the options switch it on.
static Tensor dropoutOf(OpBinder &node, const Tensor &x, double ratio, bool training) {
  Emitter &emit = node.emit();
  OpBuilder &builder = emit.getBuilder();
  if (!(ratio >= 0 && ratio < 1)) {
    node.error("ratio must be at least 0 and below 1, got: " + std::to_string(ratio));
    return nullptr;
  }
  if (!training && ratio > 0 && node.getImporter().source.forcesTraining()) {
    node.getImporter().noteOfNode("dropout of ratio " + llvm::formatv("{0}", ratio).str() +
                                  " is switched to training (--train-mode=as-is keeps it off)");
    training = true;
  }
  bool drops = training && ratio > 0;
  int64_t id = drops ? node.getImporter().nextRandomId() : 0;
  auto dropped = [&](const Tensor &cells) {
    return emit.fromValue(graph::DropoutOp::create(builder, emit.getLoc(), cells->type, emit.value(cells),
                                                   builder.getF64FloatAttr(ratio), builder.getI64IntegerAttr(id),
                                                   nullptr, nullptr));
  };
  if (node.wants(1)) {
    // Two dropouts with one id drop the same cells.
    auto flags = RankedTensorType::get(shapeOf(x), builder.getI1Type());
    Tensor ones = emit.splat(x->type, 1);
    Tensor mask =
        drops ? emit.compare(graph::Predicate::ne, dropped(ones), emit.scalar(0, elementOf(x))) : emit.splat(flags, 1);
    if (failed(node.result(1, mask)))
      return nullptr;
  }
  return drops ? dropped(x) : x;
}

Tensor dtcc::onnx::dropout(OpBinder &node, const Tensor &x, unsigned ratio, unsigned training) {
  std::optional<double> given = node.has(ratio) ? knownSplat(node.input(ratio)) : 0.5;
  std::optional<double> trains = node.has(training) ? knownSplat(node.input(training)) : 0.0;
  if (given && trains)
    return dropoutOf(node, x, *given, *trains != 0);
  node.error("ratio and training_mode must be known at compile time");
  return nullptr;
}

static LogicalResult dropoutRule(OpBinder &node) {
  return node.result(0, node.opset() < 12 ? dropoutOf(node, node.input(0), node.real("ratio", 0.5), false)
                                          : dropout(node, node.input(0), 1, 2));
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
  Type type = node.getImporter().source.model.elementType(number);
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

/// Classes drawn by unnormalised log-probabilities [b, c]: as many as are less likely together than a uniform number.
static LogicalResult multinomialRule(OpBinder &node) {
  Emitter &emit = node.emit();
  OpBuilder &builder = emit.getBuilder();
  Tensor x = node.input(0);
  int64_t samples = node.integer("sample_size", 1);
  auto number = static_cast<int32_t>(node.integer("dtype", 6));
  Type type = elementType(builder.getContext(), number), f32 = builder.getF32Type();
  if (rankOf(x) != 2 || samples < 1 || !checkedSize({shapeOf(x)[0], samples, shapeOf(x)[1]}) || !type)
    return node.error("must have scores [b, c], a sample_size of at least 1 and integers to make");
  if (node.hasAttribute("seed"))
    node.getImporter().noteOfNode("the seed of a node is not used: programs have one, --seed");
  Tensor ends = cumsum(emit, softmax(emit, emit.cast(x, f32), {1}, /*log=*/false), 1, false, false);
  Tensor draws = uniformCells(node, {shapeOf(x)[0], samples});
  // The last class takes what rounding leaves.
  Tensor inner = ends ? cut(emit, ends, 1, 0, shapeOf(x)[1] - 1) : nullptr;
  if (!inner || shapeOf(inner)[1] == 0)
    return node.result(0, inner ? emit.splat(RankedTensorType::get({shapeOf(x)[0], samples}, type), 0) : nullptr);
  Tensor below = emit.compare(graph::Predicate::lt, unsqueeze(emit, inner, 1), unsqueeze(emit, draws, 2));
  Tensor count = reduce(emit, Reduction::Sum, emit.cast(below, f32), {2}, /*keep=*/false);
  return node.result(0, emit.cast(count, type));
}

void dtcc::onnx::addRandomRules(RuleTable &table) {
  table.on("Dropout", 7, {1, 3}, dropoutRule);
  table.on("RandomUniform", 1, {0, 0}, drawnOf<uniformBetween>);
  table.on("RandomUniformLike", 1, {1, 1}, drawnLike<uniformBetween>);
  table.on("RandomNormal", 1, {0, 0}, drawnOf<normalCells>);
  table.on("RandomNormalLike", 1, {1, 1}, drawnLike<normalCells>);
  table.on("Multinomial", 7, {1, 1}, ofFloats<multinomialRule>);
  table.on("Bernoulli", 15, {1, 1}, ofFloats<bernoulliRule>);
}
