//===- ops/Random.cpp - Dropout
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "llvm/Support/FormatVariadic.h"

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

void dtcc::onnx::addRandomRules(RuleTable &table) { table.on("Dropout", 7, {1, 3}, dropoutRule); }
