//===- ops/Gradients.cpp - Rules: what a model does to its gradients
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX describes values alone. tools/export therefore writes two operators of a domain of
// its own, `dtcc`, each with a function that is the identity of operand 0: other runtimes
// inline it. These rules are found before the functions and keep what the operators say.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

static LogicalResult stopGradientRule(OpBinder &node) {
  Tensor x = node.input(0);
  return node.result(0, isFloat(x) ? node.emit().unary<graph::StopGradientOp>(x) : x);
}

static LogicalResult replaceGradientRule(OpBinder &node) {
  Tensor value = node.input(0), path = node.input(1);
  if (value->type != path->type || !isFloat(value))
    return node.error("must have two float operands of one type, got: " +
                      llvm::formatv("{0} and {1}", Type(value->type), Type(path->type)).str());
  return node.result(0, node.emit().binary<graph::ReplaceGradientOp>(value, path));
}

void dtcc::onnx::addGradientRules(RuleTable &table) {
  table.on("dtcc.StopGradient", 1, {1, 1}, stopGradientRule);
  table.on("dtcc.ReplaceGradient", 1, {2, 2}, replaceGradientRule);
}
