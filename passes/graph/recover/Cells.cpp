//===- Cells.cpp - Values of a graph at chosen points
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/recover/Cells.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;

namespace dtcc::graph {

std::optional<double> Cells::at(Value value, ArrayRef<int64_t> index) {
  if (std::optional<double> given = leaf(value, index))
    return given;
  auto op = value.getDefiningOp<CellOpInterface>();
  if (!op)
    return std::nullopt;
  // Most constants have one value, which is slow to unpack.
  if (auto constant = dyn_cast<ConstantOp>(op.getOperation());
      constant && isa<SplatElementsAttr>(constant.getValue())) {
    auto [entry, isNew] = splats.try_emplace(value);
    if (isNew)
      entry->second = op.evaluateCell(0, index, [](unsigned, ArrayRef<int64_t>) { return std::nullopt; });
    return entry->second;
  }
  // What only looks elsewhere is as fast as a look-up.
  if (isa<BroadcastOp, TransposeOp, ReshapeOp, ConstantOp, IotaOp>(op.getOperation()))
    return op.evaluateCell(cast<OpResult>(value).getResultNumber(), index, [&](unsigned operand, ArrayRef<int64_t> at) {
      return this->at(op->getOperand(operand), at);
    });
  std::pair<Value, int64_t> key(value, positionOf(index, rowMajorStrides(shapeOf(value))));
  if (auto found = known.find(key); found != known.end())
    return found->second;
  std::optional<double> cell =
      op.evaluateCell(cast<OpResult>(value).getResultNumber(), index,
                      [&](unsigned operand, ArrayRef<int64_t> at) { return this->at(op->getOperand(operand), at); });
  if (cell)
    known[key] = *cell;
  return cell;
}

} // namespace dtcc::graph
