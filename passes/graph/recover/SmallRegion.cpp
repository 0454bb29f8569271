//===- SmallRegion.cpp - A region evaluated at small sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/recover/SmallRegion.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/Region.h"

using namespace mlir;

namespace dtcc::graph {

std::optional<SmallRegion> SmallRegion::between(ArrayRef<Value> inputs, Value root, size_t limit) {
  SmallRegion region;
  region.limit = limit;
  region.inputs.assign(inputs.begin(), inputs.end());
  region.root = root;
  if (llvm::is_contained(inputs, root) || !region.collect(root))
    return std::nullopt;
  for (Value input : inputs)
    if (llvm::none_of(input.getUsers(), [&](Operation *user) { return region.ops.contains(user); }))
      return std::nullopt;
  return region;
}

bool SmallRegion::collect(Value value, size_t depth) {
  if (llvm::is_contained(inputs, value) || sameState.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || ops.size() >= limit || depth >= kDeepest * limit)
    return false;
  if (ops.contains(op))
    return true;
  if (auto read = dyn_cast<ReadOp>(op)) {
    auto known =
        llvm::find_if(reads, [&](Value other) { return other.getDefiningOp<ReadOp>().getState() == read.getState(); });
    sameState[value] = known == reads.end() ? value : *known;
    if (sameState[value] == value)
      reads.push_back(value);
    return true;
  }
  if (!isa<FactorOpInterface>(op) || !isa<ReferenceOpInterface>(op))
    return false;
  // A composite with the values of such a region has another gradient.
  if (auto known = dyn_cast<DifferentiableOpInterface>(op); known && known.getForwardValue())
    return false;
  for (Value operand : op->getOperands())
    if (!collect(operand, depth + 1))
      return false;
  ops.insert(op);
  return true;
}

Value SmallRegion::representative(Value value) const {
  auto same = sameState.find(value);
  return same == sameState.end() ? value : same->second;
}

void SmallRegion::ensureJoined() {
  if (!joined)
    joinDims();
  joined = true;
}

void SmallRegion::joinDims() {
  unsigned count = 0;
  SmallVector<Value> values;
  auto add = [&](Value value) {
    if (firstDim.try_emplace(representative(value), count).second) {
      values.push_back(representative(value));
      count += rankOf(value);
    }
  };
  for (Operation *op : ops) {
    llvm::for_each(op->getOperands(), add);
    llvm::for_each(op->getResults(), add);
  }
  // One class more a factor.
  DenseMap<Operation *, unsigned> firstFactor;
  std::vector<FactorMap> maps;
  for (Operation *op : ops) {
    maps.push_back(cast<FactorOpInterface>(op).getFactorMap());
    firstFactor[op] = count;
    count += maps.back().factors.size();
  }
  classes.grow(count);
  SmallVector<unsigned> whole;
  for (auto [op, map] : llvm::zip_equal(ops, maps)) {
    auto walk = [&](Value value, ArrayRef<int64_t> dims) {
      for (auto [dim, factor] : llvm::enumerate(dims)) {
        unsigned id = firstDim[representative(value)] + dim;
        if (factor == kNoFactor)
          whole.push_back(id);
        else
          classes.join(id, firstFactor[op] + factor);
      }
    };
    for (auto [value, dims] : llvm::zip_equal(op->getOperands(), map.operands))
      walk(value, dims);
    for (auto [value, dims] : llvm::zip_equal(op->getResults(), map.results))
      walk(value, dims);
    for (auto [number, factor] : llvm::enumerate(map.factors))
      if (factor.kind != FactorKind::Parallel && factor.kind != FactorKind::Reduce)
        whole.push_back(firstFactor[op] + number);
  }
  classes.compress();
  // Sizes that tell classes apart.
  sizes.assign(classes.getNumClasses(), 0);
  for (Value value : values)
    for (auto [dim, size] : llvm::enumerate(shapeOf(value))) {
      int64_t &small = sizes[classes[firstDim[value] + dim]];
      small = std::min<int64_t>(size, 2 + classes[firstDim[value] + dim] % 3);
    }
  SmallVector<bool> keep(sizes.size());
  for (unsigned id : whole)
    keep[classes[id]] = true;
  for (Value value : values)
    for (auto [dim, size] : llvm::enumerate(shapeOf(value)))
      if (keep[classes[firstDim[value] + dim]])
        sizes[classes[firstDim[value] + dim]] = size;
}

bool SmallRegion::isClosed() const { return graph::isClosed(inputs, root, ops); }

unsigned SmallRegion::classOf(Value value, int64_t dim) {
  ensureJoined();
  return classes[firstDim.lookup(representative(value)) + dim];
}

HostTensor SmallRegion::small(Value value) {
  Dims shape;
  for (int64_t dim = 0; dim < rankOf(value); ++dim)
    shape.push_back(sizes[classOf(value, dim)]);
  return HostTensor(shape, elementOf(value));
}

std::optional<HostTensor> SmallRegion::evaluate(SmallValues values) {
  for (Operation *op : ops) {
    SmallVector<HostTensor> operands, results;
    for (Value operand : op->getOperands())
      operands.push_back(values.lookup(representative(operand)));
    for (Value result : op->getResults())
      results.push_back(small(result));
    auto constant = dyn_cast<ConstantOp>(op);
    if (auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr) {
      // One cell, for the whole constant may have billions.
      auto cell = HostTensor::fromAttribute(splat.resizeSplat(RankedTensorType::get({}, splat.getElementType())));
      if (failed(cell))
        return std::nullopt;
      if (cell->isFloat())
        llvm::fill(results[0].floats, cell->floats[0]);
      else
        llvm::fill(results[0].ints, cell->ints[0]);
    } else if (failed(cast<ReferenceOpInterface>(op).evaluate(operands, results, EvaluationContext()))) {
      return std::nullopt;
    }
    for (auto [value, tensor] : llvm::zip_equal(op->getResults(), results))
      values[value] = std::move(tensor);
  }
  return values.lookup(root);
}

} // namespace dtcc::graph
