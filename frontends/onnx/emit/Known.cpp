//===- Known.cpp - Reads properties of values that are known at import
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Known.h"
#include "dialects/graph/Graph.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

std::optional<int64_t> dtcc::onnx::checkedSize(ArrayRef<int64_t> shape) {
  int64_t cells = 1;
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(cells, size, cells) || cells > kMostCells)
      return std::nullopt;
  return cells;
}

int64_t dtcc::onnx::cellsOf(ArrayRef<int64_t> shape) { return *checkedSize(shape); }

bool dtcc::onnx::accumulate(int64_t &sum, int64_t factor, int64_t value) {
  int64_t product;
  return !llvm::MulOverflow(factor, value, product) && !llvm::AddOverflow(sum, product, sum);
}

std::optional<Affine> dtcc::onnx::knownAffine(const Tensor &x) {
  if (x->affine)
    return x->affine;
  if (!x->constant || x->constant->isFloat() || x->constant->ints.empty())
    return std::nullopt;
  // Cells that count evenly along every dimension are positions, whoever stored them.
  const HostTensor &cells = *x->constant;
  SmallVector<int64_t> strides = cells.strides();
  Affine result{cells.ints[0], SmallVector<int64_t>(cells.rank(), 0)};
  for (int64_t dim = 0; dim < cells.rank(); ++dim)
    if (cells.shape[dim] > 1 && llvm::SubOverflow(cells.ints[strides[dim]], cells.ints[0], result.steps[dim]))
      return std::nullopt;
  if (elementOf(x).isInteger(1) && !result.isSplat())
    return std::nullopt;
  SmallVector<int64_t> index(cells.rank(), 0);
  for (int64_t cell : cells.ints) {
    int64_t expected = result.offset;
    bool fits = true;
    for (auto [i, step] : llvm::zip_equal(index, result.steps))
      fits &= accumulate(expected, i, step);
    if (!fits || cell != expected)
      return std::nullopt;
    for (int64_t dim = cells.rank() - 1; dim >= 0 && ++index[dim] == cells.shape[dim]; --dim)
      index[dim] = 0;
  }
  x->affine = result;
  return result;
}

std::optional<double> dtcc::onnx::knownSplat(const Tensor &x) {
  if (!isFloat(x)) {
    std::optional<Affine> affine = knownAffine(x);
    if (affine && affine->isSplat())
      return double(affine->offset);
    return std::nullopt;
  }
  if (x->splat)
    return x->splat->floats[0];
  if (x->constant && !x->constant->floats.empty() && llvm::all_equal(x->constant->floats))
    return x->constant->floats[0];
  return std::nullopt;
}

bool dtcc::onnx::isFlag(const Tensor &x) {
  Value cells = isFloat(x) ? Value() : x->value;
  while (cells && !getElementTypeOrSelf(cells.getType()).isInteger(1)) {
    Operation *op = cells.getDefiningOp();
    if (!isa_and_nonnull<graph::ReshapeOp, graph::TransposeOp, graph::BroadcastOp, graph::SliceOp, graph::CastOp>(op) ||
        !getElementTypeOrSelf(op->getOperand(0).getType()).isInteger())
      return false;
    cells = op->getOperand(0);
  }
  return cells && !elementOf(x).isInteger(1);
}

std::shared_ptr<const HostTensor> dtcc::onnx::knownCells(const Tensor &x) {
  if (x->constant)
    return x->constant;
  if (cellsOf(shapeOf(x)) > kMaxFoldedCells)
    return nullptr;
  HostTensor cells(shapeOf(x), elementOf(x));
  if (x->splat) {
    llvm::fill(cells.floats, x->splat->floats[0]);
  } else if (x->affine) {
    SmallVector<int64_t> index(cells.rank(), 0);
    for (int64_t &cell : cells.ints) {
      cell = x->affine->offset;
      for (auto [i, step] : llvm::zip_equal(index, x->affine->steps))
        cell += i * step;
      for (int64_t dim = cells.rank() - 1; dim >= 0 && ++index[dim] == cells.shape[dim]; --dim)
        index[dim] = 0;
    }
  } else {
    return nullptr;
  }
  return std::make_shared<const HostTensor>(std::move(cells));
}
