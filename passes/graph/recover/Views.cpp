//===- Views.cpp - What stands under transposes, broadcasts and scalings
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/recover/Views.h"
#include "dialects/graph/Shapes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dtcc::graph {

View View::of(Value value, bool scalings) {
  View view{value, range(0, rankOf(value)), 1};
  while (Operation *op = view.base.getDefiningOp()) {
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      for (int64_t &dim : view.dims)
        dim = dim < 0 ? dim : transpose.getPermutation()[dim];
      view.base = transpose.getX();
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      Dims inverse(rankOf(broadcast.getY()), -1);
      for (auto [from, to] : llvm::enumerate(broadcast.getDims()))
        inverse[to] = from;
      for (int64_t &dim : view.dims)
        dim = dim < 0 ? dim : inverse[dim];
      view.base = broadcast.getX();
    } else if (auto product = dyn_cast<MulOp>(op); product && scalings) {
      std::optional<double> left = splatValue(product.getLhs()), right = splatValue(product.getRhs());
      if (!left && !right)
        break;
      view.scale *= left ? *left : *right;
      view.base = left ? product.getRhs() : product.getLhs();
    } else if (auto quotient = dyn_cast<DivOp>(op); quotient && scalings && splatValue(quotient.getRhs())) {
      view.scale /= *splatValue(quotient.getRhs());
      view.base = quotient.getLhs();
    } else {
      break;
    }
  }
  return view;
}

bool isConstantAlong(Value value, int64_t dim) {
  if (splatValue(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    auto at = llvm::find(broadcast.getDims(), dim);
    return at == broadcast.getDims().end() || isConstantAlong(broadcast.getX(), at - broadcast.getDims().begin());
  }
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op))
    return isConstantAlong(transpose.getX(), transpose.getPermutation()[dim]);
  if (auto stack = dyn_cast_or_null<StackOp>(op)) {
    int64_t at = stack.getDim();
    if (at == dim)
      return llvm::all_equal(stack.getXs());
    return llvm::all_of(stack.getXs(), [&](Value x) { return isConstantAlong(x, dim - (at < dim)); });
  }
  return isa_and_nonnull<ElementwiseOpInterface>(op) &&
         llvm::all_of(op->getOperands(), [&](Value x) { return isConstantAlong(x, dim); });
}

Value dropDim(const Build &b, Value value, int64_t dim) {
  Type type = withShape(value.getType(), without(shapeOf(value), dim));
  if (std::optional<double> number = splatValue(value))
    return b.splat(type, *number);
  Operation *op = value.getDefiningOp();
  auto later = [&](int64_t at) { return at - (at > dim); };
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    Value x = broadcast.getX();
    auto found = llvm::find(broadcast.getDims(), dim);
    if (found != broadcast.getDims().end())
      x = dropDim(b, x, found - broadcast.getDims().begin());
    Dims dims;
    for (int64_t at : broadcast.getDims())
      if (at != dim)
        dims.push_back(later(at));
    return b.broadcast(x, type, dims);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    int64_t gone = transpose.getPermutation()[dim];
    Dims permutation;
    for (int64_t from : transpose.getPermutation())
      if (from != gone)
        permutation.push_back(from - (from > gone));
    return b.transpose(dropDim(b, transpose.getX(), gone), permutation);
  }
  if (auto stack = dyn_cast<StackOp>(op)) {
    int64_t at = stack.getDim();
    if (at == dim)
      return stack.getXs().front();
    SmallVector<Value> parts;
    for (Value x : stack.getXs())
      parts.push_back(dropDim(b, x, dim - (at < dim)));
    return StackOp::create(b.builder, b.loc, type, parts, later(at));
  }
  // Elementwise: the same op on smaller operands.
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, dropDim(b, operand, dim));
  Operation *clone = b.builder.clone(*op, mapping);
  clone->getResult(0).setType(type);
  return clone->getResult(0);
}

} // namespace dtcc::graph
