//===- Region.cpp - A part of a graph that may be one composite
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/recover/Region.h"
#include "dialects/graph/Build.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace dtcc::graph {

/// `depth` ops lead from `value` to the root. They are counted only once they are complete, so a graph of any length
/// would be walked without a limit of its own.
static LogicalResult collect(Value value, Region &region, size_t limit, size_t depth = 0) {
  if (llvm::is_contained(region.inputs, value))
    return success();
  auto op = value.getDefiningOp<CellOpInterface>();
  if (!op || region.ops.size() >= limit || depth >= kDeepest * limit)
    return failure();
  if (region.contains(op))
    return success();
  for (Value operand : op->getOperands())
    if (failed(collect(operand, region, limit, depth + 1)))
      return failure();
  region.ops.insert(op);
  return success();
}

std::optional<Region> Region::between(ArrayRef<Value> inputs, Value root, size_t limit) {
  Region region;
  region.inputs.assign(inputs.begin(), inputs.end());
  region.root = root;
  if (llvm::is_contained(inputs, root) || failed(collect(root, region, limit)))
    return std::nullopt;
  return region;
}

bool isClosed(ArrayRef<Value> inputs, Value root, const llvm::SetVector<Operation *> &ops) {
  llvm::DenseSet<Value> dependent(inputs.begin(), inputs.end());
  for (Operation *op : ops) {
    // Constants, tables, masks and parts of parameters may be shared with the outside.
    if (llvm::none_of(op->getOperands(), [&](Value operand) { return dependent.contains(operand); }))
      continue;
    dependent.insert(op->result_begin(), op->result_end());
    if (op == root.getDefiningOp())
      continue;
    for (Operation *user : op->getUsers())
      if (!ops.contains(user))
        return false;
  }
  return true;
}

bool Region::isClosed() const { return graph::isClosed(inputs.front(), root, ops); }

SmallVector<double> Region::constants() const {
  SmallVector<double> values;
  for (Operation *op : ops)
    if (isa<ConstantOp>(op))
      if (std::optional<double> value = splatValue(op->getResult(0)))
        values.push_back(*value);
  return values;
}

std::string Region::signature() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DenseMap<Value, unsigned> numbers;
  for (Value input : inputs) {
    numbers.try_emplace(input, numbers.size());
    stream << input.getType() << ";";
  }
  for (Operation *op : ops) {
    stream << op->getName() << op->getAttrDictionary() << op->getPropertiesAsAttribute();
    for (Value operand : op->getOperands())
      stream << "%" << numbers.lookup(operand);
    for (Value result : op->getResults()) {
      numbers.try_emplace(result, numbers.size());
      stream << result.getType();
    }
    stream << ";";
  }
  stream << "%" << numbers.lookup(root);
  return text;
}

SmallVector<Value> ancestors(Value value, size_t limit) {
  llvm::SetVector<Value> found;
  found.insert(value);
  for (size_t i = 0; i < found.size() && found.size() < limit; ++i)
    if (auto op = found[i].getDefiningOp<CellOpInterface>())
      for (Value operand : op->getOperands())
        found.insert(operand);
  return found.takeVector();
}

SmallVector<Value> descendants(Value value, size_t limit) {
  llvm::SetVector<Value> found;
  found.insert(value);
  for (size_t i = 0; i < found.size() && found.size() < limit; ++i)
    for (Operation *user : found[i].getUsers())
      if (isa<CellOpInterface>(user))
        found.insert(user->result_begin(), user->result_end());
  return found.takeVector();
}

bool isStatic(Value value) {
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    auto op = seen[i].getDefiningOp<CellOpInterface>();
    if (!op)
      return false;
    seen.insert(op->operand_begin(), op->operand_end());
  }
  return true;
}

} // namespace dtcc::graph
