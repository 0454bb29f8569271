//===- GroupedValues.cpp - Values of the whole batch, computed of each group of samples
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/losses/GroupedValues.h"
#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include "dialects/interfaces/OpTable.h"

using namespace mlir;

namespace dtcc::graph {

int64_t GroupedValues::sampleDim(Value value) const {
  SmallVector<int64_t> dims = samples.dimsOf(value);
  return dims.empty() ? -1 : dims.front();
}

int64_t GroupedValues::place(Value value, int64_t dim) const {
  int64_t own = sampleDim(value);
  return dim == own ? 0 : own >= 0 && dim > own ? dim : dim + 1;
}

Dims GroupedValues::shapeOfRows(Value value) const {
  Dims shape(rankOf(value) + (sampleDim(value) < 0 ? 1 : 0), samples.samples());
  for (auto [dim, size] : llvm::enumerate(shapeOf(value)))
    shape[place(value, int64_t(dim))] = size;
  return shape;
}

Value GroupedValues::total(const Build &b, Value x) const {
  Type own = elementOf(x);
  Value wide = isHalf(x) || !isa<FloatType>(own) ? b.cast(x, b.builder.getF32Type()) : x;
  Value sum = GroupSumOp::create(b.builder, b.loc, wide.getType(), wide, samples.groups());
  return b.cast(b.mul(sum, double(samples.groups())), own);
}

/// `value` with dimension `dim` in front.
static Value inFront(const Build &b, Value value, int64_t dim) {
  return b.transpose(value, concat({dim}, without(range(0, rankOf(value)), {dim})));
}

Value GroupedValues::rowsLike(const Build &b, Value operand, ArrayRef<int64_t> shape) {
  Value own = rows(operand);
  if (!own)
    return {};
  bool hasRows = !isFree(operand);
  if (int64_t dim = sampleDim(operand); !hasRows && dim >= 0) {
    own = inFront(b, own, dim);
    hasRows = true;
  }
  if (shapeOf(own) == shape)
    return own;
  // Scalars stand for tensors of any shape.
  Dims dims = hasRows ? range(0, rankOf(own)) : range(int64_t(shape.size()) - rankOf(own), int64_t(shape.size()));
  return b.broadcast(own, withShape(own.getType(), shape), dims);
}

/// The rows of the result of an op that works cell by cell (isCellwise).
static Value ofCells(Operation *op, GroupedValues &values, const Build &b) {
  Value result = op->getResult(0);
  Dims shape = values.shapeOfRows(result);
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value own = values.rowsLike(b, operand, shape);
    if (!own)
      return {};
    mapping.map(operand, own);
  }
  Operation *copy = b.builder.clone(*op, mapping);
  copy->getResult(0).setType(withShape(result.getType(), shape));
  return copy->getResult(0);
}

static Value ofReduce(ReduceOp op, GroupedValues &values, const Build &b) {
  Value x = values.rows(op.getX());
  bool sums = values.meets(op.getY());
  if (!x || (sums && op.getKind() != Reduction::Sum))
    return {};
  Dims dims;
  for (int64_t dim : op.getDims())
    if (dim != values.sampleDim(op.getX()))
      dims.push_back(values.place(op.getX(), dim));
  llvm::sort(dims);
  Value y;
  if (dims.empty())
    y = b.cast(x, elementOf(op.getY()));
  else
    y = ReduceOp::create(b.builder, b.loc, withShape(op.getY().getType(), without(shapeOf(x), dims)), op.getKind(), x,
                         dims);
  return sums ? values.total(b, y) : y;
}

/// One letter stands for the rows; sums over samples become sums over groups.
static Value ofContract(ContractOp op, GroupedValues &values, const Build &b) {
  ContractSpec spec = ContractSpec::parse(op.getSpec());
  char letter = 'a';
  for (std::string letters = spec.letters(); letters.find(letter) != std::string::npos;)
    ++letter;
  auto toRows = [&](std::string &term, Value value) {
    if (int64_t dim = values.sampleDim(value); dim >= 0)
      term.erase(size_t(dim), 1);
    term.insert(term.begin(), letter);
  };
  auto operandOf = [&](Value value, std::string &term) {
    Value own = values.rows(value);
    if (!own || (values.isFree(value) && values.sampleDim(value) < 0))
      return own;
    if (values.isFree(value))
      own = inFront(b, own, values.sampleDim(value));
    toRows(term, value);
    return own;
  };
  Value lhs = operandOf(op.getLhs(), spec.lhs), rhs = operandOf(op.getRhs(), spec.rhs);
  if (!lhs || !rhs)
    return {};
  toRows(spec.result, op.getY());
  Type type = withShape(op.getY().getType(), values.shapeOfRows(op.getY()));
  Value y = ContractOp::create(b.builder, b.loc, type, spec.str(), lhs, rhs);
  return values.meets(op.getY()) ? values.total(b, y) : y;
}

static Value ofBroadcast(BroadcastOp op, GroupedValues &values, const Build &b) {
  Value x = values.rows(op.getX());
  if (!x)
    return {};
  Dims dims = {0}, shape = values.shapeOfRows(op.getY());
  for (auto [from, to] : llvm::enumerate(op.getDims()))
    if (int64_t(from) != values.sampleDim(op.getX()))
      dims.push_back(values.place(op.getY(), to));
  return shapeOf(x) == ArrayRef(shape) ? x : b.broadcast(x, withShape(op.getY().getType(), shape), dims);
}

static Value ofTranspose(TransposeOp op, GroupedValues &values, const Build &b) {
  Value x = values.rows(op.getX());
  if (!x)
    return {};
  Dims permutation(rankOf(x), 0);
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    permutation[values.place(op.getY(), int64_t(to))] = values.place(op.getX(), from);
  return b.transpose(x, permutation);
}

/// Slices each row as the op does; all rows are kept.
static Value ofSlice(SliceOp op, GroupedValues &values, const Build &b) {
  Value x = values.rows(op.getX());
  if (!x || values.meets(op.getY()))
    return {};
  Dims offsets(rankOf(x), 0), strides(rankOf(x), 1);
  for (int64_t dim = 0; dim < rankOf(op.getX()); ++dim) {
    offsets[values.place(op.getX(), dim)] = op.getOffsets()[dim];
    strides[values.place(op.getX(), dim)] = op.getStrides()[dim];
  }
  Type type = withShape(op.getY().getType(), values.shapeOfRows(op.getY()));
  return SliceOp::create(b.builder, b.loc, type, x, offsets, strides);
}

static Value ofStack(StackOp op, GroupedValues &values, const Build &b) {
  const int64_t dim = values.place(op.getY(), op.getDim());
  Dims shape = values.shapeOfRows(op.getY()), part = without(shape, {dim});
  SmallVector<Value> parts;
  for (Value x : op.getXs())
    parts.push_back(values.rowsLike(b, x, part));
  if (llvm::is_contained(parts, Value()))
    return {};
  return StackOp::create(b.builder, b.loc, withShape(op.getY().getType(), shape), parts, dim);
}

static Value ofSoftmax(SoftmaxOp op, GroupedValues &values, const Build &b) {
  Value x = values.rows(op.getX());
  if (!x || values.meets(op.getY()))
    return {};
  Dims dims;
  for (int64_t dim : op.getDims())
    dims.push_back(values.place(op.getX(), dim));
  llvm::sort(dims);
  return SoftmaxOp::create(b.builder, b.loc, x.getType(), x, dims, op.getLog());
}

static Value ofReshape(ReshapeOp op, GroupedValues &values, const Build &b) {
  Value x = values.rows(op.getX());
  return x ? b.reshape(x, values.shapeOfRows(op.getY())) : Value();
}

/// Whether each cell of the only result is computed from the cells of the operands at the same place, or from operands
/// of one cell.
static bool isCellwise(Operation *op) {
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored || op->getNumResults() != 1)
    return false;
  FactorMap map = factored.getFactorMap();
  auto isSame = [&](ArrayRef<int64_t> dims) { return dims.empty() || dims == ArrayRef(map.results[0]); };
  return llvm::all_of(map.operands, isSame) &&
         llvm::all_of(map.factors, [](const Factor &factor) { return factor.kind == FactorKind::Parallel; });
}

Value GroupedValues::makeRows(Value value) {
  static const auto table = OpTable<Value, GroupedValues &, const Build &>()
                                .on(ofReduce)
                                .on(ofContract)
                                .on(ofBroadcast)
                                .on(ofTranspose)
                                .on(ofSlice)
                                .on(ofStack)
                                .on(ofSoftmax)
                                .on(ofReshape);
  const bool isOwn = !samples.of(value).mixes;
  // Samples that are compared with each other, and what depends on where in the batch a sample stands.
  if ((isOwn && samples.of(value).numbered) || ((isOwn || meets(value)) && samples.dimsOf(value).size() > 1))
    return {};
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Build b(builder, value.getLoc());
  // A value that each sample has of its own is its own row.
  if (isOwn)
    return sampleDim(value) < 0 ? Value() : inFront(b, value, sampleDim(value));
  Operation *op = value.getDefiningOp();
  if (std::optional<Value> own = table(op, *this, b))
    return *own;
  return isCellwise(op) && !meets(value) ? ofCells(op, *this, b) : Value();
}

Value GroupedValues::rows(Value value) {
  if (isFree(value))
    return value;
  if (auto found = made.find(value); found != made.end())
    return found->second;
  Value own = makeRows(value);
  if (!own && !obstacle)
    obstacle = value;
  return made[value] = own;
}

Value GroupedValues::average(Value value) {
  Value own = rows(value);
  if (!own) {
    emitError(obstacle.getLoc())
        << "samples of the batch meet here, and micro-batches cannot do the same with their own: leave "
           "--batch-losses=microbatch out, and take --microbatches=1 if that is refused too";
    return {};
  }
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(own);
  Build b(builder, value.getLoc());
  if (sampleDim(value) < 0)
    return b.mul(b.sum(own, {0}), 1.0 / double(samples.samples()));
  Dims permutation;
  for (int64_t dim = 0; dim < rankOf(value); ++dim)
    permutation.push_back(place(value, dim));
  return b.transpose(own, permutation);
}

} // namespace dtcc::graph
