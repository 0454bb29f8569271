//===- Factors.cpp - Which dimensions of an op are one loop
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/Factors.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace dtcc {

int64_t FactorMap::add(int64_t size, FactorKind kind) {
  Factor factor;
  factor.size = size;
  factor.kind = kind;
  factors.push_back(factor);
  return factors.size() - 1;
}

SmallVector<int64_t> FactorMap::reducedFactors() const {
  SmallVector<bool> walked(factors.size(), false);
  for (const auto &dims : results)
    for (int64_t factor : dims)
      if (factor != kNoFactor)
        walked[factor] = true;
  SmallVector<int64_t> reduced;
  for (size_t i = 0; i < factors.size(); ++i)
    if (!walked[i])
      reduced.push_back(i);
  return reduced;
}

bool FactorMap::multiplies() const {
  auto isLinear = [&](unsigned operand) { return llvm::is_contained(linear, SmallVector<unsigned>{operand}); };
  return operands.size() == 2 && results.size() == 1 && isLinear(0) && isLinear(1);
}

FactorMap elementwiseFactorMap(Operation *op) {
  FactorMap map;
  auto shape = cast<ShapedType>(op->getResult(0).getType()).getShape();
  SmallVector<int64_t> all;
  for (int64_t size : shape)
    all.push_back(map.add(size));
  auto dimsOf = [&](Value value) {
    bool scalar = cast<ShapedType>(value.getType()).getRank() == 0;
    return scalar ? SmallVector<int64_t>() : all;
  };
  for (Value operand : op->getOperands())
    map.operands.push_back(dimsOf(operand));
  for (Value result : op->getResults())
    map.results.push_back(dimsOf(result));
  return map;
}

static LogicalResult verifyDims(Operation *op, StringRef what, unsigned number, Type type, ArrayRef<int64_t> dims,
                                const FactorMap &map) {
  auto shape = cast<ShapedType>(type).getShape();
  if (shape.size() != dims.size())
    return op->emitOpError() << what << " #" << number << " must have rank " << dims.size()
                             << ", got: " << shape.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kNoFactor || shape[i] == map.factors[dims[i]].size)
      continue;
    return op->emitOpError() << what << " #" << number << " dimension " << i << " must have size "
                             << map.factors[dims[i]].size << ", got: " << shape[i];
  }
  return success();
}

LogicalResult verifyFactorMap(Operation *op, const FactorMap &map) {
  if (map.operands.size() != op->getNumOperands() || map.results.size() != op->getNumResults())
    return op->emitOpError("has a factor map that does not cover its operands and results");
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (failed(verifyDims(op, "operand", i, op->getOperand(i).getType(), map.operands[i], map)))
      return failure();
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    if (failed(verifyDims(op, "result", i, op->getResult(i).getType(), map.results[i], map)))
      return failure();
  return success();
}

} // namespace dtcc
