//===- Emitter.cpp - Makes graph ops, or folds them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sources of values, what is known of them, and folding.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Emitter.h"
#include "mlir/IR/Diagnostics.h"
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

Tensor Emitter::error(const Twine &message) {
  emitError(loc, message);
  return nullptr;
}

bool Emitter::fits(RankedTensorType type) {
  if (checkedSize(type.getShape()))
    return true;
  emitError(loc) << "a result is too large: " << type;
  return false;
}

Tensor Emitter::fromValue(Value value) {
  auto data = std::make_shared<TensorData>();
  data->type = cast<RankedTensorType>(value.getType());
  if (!fits(data->type))
    return nullptr;
  data->value = value;
  return data;
}

Tensor Emitter::constant(HostTensor cells) {
  auto data = std::make_shared<TensorData>();
  data->type = RankedTensorType::get(cells.shape, cells.elementType);
  data->constant = std::make_shared<const HostTensor>(std::move(cells));
  return data;
}

static HostTensor scalarCell(double value, Type element) {
  HostTensor cell({}, element);
  if (cell.isFloat())
    cell.floats[0] = value;
  else
    cell.ints[0] = int64_t(value);
  cell.round();
  return cell;
}

Tensor Emitter::scalar(double value, Type element) { return constant(scalarCell(value, element)); }

Tensor Emitter::integers(ArrayRef<int64_t> values) {
  HostTensor cells({int64_t(values.size())}, builder.getI64Type());
  cells.ints.assign(values.begin(), values.end());
  return constant(std::move(cells));
}

Tensor Emitter::affine(RankedTensorType type, Affine affine) {
  if (!fits(type))
    return nullptr;
  auto data = std::make_shared<TensorData>();
  data->type = type;
  // A dimension of one cell has no step that could be seen.
  for (auto [step, size] : llvm::zip_equal(affine.steps, type.getShape()))
    if (size == 1)
      step = 0;
  data->affine = std::move(affine);
  return data;
}

Tensor Emitter::splat(RankedTensorType type, double value) {
  if (!isa<FloatType>(type.getElementType()))
    return affine(type, {int64_t(value), SmallVector<int64_t>(type.getRank(), 0)});
  if (!fits(type))
    return nullptr;
  auto data = std::make_shared<TensorData>();
  data->type = type;
  data->splat = std::make_shared<const HostTensor>(scalarCell(value, type.getElementType()));
  return data;
}

std::optional<Affine> Emitter::knownAffine(const Tensor &x) {
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

std::optional<double> Emitter::knownSplat(const Tensor &x) {
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

bool Emitter::isFlag(const Tensor &x) {
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

std::shared_ptr<const HostTensor> Emitter::known(const Tensor &x) {
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

/// Positions as one iota a dimension that counts.
static Value makeAffine(OpBuilder &builder, Location loc, RankedTensorType type, const Affine &affine) {
  Value result;
  for (auto [dim, step] : llvm::enumerate(affine.steps)) {
    if (step == 0)
      continue;
    Value part = graph::IotaOp::create(builder, loc, type, dim, result ? 0 : affine.offset, step, nullptr);
    result = result ? graph::AddOp::create(builder, loc, type, result, part).getResult() : part;
  }
  return result;
}

Value Emitter::value(const Tensor &x) {
  if (x->value)
    return x->value;
  auto broadcastCell = [&](const HostTensor &cell) -> Value {
    Value scalar = graph::ConstantOp::create(builder, loc, RankedTensorType::get({}, cell.elementType),
                                             cast<ElementsAttr>(cell.toAttribute()));
    if (x->type.getRank() == 0)
      return scalar;
    return graph::BroadcastOp::create(builder, loc, x->type, scalar, ArrayRef<int64_t>());
  };
  Value made;
  if (x->constant) {
    made = graph::ConstantOp::create(builder, loc, x->type, cast<ElementsAttr>(x->constant->toAttribute()));
    // A vector of constants is emitted for every use, because one op for all uses would tie the dimensions of its users
    // together.
    if (x->type.getRank() > 0)
      return made;
  } else if (x->splat) {
    made = broadcastCell(*x->splat);
  } else if (x->affine && x->affine->isSplat()) {
    made = broadcastCell(scalarCell(double(x->affine->offset), elementOf(x)));
  } else if (x->affine) {
    made = makeAffine(builder, loc, x->type, *x->affine);
  } else if (x->sum) {
    // A loss used as a mean inside the graph.
    made = value(div(x->sum, x->count));
  } else {
    SmallVector<Value> parts;
    SmallVector<int64_t> shape(x->type.getShape());
    shape.back() = 1;
    for (const Tensor &coordinate : x->coordinates)
      parts.push_back(value(reshape(coordinate, shape)));
    made = graph::ConcatOp::create(builder, loc, x->type, parts, x->type.getRank() - 1);
  }
  x->value = made;
  return made;
}

Tensor Emitter::finish(Operation *op, ArrayRef<Tensor> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  int64_t size = checkedSize(type.getShape()).value_or(kMostCells);
  bool stored = llvm::all_of(operands, [](const Tensor &x) { return x->constant != nullptr; });
  // Shape arithmetic mixes stored cells and positions; larger positions stay what they are.
  constexpr int64_t kShapeCells = 64;
  bool mixed = size <= kShapeCells && llvm::any_of(operands, [](const Tensor &x) { return x->constant != nullptr; }) &&
               llvm::all_of(operands, [&](const Tensor &x) { return !isFloat(x) && known(x); });
  SmallVector<HostTensor> cells;
  if (reference && op->getNumResults() == 1 && size <= kMaxFoldedCells && (stored || mixed)) {
    int64_t read = cellsOf(type.getShape());
    for (const Tensor &operand : operands)
      read += known(operand)->size();
    if (!budget.countFolded(read))
      return error("the constants of the model take too much to compute: more than " + Twine(Budget::kMostFolded) +
                   " cells are read or made for them");
    for (const Tensor &operand : operands)
      cells.push_back(*known(operand));
    SmallVector<HostTensor> results = {HostTensor(type.getShape(), type.getElementType())};
    if (succeeded(reference.evaluate(cells, results, EvaluationContext()))) {
      results[0].round();
      op->erase();
      return constant(std::move(results[0]));
    }
  }
  return fromValue(op->getResult(0));
}
