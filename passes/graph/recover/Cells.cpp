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
  // Ops that only move cells are evaluated directly, because that is as fast as a lookup in the cache.
  if (isa<BroadcastOp, TransposeOp, ReshapeOp, ConstantOp, IotaOp>(op.getOperation()))
    return op.evaluateCell(cast<OpResult>(value).getResultNumber(), index, [&](unsigned operand, ArrayRef<int64_t> at) {
      return this->at(op->getOperand(operand), at);
    });
  std::pair<Value, int64_t> key(value, positionOf(index, rowMajorStrides(shapeOf(value))));
  if (auto found = known.find(key); found != known.end())
    return found->second;
  auto reduce = dyn_cast<ReduceOp>(op.getOperation());
  std::optional<double> cell = reduce && reduce.getDims().size() == 1
                                   ? ofLine(reduce, index)
                                   : op.evaluateCell(cast<OpResult>(value).getResultNumber(), index,
                                                     [&](unsigned operand, ArrayRef<int64_t> at) {
                                                       return this->at(op->getOperand(operand), at);
                                                     });
  if (cell)
    known[key] = *cell;
  return cell;
}

std::optional<double> Cells::ofLine(ReduceOp reduce, ArrayRef<int64_t> index) {
  int64_t dim = reduce.getDims().front();
  Dims first(index);
  first.insert(first.begin() + dim, 0);
  std::optional<std::vector<double>> cells = line(reduce.getX(), first, dim, shapeOf(reduce.getX())[dim]);
  if (!cells)
    return std::nullopt;
  return cast<CellOpInterface>(*reduce).evaluateCell(
      0, index, [&](unsigned, ArrayRef<int64_t> at) { return std::optional((*cells)[at[dim]]); });
}

/// Evaluates a line of cells of an elementwise op by the op's reference on vectors.
std::optional<std::vector<double>> Cells::lineOfCells(Operation *op, ArrayRef<int64_t> index, int64_t dim,
                                                      int64_t count) {
  SmallVector<HostTensor, 3> operands;
  for (Value operand : op->getOperands()) {
    std::optional<std::vector<double>> cells = line(operand, index, dim, count);
    if (!cells)
      return std::nullopt;
    HostTensor tensor({}, elementOf(operand));
    tensor.shape = {count};
    if (tensor.isFloat())
      tensor.floats = std::move(*cells);
    else
      tensor.ints.assign(cells->begin(), cells->end());
    operands.push_back(std::move(tensor));
  }
  HostTensor result({count}, elementOf(op->getResult(0)));
  if (failed(cast<ReferenceOpInterface>(op).evaluate(operands, result, {})))
    return std::nullopt;
  return result.isFloat() ? std::move(result.floats) : std::vector<double>(result.ints.begin(), result.ints.end());
}

std::optional<std::vector<double>> Cells::line(Value value, ArrayRef<int64_t> index, std::optional<int64_t> dim,
                                               int64_t count) {
  Dims here(index);
  std::vector<double> cells;
  if (!dim) {
    std::optional<double> cell = at(value, here);
    return cell ? std::optional(std::vector<double>(count, *cell)) : std::nullopt;
  }
  here[*dim] = 0;
  if (count > 0 && !leaf(value, here)) {
    Operation *op = value.getDefiningOp();
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
      auto from = llvm::find(broadcast.getDims(), *dim);
      bool walks = from != broadcast.getDims().end();
      return line(broadcast.getX(), graph::at(here, broadcast.getDims()),
                  walks ? std::optional(from - broadcast.getDims().begin()) : std::nullopt, count);
    }
    if (isa_and_nonnull<ElementwiseOpInterface>(op) && isa<CellOpInterface, ReferenceOpInterface>(op))
      return lineOfCells(op, here, *dim, count);
  }
  for (int64_t &i = here[*dim]; i < count; ++i) {
    std::optional<double> cell = at(value, here);
    if (!cell)
      return std::nullopt;
    cells.push_back(*cell);
  }
  return cells;
}

std::optional<std::vector<double>> Cells::row(Value value, ArrayRef<int64_t> index) {
  int64_t last = rankOf(value) - 1;
  return line(value, index, last, shapeOf(value)[last]);
}

} // namespace dtcc::graph
