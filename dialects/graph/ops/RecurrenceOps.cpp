//===- RecurrenceOps.cpp - Factors and verifiers of recurrent layers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {
/// The factors of a recurrence and of its gradient, in this order: t b g h k s. A step reads all units of the one
/// before, so samples alone may be split.
struct RecurrenceFactors {
  FactorMap map;
  Dims steps, state, projected, gates, weight, units;

  /// `projected`: the projected inputs or their gradient.
  RecurrenceFactors(Value projectedValue, Value weightValue, Value gatesValue) {
    ArrayRef<int64_t> shape = shapeOf(projectedValue);
    auto whole = [&](int64_t size) { return map.add(size, FactorKind::Replicate); };
    int64_t t = whole(shape[0]), b = map.add(shape[1]), g = whole(shape[2]), h = whole(shape[3]);
    int64_t k = whole(shapeOf(weightValue)[2]), s = whole(shapeOf(gatesValue)[2]);
    steps = {t, b, h}, state = {b, h}, units = {h};
    projected = {t, b, g, h}, gates = {t, b, s, h}, weight = {g, h, k};
  }
};
} // namespace

/// The products of all steps, and some thirty operations a cell of a step for its functions.
static double recurrenceFlops(ArrayRef<int64_t> sizes) {
  return product(sizes.take_front(4)) * (2.0 * static_cast<double>(sizes[4]) + 30);
}

/// Verifies what the op and its gradient have in common.
static LogicalResult verifyRecurrence(Operation *op, RecurrentCell cell, Value projected, Value weight, Value gates) {
  const RecurrentCellInfo &info = infoOf(cell);
  if (failed(verifyRank(op, "projected", projected, 4)) || failed(verifyRank(op, "weight", weight, 3)) ||
      failed(verifyRank(op, "gates", gates, 4)))
    return failure();
  if (shapeOf(projected)[0] < 1)
    return op->emitOpError("must have at least 1 step");
  if (shapeOf(weight)[1] != shapeOf(weight)[2])
    return op->emitOpError() << "weight must have as many columns as units, got: " << shapeOf(weight)[2] << " and "
                             << shapeOf(weight)[1];
  if (shapeOf(projected)[2] != info.gates)
    return op->emitOpError() << "projected must have " << info.gates << " gates, got: " << shapeOf(projected)[2];
  if (shapeOf(gates)[2] != info.saved)
    return op->emitOpError() << "must save " << info.saved << " values a unit, got: " << shapeOf(gates)[2];
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (failed(verifySameElement(op, projected, value)))
        return failure();
  return success();
}

FactorMap RecurrenceOp::getFactorMap() {
  RecurrenceFactors f(getProjected(), getWeight(), getGates());
  f.map.operands = {f.projected, f.weight, f.state};
  if (getOther())
    f.map.operands.push_back(getC() ? f.state : f.units);
  f.map.results = {f.steps};
  if (getC())
    f.map.results.push_back(f.steps);
  f.map.results.push_back(f.gates);
  return f.map;
}
double RecurrenceOp::getFlops(ArrayRef<int64_t> sizes) { return recurrenceFlops(sizes); }
LogicalResult RecurrenceOp::verify() {
  const bool hasC = getCell() == RecurrentCell::Lstm;
  if ((getOther() != nullptr) != (hasC || getCell() == RecurrentCell::GruResetAfter))
    return emitOpError() << infoOf(getCell()).mnemonic << " must have " << (getOther() ? "3" : "4")
                         << " operands, got: " << getNumOperands();
  if ((getC() != nullptr) != hasC)
    return emitOpError() << infoOf(getCell()).mnemonic << " must have " << (hasC ? "3" : "2")
                         << " results, got: " << getNumResults();
  return verifyRecurrence(*this, getCell(), getProjected(), getWeight(), getGates());
}

FactorMap RecurrenceGradOp::getFactorMap() {
  RecurrenceFactors f(getDprojected(), getWeight(), getGates());
  f.map.operands = {f.steps, f.weight, f.steps, f.state, f.gates};
  f.map.linear = {{0}};
  if (!getMemory().empty())
    f.map.operands.append({f.steps, f.state});
  if (getMemory().size() == 3) {
    f.map.linear[0].push_back(f.map.operands.size());
    f.map.operands.push_back(f.steps);
  }
  f.map.results = {f.projected, f.state};
  if (getDother())
    f.map.results.push_back(getMemory().empty() ? f.projected : f.state);
  return f.map;
}
double RecurrenceGradOp::getFlops(ArrayRef<int64_t> sizes) { return recurrenceFlops(sizes); }
LogicalResult RecurrenceGradOp::verify() {
  const bool hasC = getCell() == RecurrentCell::Lstm;
  const size_t count = getMemory().size();
  if (hasC ? count != 2 && count != 3 : count != 0)
    return emitOpError() << "memory of " << infoOf(getCell()).mnemonic << " must have " << (hasC ? "2 or 3" : "0")
                         << " operands, got: " << count;
  if ((getDother() != nullptr) != (hasC || getCell() == RecurrentCell::GruResetAfter))
    return emitOpError() << infoOf(getCell()).mnemonic << " must have " << (getDother() ? "2" : "3")
                         << " results, got: " << getNumResults();
  return verifyRecurrence(*this, getCell(), getDprojected(), getWeight(), getGates());
}
