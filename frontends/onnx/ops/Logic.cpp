//===- ops/Logic.cpp - Comparisons, booleans and casts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Logic.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include <limits>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

template <graph::Predicate Predicate> static LogicalResult compareRule(OpBinder &node) {
  return node.result(0, node.emit().compare(Predicate, node.input(0), node.input(1)));
}

/// `bits`: to an unsigned integer, held in the wider `element`.
static LogicalResult castTo(OpBinder &node, Type element, int bits) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  auto half = dyn_cast<FloatType>(element);
  Tensor y = half && half.getWidth() < 32 ? emit.roundTo(x, half) : emit.cast(x, element);
  if (!y || bits == 0) {
    // A cast to the type that holds an unsigned one leaves its cells.
    if (y == x && y && y->unsignedBits) {
      y = std::make_shared<TensorData>(*y);
      y->unsignedBits = 0;
    }
    return node.result(0, y);
  }
  if (x->unsignedBits != bits && !elementOf(x).isInteger(1))
    y = emit.binary<graph::AndOp>(y, emit.scalar(double((int64_t(1) << bits) - 1), element));
  if (y && (y == x || y->unsignedBits != bits)) {
    y = std::make_shared<TensorData>(*y);
    y->unsignedBits = bits;
  }
  return node.result(0, y);
}

static LogicalResult castRule(OpBinder &node) {
  int64_t to = node.integer("to", 0);
  Type element = node.getImporter().source.model.elementType(to);
  if (!element)
    return node.error("cannot cast to " + elementTypeName(to));
  return castTo(node, element, unsignedBits(to));
}

static LogicalResult isNanRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  auto type = RankedTensorType::get(shapeOf(x), emit.getBuilder().getI1Type());
  return node.result(0,
                     emit.finish(graph::IsNanOp::create(emit.getBuilder(), emit.getLoc(), type, emit.value(x)), {x}));
}

static LogicalResult isInfRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  bool above = node.integer("detect_positive", 1), below = node.integer("detect_negative", 1);
  double most = std::numeric_limits<double>::infinity();
  auto is = [&](double value) { return emit.compare(graph::Predicate::eq, x, emit.scalar(value, elementOf(x))); };
  if (above && below)
    return node.result(0, logicalOr(emit, is(most), is(-most)));
  return node.result(0, above || below ? is(above ? most : -most) : emit.compare(graph::Predicate::lt, x, x));
}

void dtcc::onnx::addLogicRules(RuleTable &table) {
  table.on("Equal", 7, {2, 2}, compareRule<graph::Predicate::eq>).readsUnsigned();
  table.on("Less", 7, {2, 2}, compareRule<graph::Predicate::lt>).readsUnsigned();
  table.on("LessOrEqual", 12, {2, 2}, compareRule<graph::Predicate::le>).readsUnsigned();
  table.on("Greater", 7, {2, 2}, compareRule<graph::Predicate::gt>).readsUnsigned();
  table.on("GreaterOrEqual", 12, {2, 2}, compareRule<graph::Predicate::ge>).readsUnsigned();
  Rule conjunction = [](OpBinder &node) {
    return node.result(0, logicalAnd(node.emit(), node.input(0), node.input(1)));
  };
  Rule disjunction = [](OpBinder &node) {
    return node.result(0, logicalOr(node.emit(), node.input(0), node.input(1)));
  };
  Rule exclusive = [](OpBinder &node) {
    return node.result(0, node.emit().binary<graph::XorOp>(node.input(0), node.input(1)));
  };
  table.on("And", 7, {2, 2}, conjunction);
  table.on("Or", 7, {2, 2}, disjunction);
  table.on("Xor", 7, {2, 2}, exclusive);
  table.on("BitwiseAnd", 18, {2, 2}, conjunction).keepsUnsigned();
  table.on("BitwiseOr", 18, {2, 2}, disjunction).keepsUnsigned();
  table.on("BitwiseXor", 18, {2, 2}, exclusive).keepsUnsigned();
  table
      .on("BitwiseNot", 18, {1, 1},
          [](OpBinder &node) { return node.result(0, logicalNot(node.emit(), node.input(0))); })
      .wrapsUnsigned();
  table.on("Not", 1, {1, 1}, [](OpBinder &node) { return node.result(0, logicalNot(node.emit(), node.input(0))); });
  table
      .on("Where", 9, {3, 3},
          [](OpBinder &node) {
            return node.result(0, node.emit().select(node.input(0), node.input(1), node.input(2)));
          })
      .keepsUnsigned();
  table.on("IsNaN", 9, {1, 1}, isNanRule);
  table.on("IsInf", 10, {1, 1}, ofFloats<isInfRule>);
  table.on("Cast", 6, {1, 1}, castRule).readsUnsigned();
  table
      .on("CastLike", 15, {2, 2},
          [](OpBinder &node) { return castTo(node, elementOf(node.input(1)), node.input(1)->unsignedBits); })
      .readsUnsigned();
}
