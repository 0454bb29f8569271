//===- ops/Linear.cpp - Matrix products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Products.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

static LogicalResult gemmRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), y = node.input(1);
  if (rankOf(x) != 2 || rankOf(y) != 2)
    return node.error("must multiply matrices, got ranks: " + Twine(rankOf(x)) + " and " + Twine(rankOf(y)));
  if (!isFloat(x) || !isFloat(y))
    return node.error("must multiply floats");
  bool turned = node.integer("transB", 0) != 0;
  std::string spec = std::string(node.integer("transA", 0) ? "km" : "mk") + (turned ? ",nk->mn" : ",kn->mn");
  Tensor product = contract(emit, spec, x, y);
  if (!product)
    return failure();
  product = emit.mul(product, emit.scalar(node.real("alpha", 1), elementOf(product)));
  Tensor bias = node.input(2);
  if (!bias)
    bias = node.getImporter().initializers.droppedBias(node.proto(), shapeOf(product)[1], /*guess=*/!turned);
  if (bias)
    product = emit.add(product, emit.mul(bias, emit.scalar(node.real("beta", 1), elementOf(bias))));
  return node.result(0, product);
}

void dtcc::onnx::addLinearRules(RuleTable &table) {
  table.on("MatMul", 1, {2, 2},
           [](OpBinder &node) { return node.result(0, matmul(node.emit(), node.input(0), node.input(1))); });
  table.on("Gemm", 7, {2, 3}, gemmRule).takesVectors({2});
}
