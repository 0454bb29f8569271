//===- ops/Parts.cpp - Nodes that read parts whose sizes only the data tell
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// emit/DataParts.h says what such a part is. Only functions of single rows may read it.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/DataParts.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Functions of single cells that are finite where their operands are: a row of another part may hold anything finite.
static bool isOfCells(StringRef op) {
  static const StringRef ops[] = {"Add",  "Sub",       "Mul",     "Sum",      "Max",       "Min",
                                  "Relu", "LeakyRelu", "Sigmoid", "Tanh",     "HardSwish", "Elu",
                                  "Gelu", "Softplus",  "Neg",     "Identity", "Cast",      "Clip"};
  return llvm::is_contained(ops, op);
}

/// The part of whose rows the results of the node are, or null if it reads the rows otherwise.
static std::shared_ptr<const DataPart> partOfResults(OpBinder &node, ArrayRef<Tensor> xs) {
  StringRef op = node.proto().op_type();
  const auto *first = llvm::find_if(xs, [](const Tensor &x) { return x && x->part; });
  std::shared_ptr<const DataPart> part = (*first)->part;
  int64_t dim = part->cut->dim, behind = rankOf(*first) - dim;
  if (op == "MatMul" || op == "Gemm") {
    // Rows of the left factor. A matrix on its right leaves them where they are.
    bool turned = op == "Gemm" && node.integer("transA", 0);
    bool others = llvm::any_of(xs.drop_front(), [](const Tensor &x) { return x && x->part; });
    bool perRow = xs.size() > 2 && xs[2] && rankOf(xs[2]) == 2 && shapeOf(xs[2])[0] != 1;
    return first == xs.begin() && behind >= 2 && rankOf(xs[1]) == 2 && !turned && !others && !perRow ? part : nullptr;
  }
  if (!isOfCells(op))
    return nullptr;
  // Every further operand has the same rows, or none.
  for (const Tensor &x : xs) {
    if (!x || rankOf(x) > rankOf(*first))
      return nullptr;
    bool same = x->part && x->part->cut == part->cut && x->part->index == part->index && rankOf(x) == rankOf(*first);
    bool none = !x->part && (rankOf(x) < behind || shapeOf(x)[rankOf(x) - behind] == 1);
    if (!same && !none)
      return nullptr;
  }
  return part;
}

LogicalResult dtcc::onnx::importOfParts(OpBinder &node, const RuleEntry &entry) {
  SmallVector<Tensor> xs = node.inputs();
  if (node.proto().op_type() == "Concat" && xs.front()->part) {
    const DataCut &whole = *xs.front()->part->cut;
    bool inOrder = xs.size() == whole.ends.size();
    for (auto [i, x] : llvm::enumerate(xs))
      inOrder &= x->part && x->part->cut.get() == &whole && x->part->index == i && x->type == xs.front()->type;
    FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(xs.front()));
    if (failed(axis))
      return failure();
    if (inOrder && *axis == whole.dim)
      return node.result(0, joinParts(node.emit(), xs));
  } else if (std::shared_ptr<const DataPart> part = partOfResults(node, xs)) {
    if (failed(entry.rule(node)))
      return failure();
    Scopes &scopes = node.getImporter().scopes;
    if (Tensor made = scopes.defined(node.proto().output(0)))
      scopes.define(node.proto().output(0), asPart(made, part));
    return success();
  }
  return node.error("cannot read a part of a Split whose size only the data tell: such parts may be multiplied by a "
                    "matrix (MatMul, Gemm), be operands of sums, products and activations, and be joined again, all "
                    "of them in their order; elsewhere multiply by a mask, or choose with Where");
}
