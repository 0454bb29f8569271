//===- FactorAnalysis.cpp - The equations between dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In this order, so that a conflict is blamed on the op that mixes factors: the
// factor maps of all ops but reshapes, which unite equal sizes and cannot conflict;
// reshapes, group by group; splits and joins of equal parts.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "passes/graph/FactoredValues.h"
#include "llvm/ADT/MapVector.h"
#include <tuple>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;
using Id = DimensionClasses::Id;

static ClassLists freshLists(DimensionClasses &classes, ArrayRef<int64_t> shape) {
  ClassLists lists(shape.size());
  for (auto [list, size] : llvm::zip_equal(lists, shape))
    if (size != 1)
      list.push_back(classes.create(size));
  return lists;
}

/// All dimensions that walk one factor are one list of classes.
static void equateFactors(Operation *op, Factoring &factoring) {
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored || isa<ReshapeOp>(op))
    return;
  FactorMap map = factored.getFactorMap();
  SmallVector<SmallVector<Id, 1> *> first(map.factors.size(), nullptr);
  auto equate = [&](Value value, ArrayRef<int64_t> factors) {
    for (auto [dim, factor] : llvm::enumerate(factors)) {
      if (factor == kNoFactor)
        continue;
      auto &list = factoring.values[value][dim];
      if (!first[factor])
        first[factor] = &list;
      else
        (void)factoring.classes.unify(*first[factor], list);
    }
  };
  for (auto [operand, factors] : llvm::zip(op->getOperands(), map.operands))
    equate(operand, factors);
  for (auto [result, factors] : llvm::zip(op->getResults(), map.results))
    equate(result, factors);
}

/// Minimal groups of consecutive dimensions of equal product, each an equation of its own.
static void equateReshape(ReshapeOp op, Factoring &factoring) {
  const ClassLists &from = factoring.values[op.getX()], &to = factoring.values[op.getY()];
  ArrayRef<int64_t> left = shapeOf(op.getX()), right = shapeOf(op.getY());
  size_t i = 0, j = 0;
  auto skipOnes = [](ArrayRef<int64_t> shape, size_t &at) {
    while (at < shape.size() && shape[at] == 1)
      ++at;
  };
  while (true) {
    skipOnes(left, i);
    skipOnes(right, j);
    if (i == left.size() || j == right.size())
      return;
    SmallVector<Id> a(from[i].begin(), from[i].end()), b(to[j].begin(), to[j].end());
    int64_t leftCells = left[i++], rightCells = right[j++];
    while (leftCells != rightCells) {
      bool growLeft = leftCells < rightCells;
      size_t &at = growLeft ? i : j;
      if (at == (growLeft ? left : right).size())
        return;
      (growLeft ? leftCells : rightCells) *= (growLeft ? left : right)[at];
      llvm::append_range(growLeft ? a : b, (growLeft ? from : to)[at]);
      ++at;
    }
    (void)factoring.classes.unify(a, b);
  }
}

/// The one dimension that a slice cuts, or -1.
static int64_t slicedDim(SliceOp op) {
  int64_t found = -1;
  for (int64_t dim = 0, rank = shapeOf(op.getX()).size(); dim < rank; ++dim) {
    if (shapeOf(op.getX())[dim] == shapeOf(op.getY())[dim] && op.getOffsets()[dim] == 0 && op.getStrides()[dim] == 1)
      continue;
    if (found >= 0)
      return -1;
    found = dim;
  }
  return found;
}

/// Slices of `x` along `dim` that tile it in equal parts: an unstack. The parts lie one behind the other if `stride` is
/// 1, and cell by cell in turns, as x[::2] and x[1::2], if it is their number.
static void equateSplit(Value x, int64_t dim, int64_t stride, MutableArrayRef<SliceOp> slices, Factoring &factoring) {
  int64_t whole = shapeOf(x)[dim], part = shapeOf(slices.front().getY())[dim],
          count = whole / std::max<int64_t>(part, 1);
  bool inTurns = stride > 1;
  SplitGroup group{x, dim, SmallVector<Value>(count), 0, inTurns};
  if (part < 1 || count < 2 || whole % part != 0 || (inTurns && stride != count))
    return;
  const int64_t apart = inTurns ? 1 : part;
  for (SliceOp slice : slices) {
    int64_t offset = slice.getOffsets()[dim];
    if (shapeOf(slice.getY())[dim] != part || offset % apart != 0)
      return;
    // A second slice of a part that is already taken stays a slice of its own.
    if (!group.parts[offset / apart])
      group.parts[offset / apart] = slice.getY();
  }
  if (llvm::is_contained(group.parts, Value()))
    return;
  size_t mark = factoring.classes.mark();
  group.count = factoring.classes.create(count);
  SmallVector<Id> split(ArrayRef<Id>(factoring.values[group.parts[0]][dim]));
  split.insert(inTurns ? split.end() : split.begin(), group.count);
  bool fits = factoring.classes.unify(factoring.values[x][dim], split);
  for (Value other : ArrayRef(group.parts).drop_front())
    fits = fits && factoring.classes.unify(factoring.values[group.parts[0]][dim], factoring.values[other][dim]);
  if (!fits)
    return factoring.classes.undo(mark);
  for (auto [i, value] : llvm::enumerate(group.parts))
    factoring.partOf[value] = {factoring.splits.size(), i};
  factoring.splits.push_back(std::move(group));
}

/// A join of equal parts is a stack along a new outer class.
static void equateJoin(ConcatOp op, Factoring &factoring) {
  int64_t dim = op.getDim(), count = op.getXs().size();
  ArrayRef<Id> part = factoring.values[op.getXs()[0]][dim];
  for (Value x : op.getXs())
    if (shapeOf(x)[dim] != shapeOf(op.getXs()[0])[dim])
      return;
  if (count < 2)
    return;
  size_t mark = factoring.classes.mark();
  SmallVector<Id> joined = {factoring.classes.create(count)};
  llvm::append_range(joined, part);
  bool fits = factoring.classes.unify(factoring.values[op.getY()][dim], joined);
  for (Value x : op.getXs().drop_front())
    fits = fits && factoring.classes.unify(part, factoring.values[x][dim]);
  if (fits)
    factoring.stacks[op] = joined[0];
  else
    factoring.classes.undo(mark);
}

Factoring dtcc::graph::analyzeDimensions(ModuleOp module) {
  Factoring factoring;
  for (auto state : module.getOps<StateOp>())
    factoring.states[state.getSymName()] = freshLists(factoring.classes, cast<ShapedType>(state.getType()).getShape());
  SmallVector<Operation *> ops;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    for (Value argument : function.getArguments())
      factoring.values[argument] = freshLists(factoring.classes, shapeOf(argument));
    for (Operation &op : function.front()) {
      ops.push_back(&op);
      for (Value result : op.getResults()) {
        auto read = dyn_cast<ReadOp>(op);
        factoring.values[result] =
            read ? factoring.states[read.getState()] : freshLists(factoring.classes, shapeOf(result));
      }
    }
  }
  // A stored value has the dimensions of its state.
  for (Operation *op : ops)
    if (auto write = dyn_cast<WriteOp>(op))
      for (auto [stored, list] : llvm::zip_equal(factoring.states[write.getState()], factoring.values[write.getX()]))
        (void)factoring.classes.unify(stored, list);
  for (Operation *op : ops)
    equateFactors(op, factoring);
  for (Operation *op : ops)
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      equateReshape(reshape, factoring);

  llvm::MapVector<std::tuple<Value, int64_t, int64_t>, SmallVector<SliceOp>> cuts;
  for (Operation *op : ops)
    if (auto slice = dyn_cast<SliceOp>(op))
      if (int64_t dim = slicedDim(slice); dim >= 0)
        cuts[{slice.getX(), dim, slice.getStrides()[dim]}].push_back(slice);
  for (auto &[place, slices] : cuts)
    equateSplit(std::get<0>(place), std::get<1>(place), std::get<2>(place), slices, factoring);
  for (Operation *op : ops)
    if (auto join = dyn_cast<ConcatOp>(op))
      equateJoin(join, factoring);
  return factoring;
}
