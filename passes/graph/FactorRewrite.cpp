//===- FactorRewrite.cpp - Each op in finest dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table by op: which dimensions it wants whole, and how its dimension lists grow.
// An op without an entry wants all its dimensions as they were.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Shapes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "passes/graph/FactoredValues.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;
using Id = DimensionClasses::Id;

//===----------------------------------------------------------------------===//
// FactoredValues
//===----------------------------------------------------------------------===//

SmallVector<int64_t> FactoredValues::sizes(Value old, int64_t dim) {
  SmallVector<int64_t> result;
  for (Id leaf : factoring.classes.leaves(factoring.values[old][dim]))
    result.push_back(factoring.classes.size(leaf));
  return result;
}

RankedTensorType FactoredValues::type(Value old, ArrayRef<int64_t> whole) {
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < rankOf(old); ++dim) {
    if (llvm::is_contained(whole, dim))
      shape.push_back(shapeOf(old)[dim]);
    else
      llvm::append_range(shape, sizes(old, dim));
  }
  return RankedTensorType::get(shape, cast<ShapedType>(old.getType()).getElementType());
}

SmallVector<int64_t> FactoredValues::positions(Value old, ArrayRef<int64_t> dims, ArrayRef<int64_t> whole) {
  SmallVector<int64_t> starts, counts;
  int64_t at = 0;
  for (int64_t dim = 0; dim < rankOf(old); ++dim) {
    starts.push_back(at);
    counts.push_back(llvm::is_contained(whole, dim) ? 1 : sizes(old, dim).size());
    at += counts.back();
  }
  SmallVector<int64_t> result;
  for (int64_t dim : dims)
    for (int64_t i = 0; i < counts[dim]; ++i)
      result.push_back(starts[dim] + i);
  return result;
}

Value FactoredValues::reshape(Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return ReshapeOp::create(builder, value.getLoc(), type, value);
}

Value FactoredValues::get(Value old, ArrayRef<int64_t> whole) { return reshape(made.lookup(old), type(old, whole)); }

void FactoredValues::set(Value old, Value value, ArrayRef<int64_t> whole) { made[old] = reshape(value, type(old)); }

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

using Rewrite = void (*)(Operation *, FactoredValues &);

static SmallVector<int64_t> allDims(Value value) { return llvm::to_vector<6>(llvm::seq<int64_t>(0, rankOf(value))); }

/// A copy of the op on given operands and result types, with its attributes.
static Operation *rebuild(Operation *op, FactoredValues &values, ValueRange operands, TypeRange types) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return values.getBuilder().create(state);
}

/// All dimensions of operands and results follow their classes.
static Operation *rebuildFactored(Operation *op, FactoredValues &values) {
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (Value operand : op->getOperands())
    operands.push_back(values.get(operand));
  for (Value result : op->getResults())
    types.push_back(values.type(result));
  Operation *copy = rebuild(op, values, operands, types);
  for (auto [old, made] : llvm::zip_equal(op->getResults(), copy->getResults()))
    values.set(old, made);
  return copy;
}

static void rewriteElementwise(Operation *op, FactoredValues &values) { rebuildFactored(op, values); }

/// The fallback: everything as it was.
static void rewriteWhole(Operation *op, FactoredValues &values) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(values.get(operand, allDims(operand)));
  Operation *copy = rebuild(op, values, operands, op->getResultTypes());
  for (auto [old, made] : llvm::zip_equal(op->getResults(), copy->getResults()))
    values.set(old, made, allDims(old));
}

/// One dimension `dim` of all operands and results is wanted whole; the attribute of that name follows.
template <typename OpTy> static void rewriteOneWhole(Operation *op, FactoredValues &values) {
  int64_t dim = cast<OpTy>(op).getDim();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(values.get(operand, dim));
  Value result = op->getResult(0);
  Operation *copy = rebuild(op, values, operands, values.type(result, dim));
  cast<OpTy>(copy).setDim(values.positions(result, dim, dim)[0]);
  values.set(result, copy->getResult(0), dim);
}

static void rewriteRead(Operation *op, FactoredValues &values) { rebuildFactored(op, values); }

ElementsAttr dtcc::graph::reshapeElements(ElementsAttr attr, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, attr.getElementType());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr))
    return cast<ElementsAttr>(DenseResourceElementsAttr::get(type, resource.getRawHandle()));
  return cast<ElementsAttr>(cast<DenseElementsAttr>(attr).reshape(type));
}

static void rewriteConstant(Operation *op, FactoredValues &values) {
  auto constant = cast<ConstantOp>(op);
  RankedTensorType type = values.type(constant.getY());
  values.set(constant.getY(), ConstantOp::create(values.getBuilder(), op->getLoc(), type,
                                                 reshapeElements(constant.getValue(), type.getShape())));
}

static void rewriteReshape(Operation *op, FactoredValues &values) {
  // Equal leaves: the same value. Else an opaque op between both factored forms.
  values.set(op->getResult(0), values.get(op->getOperand(0)));
}

static void rewriteTranspose(Operation *op, FactoredValues &values) {
  auto transpose = cast<TransposeOp>(op);
  SmallVector<int64_t> permutation = values.positions(transpose.getX(), transpose.getPermutation());
  Value x = values.get(transpose.getX());
  if (!llvm::is_sorted(permutation))
    x = TransposeOp::create(values.getBuilder(), op->getLoc(), values.type(transpose.getY()), x, permutation);
  values.set(transpose.getY(), x);
}

static void rewriteBroadcast(Operation *op, FactoredValues &values) {
  auto broadcast = cast<BroadcastOp>(op);
  Value x = values.get(broadcast.getX());
  SmallVector<int64_t> dims = values.positions(broadcast.getY(), broadcast.getDims());
  if (x.getType() != values.type(broadcast.getY()))
    x = BroadcastOp::create(values.getBuilder(), op->getLoc(), values.type(broadcast.getY()), x, dims);
  values.set(broadcast.getY(), x);
}

static void rewriteReduce(Operation *op, FactoredValues &values) {
  auto reduce = cast<ReduceOp>(op);
  SmallVector<int64_t> dims = values.positions(reduce.getX(), reduce.getDims());
  Value x = values.get(reduce.getX());
  if (!dims.empty())
    x = ReduceOp::create(values.getBuilder(), op->getLoc(), values.type(reduce.getY()), reduce.getKind(), x, dims);
  values.set(reduce.getY(), x);
}

/// Softmax and norms: `dims` grow together; statistics follow their classes.
template <typename OpTy> static void rewriteNormalised(Operation *op, FactoredValues &values) {
  Value x = op->getOperand(0);
  SmallVector<int64_t> dims = values.positions(x, cast<OpTy>(op).getDims());
  if (dims.empty())
    return rewriteWhole(op, values);
  cast<OpTy>(rebuildFactored(op, values)).setDims(dims);
}

static void rewriteContract(Operation *op, FactoredValues &values) {
  auto contract = cast<ContractOp>(op);
  ContractSpec spec = ContractSpec::parse(contract.getSpec());
  // A letter a leaf.
  llvm::SmallDenseMap<char, std::string> letters;
  std::string next;
  for (char c = 'a'; c <= 'z'; ++c)
    next += c;
  for (char c = 'A'; c <= 'Z'; ++c)
    next += c;
  size_t used = 0;
  auto grow = [&](const std::string &term, Value value) {
    std::string result;
    for (auto [dim, letter] : llvm::enumerate(term)) {
      auto [entry, isNew] = letters.try_emplace(letter);
      if (isNew)
        for (size_t i = 0, count = values.sizes(value, dim).size(); i < count && used < next.size(); ++i)
          entry->second += next[used++];
      result += entry->second;
    }
    return result;
  };
  spec.lhs = grow(spec.lhs, contract.getLhs());
  spec.rhs = grow(spec.rhs, contract.getRhs());
  spec.result = grow(spec.result, contract.getY());
  if (used == next.size())
    return rewriteWhole(op, values);
  cast<ContractOp>(rebuildFactored(op, values)).setSpec(spec.str());
}

static void rewriteSlice(Operation *op, FactoredValues &values) {
  auto slice = cast<SliceOp>(op);
  Value x = slice.getX(), y = slice.getY();
  if (auto part = values.getFactoring().partOf.find(y); part != values.getFactoring().partOf.end()) {
    const SplitGroup &group = values.getFactoring().splits[part->second.first];
    if (values.contains(y))
      return;
    // All parts at once, where the first stands. The counting class is merged if something split it.
    SmallVector<int64_t> shape(values.type(x).getShape());
    SmallVector<Id> count = values.getFactoring().classes.leaves(group.count);
    SmallVector<int64_t> positions = values.positions(x, group.dim);
    int64_t at = group.inTurns ? positions.back() + 1 - int64_t(count.size()) : positions.front();
    shape.erase(shape.begin() + at, shape.begin() + at + count.size());
    shape.insert(shape.begin() + at, group.parts.size());
    Value whole = values.reshape(values.get(x), RankedTensorType::get(shape, values.type(x).getElementType()));
    SmallVector<Type> types(group.parts.size(), values.type(y));
    auto unstack = UnstackOp::create(values.getBuilder(), op->getLoc(), types, whole, at);
    for (auto [old, made] : llvm::zip_equal(group.parts, unstack.getYs()))
      values.set(old, made);
    return;
  }
  SmallVector<int64_t> cut, offsets, strides;
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    bool whole = shapeOf(x)[dim] != shapeOf(y)[dim] || slice.getOffsets()[dim] != 0 || slice.getStrides()[dim] != 1;
    if (whole)
      cut.push_back(dim);
    size_t count = whole ? 1 : values.sizes(x, dim).size();
    offsets.append(count, whole ? slice.getOffsets()[dim] : 0);
    strides.append(count, whole ? slice.getStrides()[dim] : 1);
  }
  values.set(
      y, SliceOp::create(values.getBuilder(), op->getLoc(), values.type(y, cut), values.get(x, cut), offsets, strides),
      cut);
}

static void rewritePad(Operation *op, FactoredValues &values) {
  auto pad = cast<PadOp>(op);
  Value x = pad.getX(), y = pad.getY();
  SmallVector<int64_t> cut, low, high;
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    bool whole = pad.getLow()[dim] != 0 || pad.getHigh()[dim] != 0;
    if (whole)
      cut.push_back(dim);
    size_t count = whole ? 1 : values.sizes(x, dim).size();
    low.append(count, whole ? pad.getLow()[dim] : 0);
    high.append(count, whole ? pad.getHigh()[dim] : 0);
  }
  values.set(y,
             PadOp::create(values.getBuilder(), op->getLoc(), values.type(y, cut), values.get(x, cut), low, high,
                           pad.getValue()),
             cut);
}

static void rewriteConcat(Operation *op, FactoredValues &values) {
  auto concat = cast<ConcatOp>(op);
  auto stack = values.getFactoring().stacks.find(op);
  if (stack == values.getFactoring().stacks.end())
    return rewriteOneWhole<ConcatOp>(op, values);
  Value y = concat.getY();
  SmallVector<Value> parts;
  for (Value x : concat.getXs())
    parts.push_back(values.get(x));
  // In front of the part's leaves; where the part has one cell the classes of y are the counting class alone.
  int64_t before = 0;
  for (int64_t dim = 0; dim < int64_t(concat.getDim()); ++dim)
    before += values.sizes(y, dim).size();
  SmallVector<int64_t> shape(cast<ShapedType>(parts[0].getType()).getShape());
  shape.insert(shape.begin() + before, parts.size());
  auto type = RankedTensorType::get(shape, cast<ShapedType>(y.getType()).getElementType());
  values.set(y, StackOp::create(values.getBuilder(), op->getLoc(), type, parts, before));
}

static void rewriteStack(Operation *op, FactoredValues &values) {
  auto stack = cast<StackOp>(op);
  Value y = stack.getY();
  int64_t dim = stack.getDim();
  SmallVector<Value> parts;
  for (Value x : stack.getXs())
    parts.push_back(values.get(x));
  values.set(
      y,
      StackOp::create(values.getBuilder(), op->getLoc(), values.type(y, dim), parts, values.positions(y, dim, dim)[0]),
      dim);
}

static void rewriteUnstack(Operation *op, FactoredValues &values) {
  auto unstack = cast<UnstackOp>(op);
  int64_t dim = unstack.getDim();
  SmallVector<Type> types;
  for (Value y : unstack.getYs())
    types.push_back(values.type(y));
  auto copy = UnstackOp::create(values.getBuilder(), op->getLoc(), types, values.get(unstack.getX(), dim),
                                values.positions(unstack.getX(), dim, dim)[0]);
  for (auto [old, made] : llvm::zip_equal(unstack.getYs(), copy.getYs()))
    values.set(old, made);
}

static void rewriteGather(Operation *op, FactoredValues &values) {
  auto gather = cast<GatherOp>(op);
  int64_t axis = gather.getAxis();
  Value x = gather.getX();
  values.set(gather.getY(),
             GatherOp::create(values.getBuilder(), op->getLoc(), values.type(gather.getY()), values.get(x, axis),
                              values.get(gather.getIndices()), values.positions(x, axis, axis)[0]));
}

/// The rows of the table, the classes of the logits: one dimension of operand 0 is wanted whole.
static void rewriteFirstWhole(Operation *op, FactoredValues &values, int64_t dim) {
  SmallVector<Value> operands = {values.get(op->getOperand(0), dim)};
  for (Value operand : op->getOperands().drop_front())
    operands.push_back(values.get(operand));
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(values.type(result));
  Operation *copy = rebuild(op, values, operands, types);
  for (auto [old, made] : llvm::zip_equal(op->getResults(), copy->getResults()))
    values.set(old, made);
}
static void rewriteEmbedding(Operation *op, FactoredValues &values) { rewriteFirstWhole(op, values, 0); }
static void rewriteScatterAdd(Operation *op, FactoredValues &values) {
  auto scatter = cast<ScatterAddOp>(op);
  Value table = scatter.getTable();
  Operation *copy = rebuild(op, values, {values.get(scatter.getRows()), values.get(scatter.getIds())},
                            TypeRange(values.type(table, 0)));
  values.set(table, copy->getResult(0), 0);
}
static void rewriteCrossEntropy(Operation *op, FactoredValues &values) {
  rewriteFirstWhole(op, values, rankOf(op->getOperand(0)) - 1);
}

/// Rewrites a top-k. The dimension that is picked from and the dimension of the picks stay whole.
static void rewriteTopK(Operation *op, FactoredValues &values) {
  int64_t last = rankOf(op->getOperand(0)) - 1;
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(values.type(result, last));
  Operation *copy = rebuild(op, values, values.get(op->getOperand(0), last), types);
  for (auto [old, made] : llvm::zip_equal(op->getResults(), copy->getResults()))
    values.set(old, made, last);
}

static void rewriteRotary(Operation *op, FactoredValues &values) {
  auto rotary = cast<RotaryOp>(op);
  Value x = rotary.getX();
  int64_t pair = rotary.getPair();
  SmallVector<int64_t> table = values.positions(x, rotary.getTableDims(), pair);
  auto copy = RotaryOp::create(values.getBuilder(), op->getLoc(), values.type(x, pair), values.get(x, pair),
                               values.get(rotary.getCos()), values.get(rotary.getSin()),
                               values.positions(x, pair, pair)[0], table, rotary.getInverse());
  values.set(rotary.getY(), copy, pair);
}

/// Windows slide over whole dimensions; so is whole what has several leaves or, of size 1, none.
static void rewriteConvolution(Operation *op, FactoredValues &values) {
  int64_t spatial = cast<ConvolutionOp>(op).getStrides().size();
  auto whole = [&](Value value) {
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < rankOf(value); ++dim)
      if (dim >= rankOf(value) - spatial || values.sizes(value, dim).size() != 1)
        dims.push_back(dim);
    return dims;
  };
  Value x = op->getOperand(0), kernel = op->getOperand(1), y = op->getResult(0);
  Operation *copy = rebuild(op, values, {values.get(x, whole(x)), values.get(kernel, whole(kernel))},
                            TypeRange(values.type(y, whole(y))));
  values.set(y, copy->getResult(0), whole(y));
}
static void rewritePool(Operation *op, FactoredValues &values) {
  Value x = op->getOperand(0), y = op->getResult(0);
  int64_t spatial = cast<MaxPoolOp>(op).getStrides().size(), rank = rankOf(x);
  SmallVector<int64_t> whole = llvm::to_vector(llvm::seq<int64_t>(rank - spatial, rank));
  Operation *copy = rebuild(op, values, values.get(x, whole), TypeRange(values.type(y, whole)));
  values.set(y, copy->getResult(0), whole);
}

/// The samples stay one dimension.
static void rewriteBatchNorm(Operation *op, FactoredValues &values) {
  Value x = op->getOperand(0);
  if (values.sizes(x, 0).size() != 1)
    return rewriteWhole(op, values);
  SmallVector<int64_t> dims = values.positions(x, cast<BatchNormOp>(op).getDims());
  cast<BatchNormOp>(rebuildFactored(op, values)).setDims(dims);
}
static void rewriteRunningStatistics(Operation *op, FactoredValues &values) {
  bool oneDimension = values.sizes(cast<RunningStatisticsOp>(op).getMean(), 0).size() == 1;
  oneDimension ? rewriteElementwise(op, values) : rewriteWhole(op, values);
}

static const llvm::DenseMap<TypeID, Rewrite> &rewrites() {
  static const llvm::DenseMap<TypeID, Rewrite> table = {
      {TypeID::get<ReadOp>(), rewriteRead},
      {TypeID::get<WriteOp>(), rewriteElementwise},
      {TypeID::get<ConstantOp>(), rewriteConstant},
      {TypeID::get<IotaOp>(), rewriteOneWhole<IotaOp>},
      {TypeID::get<ReshapeOp>(), rewriteReshape},
      {TypeID::get<TransposeOp>(), rewriteTranspose},
      {TypeID::get<BroadcastOp>(), rewriteBroadcast},
      {TypeID::get<SliceOp>(), rewriteSlice},
      {TypeID::get<PadOp>(), rewritePad},
      {TypeID::get<ShiftOp>(), rewriteOneWhole<ShiftOp>},
      {TypeID::get<ConcatOp>(), rewriteConcat},
      {TypeID::get<StackOp>(), rewriteStack},
      {TypeID::get<UnstackOp>(), rewriteUnstack},
      {TypeID::get<GatherOp>(), rewriteGather},
      {TypeID::get<ContractOp>(), rewriteContract},
      {TypeID::get<ReduceOp>(), rewriteReduce},
      {TypeID::get<SoftmaxOp>(), rewriteNormalised<SoftmaxOp>},
      {TypeID::get<LayerNormOp>(), rewriteNormalised<LayerNormOp>},
      {TypeID::get<RmsNormOp>(), rewriteNormalised<RmsNormOp>},
      {TypeID::get<CumsumOp>(), rewriteOneWhole<CumsumOp>},
      {TypeID::get<EmbeddingOp>(), rewriteEmbedding},
      {TypeID::get<ScatterAddOp>(), rewriteScatterAdd},
      {TypeID::get<CrossEntropyOp>(), rewriteCrossEntropy},
      {TypeID::get<RotaryOp>(), rewriteRotary},
      {TypeID::get<TopKOp>(), rewriteTopK},
      {TypeID::get<ConvolutionOp>(), rewriteConvolution},
      {TypeID::get<MaxPoolOp>(), rewritePool},
      {TypeID::get<BatchNormOp>(), rewriteBatchNorm},
      {TypeID::get<RunningStatisticsOp>(), rewriteRunningStatistics},
      {TypeID::get<StopGradientOp>(), rewriteElementwise},
      {TypeID::get<ReplaceGradientOp>(), rewriteElementwise},
  };
  return table;
}

void dtcc::graph::rewriteFactored(Operation *op, FactoredValues &values) {
  auto entry = rewrites().find(op->getName().getTypeID());
  if (entry != rewrites().end())
    return entry->second(op, values);
  if (isa<ElementwiseOpInterface, IndexedCellOpInterface>(op))
    return rewriteElementwise(op, values);
  rewriteWhole(op, values);
}
