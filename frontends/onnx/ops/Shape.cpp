//===- ops/Shape.cpp - Shapes and constants
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shape arithmetic, which these rules fold away: no shape is left as a value of the graph.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

static LogicalResult shapeRule(OpBinder &node) {
  ArrayRef<int64_t> shape = shapeOf(node.input(0));
  int64_t rank = shape.size();
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamp(node.integer("start", 0)), end = clamp(node.integer("end", rank));
  return node.result(0, node.emit().integers(shape.slice(start, std::max<int64_t>(end - start, 0))));
}

static LogicalResult constantRule(OpBinder &node) {
  Emitter &emit = node.emit();
  if (const auto *value = node.attribute("value"))
    return node.result(0, node.getImporter().initializers.readConstant(value->t(), node.proto().output(0)));
  if (const auto *value = node.attribute("value_int"))
    return node.result(0, emit.reshape(emit.integers({value->i()}), {}));
  if (const auto *value = node.attribute("value_float"))
    return node.result(0, emit.scalar(value->f(), emit.getBuilder().getF32Type()));
  if (auto values = node.integers("value_ints"))
    return node.result(0, emit.integers(*values));
  if (const auto *value = node.attribute("value_floats")) {
    HostTensor cells({value->floats_size()}, emit.getBuilder().getF32Type());
    llvm::copy(value->floats(), cells.floats.begin());
    return node.result(0, emit.constant(std::move(cells)));
  }
  return node.error("must have a value of tensor, integer or float kind");
}

static LogicalResult constantOfShapeRule(OpBinder &node) {
  Emitter &emit = node.emit();
  FailureOr<SmallVector<int64_t>> shape = node.constantIntegers(0);
  if (failed(shape))
    return failure();
  if (!checkedSize(*shape) || int64_t(shape->size()) > kMaxRank)
    return node.error("the shape must have sizes of at least 0 and a number of elements that fits 63 bits");
  Tensor cell = emit.scalar(0, emit.getBuilder().getF32Type());
  if (const auto *value = node.attribute("value")) {
    cell = node.getImporter().initializers.readConstant(value->t(), node.proto().output(0));
    if (!cell)
      return failure();
    if (cellsOf(shapeOf(cell)) != 1)
      return node.error("the value must have one element, got: " + Twine(cellsOf(shapeOf(cell))));
  }
  Importer &importer = node.getImporter();
  if (importer.scopes.isOutermost() && importer.scopes.initializer(node.proto().input(0)) &&
      importer.initializers.isFilledWeight(cell, *shape))
    return node.result(0, importer.initializers.makeFilled(node.proto().output(0), cell, *shape));
  return node.result(0, emit.broadcastTo(emit.reshape(cell, {}), *shape));
}

static LogicalResult rangeRule(OpBinder &node) {
  Emitter &emit = node.emit();
  std::optional<double> ends[3];
  for (unsigned i = 0; i < 3; ++i) {
    Tensor x = node.input(i);
    if (cellsOf(shapeOf(x)) != 1 || !(ends[i] = knownSplat(x)))
      return node.error("start, limit and delta must be scalars known at compile time");
  }
  double start = *ends[0], limit = *ends[1], delta = *ends[2];
  if (delta == 0)
    return node.error("delta must not be 0");
  double span = std::ceil((limit - start) / delta);
  if (!(span < 1e15))
    return node.error("the range is too long");
  int64_t count = std::max<int64_t>(0, int64_t(span));
  Type element = elementOf(node.input(0)), i64 = emit.getBuilder().getI64Type();
  Tensor steps = emit.affine(RankedTensorType::get({count}, isa<FloatType>(element) ? i64 : element), {0, {1}});
  if (start == std::floor(start) && delta == std::floor(delta))
    steps->affine = Affine{int64_t(start), {int64_t(delta)}};
  steps = emit.cast(steps, element);
  if (start != std::floor(start) || delta != std::floor(delta))
    steps = emit.add(emit.mul(steps, emit.scalar(delta, element)), emit.scalar(start, element));
  return node.result(0, steps);
}

void dtcc::onnx::addShapeRules(RuleTable &table) {
  table.on("Shape", 1, {1, 1}, shapeRule).readsUnsigned();
  table
      .on("Size", 1, {1, 1},
          [](OpBinder &node) {
            return node.result(0, node.emit().reshape(node.emit().integers({cellsOf(shapeOf(node.input(0)))}), {}));
          })
      .readsUnsigned();
  table.on("Constant", 1, {0, 0}, constantRule);
  table.on("ConstantOfShape", 9, {1, 1}, constantOfShapeRule);
  table.on("Range", 11, {3, 3}, rangeRule);
  table.on("Identity", 1, {1, 1}, [](OpBinder &node) { return node.result(0, node.input(0)); }).keepsUnsigned();
}
