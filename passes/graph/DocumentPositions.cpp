//===- DocumentPositions.cpp - Values of positions, by document
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/DocumentPositions.h"
#include "dialects/graph/Shapes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace dtcc::graph {

/// `list` with 1 added, behind `first`.
static Dims behind(int64_t first, ArrayRef<int64_t> list) {
  Dims result{first};
  for (int64_t dim : list)
    result.push_back(dim + 1);
  return result;
}

Value spreadInto(const Build &build, Value value, RankedTensorType type, ArrayRef<int64_t> dims) {
  Dims permutation = range(0, static_cast<int64_t>(dims.size()));
  llvm::sort(permutation, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  return build.broadcast(build.transpose(value, permutation), type, at(dims, permutation));
}

/// The type of `value` with a dimension of samples in front.
static RankedTensorType withSamples(Value value, Value positions) {
  return withShape(value.getType(), concat({shapeOf(positions)[0]}, shapeOf(value)));
}

static Build buildBehind(OpBuilder &builder, Value value) {
  builder.setInsertionPointAfterValue(value);
  return {builder, value.getLoc()};
}

/// A copy of an elementwise op in another shape.
static Value cloneElementwise(OpBuilder &builder, Operation *op, ArrayRef<Value> operands, ArrayRef<int64_t> shape) {
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(withShape(op->getResult(0).getType(), shape));
  return copy->getResult(0);
}

Value DocumentPositions::repeated(Value value) {
  OpBuilder builder(value.getContext());
  Build build = buildBehind(builder, value);
  return build.broadcast(value, withSamples(value, positions()), range(1, rankOf(value) + 1));
}

/// The numbers of `iota`, counted from the start of each document instead of the window's.
Value DocumentPositions::counted(IotaOp iota, RankedTensorType type, ArrayRef<int64_t> dims) {
  OpBuilder builder(iota.getContext());
  Build build = buildBehind(builder, iota.getResult());
  Value number = build.cast(positions(), elementOf(iota.getResult()));
  if (auto step = static_cast<int64_t>(iota.getStep()); step != 1)
    number = build.mul(number, build.splat(number, static_cast<double>(step)));
  if (auto start = static_cast<int64_t>(iota.getStart()); start != 0)
    number = build.add(number, build.splat(number, static_cast<double>(start)));
  return spreadInto(build, number, type, dims);
}

/// Rows of `value` as a table, one for each token.
Value DocumentPositions::gather(Value value, int64_t position) {
  OpBuilder builder(value.getContext());
  Build build = buildBehind(builder, value);
  Value ids = positions();
  Dims rest = without(range(0, rankOf(value)), {position});
  Value table = build.transpose(value, concat({position}, rest));
  auto type = withShape(value.getType(), concat(shapeOf(ids), at(shapeOf(value), rest)));
  Value rows = EmbeddingOp::create(builder, value.getLoc(), type, table, ids, /*padding_idx=*/-1, /*row_axes=*/nullptr);
  // From [b, t, rest ..] to [b, the dimensions of `value` ..].
  Dims back{0};
  for (int64_t dim = 0, next = 2; dim < rankOf(value); ++dim)
    back.push_back(dim == position ? 1 : next++);
  return build.transpose(rows, back);
}

Value DocumentPositions::lookUpInteger(Value value, int64_t position) {
  Operation *op = value.getDefiningOp();
  OpBuilder builder(value.getContext());
  if (auto iota = dyn_cast_or_null<IotaOp>(op))
    return static_cast<int64_t>(iota.getDim()) == position
               ? counted(iota, withSamples(value, positions()), {0, position + 1})
               : repeated(value);
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op)) {
    Value x = lookUp(transpose.getX(), transpose.getPermutation()[position]);
    return x ? buildBehind(builder, value).transpose(x, behind(0, transpose.getPermutation())) : Value();
  }
  if (isa_and_nonnull<ElementwiseOpInterface>(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (!operands.emplace_back(lookUp(operand, position)))
        return {};
    builder.setInsertionPointAfterValue(value);
    return cloneElementwise(builder, op, operands, withSamples(value, positions()).getShape());
  }
  emitError(value.getLoc()) << "--mask-documents needs numbers that count positions to be computed by counting: these "
                               "cannot be restarted at a document";
  return {};
}

Value DocumentPositions::lookUp(Value value, int64_t position) {
  if (auto found = known.find({value, position}); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(value.getContext());
  auto make = [&]() -> Value {
    if (splatValue(value))
      return repeated(value);
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
      const auto *from = llvm::find(broadcast.getDims(), position);
      if (from == broadcast.getDims().end())
        return repeated(value);
      Value x = lookUp(broadcast.getX(), from - broadcast.getDims().begin());
      return x ? buildBehind(builder, value)
                     .broadcast(x, withSamples(value, positions()), behind(0, broadcast.getDims()))
               : Value();
    }
    // A learned table is read once, so that its gradient is a sum of rows.
    if (auto embedding = dyn_cast_or_null<EmbeddingOp>(op); embedding && position < rankOf(embedding.getIds())) {
      Value ids = lookUp(embedding.getIds(), position);
      if (!ids)
        return {};
      builder.setInsertionPointAfterValue(value);
      return EmbeddingOp::create(builder, value.getLoc(), withSamples(value, positions()), embedding.getTable(), ids,
                                 embedding.getPaddingIdx(), embedding.getRowAxesAttr());
    }
    return isFloat(value) ? gather(value, position) : lookUpInteger(value, position);
  };
  Value result = make();
  return known[{value, position}] = result;
}

Value DocumentPositions::spread(Value value, int64_t sample, int64_t position) {
  Operation *op = value.getDefiningOp();
  OpBuilder builder(value.getContext());
  auto type = cast<RankedTensorType>(value.getType());
  if (splatValue(value))
    return value;
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    ArrayRef<int64_t> dims = broadcast.getDims();
    const auto *from = llvm::find(dims, position), *samples = llvm::find(dims, sample);
    if (from == dims.end())
      return value;
    Value x = samples == dims.end() ? lookUp(broadcast.getX(), from - dims.begin())
                                    : spread(broadcast.getX(), samples - dims.begin(), from - dims.begin());
    if (!x || x == broadcast.getX())
      return x ? value : x;
    return spreadInto(buildBehind(builder, value), x, type,
                      samples == dims.end() ? concat({sample}, dims) : Dims(dims));
  }
  if (auto iota = dyn_cast_or_null<IotaOp>(op); iota && static_cast<int64_t>(iota.getDim()) != sample)
    return static_cast<int64_t>(iota.getDim()) == position ? counted(iota, type, {sample, position}) : value;
  if (isa_and_nonnull<ElementwiseOpInterface>(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (!operands.emplace_back(spread(operand, sample, position)))
        return {};
    if (llvm::equal(operands, op->getOperands()))
      return value;
    builder.setInsertionPointAfterValue(value);
    return cloneElementwise(builder, op, operands, type.getShape());
  }
  emitError(value.getLoc()) << "--mask-documents needs values of positions that do not differ from sample to sample";
  return {};
}

} // namespace dtcc::graph
