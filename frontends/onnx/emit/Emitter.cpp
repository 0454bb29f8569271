//===- Emitter.cpp - Makes graph ops, or folds them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sources of values, and folding.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Emitter.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

Tensor Emitter::error(const Twine &message) {
  emitError(loc, message);
  return nullptr;
}

bool dtcc::onnx::fits(Location loc, RankedTensorType type) {
  if (checkedSize(type.getShape()))
    return true;
  emitError(loc) << "a result is too large: " << type;
  return false;
}

/// A tensor without cells, which is known whatever it was made of. Nothing if `type` has cells.
static std::optional<HostTensor> withoutCells(RankedTensorType type) {
  if (!llvm::is_contained(type.getShape(), 0))
    return std::nullopt;
  return HostTensor(type.getShape(), type.getElementType());
}

Tensor Emitter::fromValue(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!fits(loc, type))
    return nullptr;
  if (std::optional<HostTensor> none = withoutCells(type))
    return constant(std::move(*none));
  auto data = std::make_shared<TensorData>();
  data->type = type;
  data->value = value;
  return data;
}

Tensor Emitter::constant(HostTensor cells) {
  auto data = std::make_shared<TensorData>();
  data->type = RankedTensorType::get(cells.shape, cells.elementType);
  data->constant = std::make_shared<const HostTensor>(std::move(cells));
  return data;
}

/// An integer keeps all of its digits.
template <typename Number> static HostTensor scalarCell(Number value, Type element) {
  HostTensor cell({}, element);
  if (cell.isFloat())
    cell.floats[0] = double(value);
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
  if (!fits(loc, type))
    return nullptr;
  if (std::optional<HostTensor> none = withoutCells(type))
    return constant(std::move(*none));
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
  if (!fits(loc, type))
    return nullptr;
  if (std::optional<HostTensor> none = withoutCells(type))
    return constant(std::move(*none));
  auto data = std::make_shared<TensorData>();
  data->type = type;
  data->splat = std::make_shared<const HostTensor>(scalarCell(value, type.getElementType()));
  return data;
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
    made = broadcastCell(scalarCell(x->affine->offset, elementOf(x)));
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
               llvm::all_of(operands, [&](const Tensor &x) { return !isFloat(x) && knownCells(x); });
  // A length that is computed in floats, as exporters do for a range that counts down.
  bool number = size == 1 && llvm::any_of(operands, isFloat) && llvm::all_of(operands, knownCells);
  SmallVector<HostTensor> cells;
  if (reference && op->getNumResults() == 1 && size <= kMaxFoldedCells && (stored || mixed || number)) {
    int64_t read = cellsOf(type.getShape());
    for (const Tensor &operand : operands)
      read += knownCells(operand)->size();
    if (!budget.countFolded(read))
      return error("the constants of the model take too much to compute: more than " + Twine(Budget::kMostFolded) +
                   " cells are read or made for them");
    for (const Tensor &operand : operands)
      cells.push_back(*knownCells(operand));
    SmallVector<HostTensor> results = {HostTensor(type.getShape(), type.getElementType())};
    if (succeeded(reference.evaluate(cells, results, EvaluationContext()))) {
      results[0].round();
      op->erase();
      return constant(std::move(results[0]));
    }
  }
  return fromValue(op->getResult(0));
}
