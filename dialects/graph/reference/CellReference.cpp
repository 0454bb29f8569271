//===- CellReference.cpp - The meaning of ops one cell at a time
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Cell = std::optional<double>;

Cell dtcc::graph::evaluateSameCell(Operation *op, ArrayRef<int64_t> index, CellReader read) {
  SmallVector<HostTensor, 3> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Cell cell = read(i, index);
    if (!cell)
      return std::nullopt;
    HostTensor tensor({}, elementOf(op->getOperand(i)));
    if (tensor.isFloat())
      tensor.floats[0] = *cell;
    else
      tensor.ints[0] = static_cast<int64_t>(*cell);
    operands.push_back(std::move(tensor));
  }
  HostTensor result({}, elementOf(op->getResult(0)));
  if (failed(cast<ReferenceOpInterface>(op).evaluate(operands, result, {})))
    return std::nullopt;
  return result.isFloat() ? result.floats[0] : static_cast<double>(result.ints[0]);
}

Cell ConstantOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader) {
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  if (!dense)
    return std::nullopt;
  int64_t position = dense.isSplat() ? 0 : positionOf(index, rowMajorStrides(shapeOf(getY())));
  if (isFloat(getY())) {
    llvm::APFloat value =
        dense.isSplat() ? dense.getSplatValue<llvm::APFloat>() : *(dense.getValues<llvm::APFloat>().begin() + position);
    bool inexact;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToDouble();
  }
  llvm::APInt value =
      dense.isSplat() ? dense.getSplatValue<llvm::APInt>() : *(dense.getValues<llvm::APInt>().begin() + position);
  return static_cast<double>(value.getBitWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                                      : value.getSExtValue());
}
Cell IotaOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader) {
  // On a shard the offset is not known here.
  if (getOffsetAxes())
    return std::nullopt;
  return static_cast<double>(static_cast<int64_t>(getStart()) + index[getDim()] * static_cast<int64_t>(getStep()));
}
Cell ReshapeOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  int64_t position = positionOf(index, rowMajorStrides(shapeOf(getY())));
  Dims source;
  for (auto [size, stride] : llvm::zip_equal(shapeOf(getX()), rowMajorStrides(shapeOf(getX()))))
    source.push_back(position / stride % size);
  return read(0, source);
}
Cell TransposeOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  Dims source(index.size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    source[from] = index[to];
  return read(0, source);
}
Cell BroadcastOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  return read(0, at(index, getDims()));
}
Cell SliceOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  Dims source;
  for (size_t i = 0; i < index.size(); ++i)
    source.push_back(getOffsets()[i] + index[i] * getStrides()[i]);
  return read(0, source);
}
Cell PadOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  Dims source;
  for (size_t i = 0; i < index.size(); ++i) {
    source.push_back(index[i] - getLow()[i]);
    if (source.back() < 0 || source.back() >= shapeOf(getX())[i])
      return getValue().convertToDouble();
  }
  return read(0, source);
}
Cell ShiftOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  Dims source(index);
  int64_t &moved = source[getDim()];
  moved += static_cast<int64_t>(getAmount());
  if (moved < 0 || moved >= shapeOf(getX())[getDim()])
    return static_cast<double>(static_cast<int64_t>(getFill()));
  return read(0, source);
}
Cell ConcatOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  Dims source(index);
  for (auto [i, x] : llvm::enumerate(getXs())) {
    int64_t size = shapeOf(x)[getDim()];
    if (source[getDim()] < size)
      return read(i, source);
    source[getDim()] -= size;
  }
  return std::nullopt;
}
Cell StackOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  return read(index[getDim()], without(index, static_cast<int64_t>(getDim())));
}
Cell UnstackOp::evaluateCell(unsigned result, ArrayRef<int64_t> index, CellReader read) {
  Dims source(index);
  source.insert(source.begin() + getDim(), result);
  return read(0, source);
}
Cell GatherOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  int64_t axis = getAxis(), count = rankOf(getIndices());
  Cell row = read(1, index.slice(axis, count));
  if (!row || *row < 0 || *row >= shapeOf(getX())[axis])
    return std::nullopt;
  Dims source = concat(index.take_front(axis), static_cast<int64_t>(*row));
  return read(0, concat(source, index.drop_front(axis + count)));
}

Cell ReduceOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  Dims sizes = at(shapeOf(getX()), getDims()), kept = without(range(0, rankOf(getX())), getDims());
  Dims source(rankOf(getX()));
  for (auto [dim, i] : llvm::zip_equal(kept, index))
    source[dim] = i;
  Cell total = getKind() == Reduction::Sum ? Cell(0) : std::nullopt;
  bool known = true;
  forEachIndex(sizes, [&](ArrayRef<int64_t> inner, int64_t) {
    if (!known)
      return;
    for (auto [dim, i] : llvm::zip_equal(getDims(), inner))
      source[dim] = i;
    Cell cell = read(0, source);
    known = cell.has_value();
    if (!known)
      return;
    if (!total)
      total = cell;
    else if (getKind() == Reduction::Sum)
      *total += *cell;
    else
      total = (getKind() == Reduction::Max) == (*cell > *total) ? cell : total;
  });
  return known ? total : std::nullopt;
}

Cell CumsumOp::evaluateCell(unsigned, ArrayRef<int64_t> index, CellReader read) {
  Dims source(index);
  double total = 0;
  for (int64_t i = 0; i <= index[getDim()]; ++i) {
    source[getDim()] = i;
    Cell cell = read(0, source);
    if (!cell)
      return std::nullopt;
    total += *cell;
  }
  return total;
}
