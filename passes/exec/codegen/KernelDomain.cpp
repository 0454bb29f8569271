//===- KernelDomain.cpp - The loops of a fused kernel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps are found by propagation: an op that works on the largest rank spans the
// domain, and each op relates the maps of its operands and results.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/KernelDomain.h"
#include "dialects/graph/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using Map = llvm::SmallVector<int64_t>;

namespace dtcc::exec {

static ShapedType shapedTypeOf(Value value) { return cast<ShapedType>(value.getType()); }

bool KernelDomain::isFullValue(Value value) const { return maps.lookup(value).size() == sizes.size(); }

bool KernelDomain::isRowValue(Value value) const {
  Map map = maps.lookup(value);
  return map.size() + reduced.size() == sizes.size() && llvm::none_of(map, [&](int64_t dim) { return isReduced(dim); });
}

static bool isSplatConstant(Operation *op) {
  auto constant = dyn_cast<graph::ConstantOp>(op);
  return constant && (constant.getValue().isSplat() || constant.getType().getRank() == 0);
}

bool isFusible(Operation *op) {
  auto reduce = dyn_cast<graph::ReduceOp>(op);
  if (op->getNumResults() == 0 || !isa<FactorOpInterface>(op))
    return false;
  // Types are looked at last, since ops of other kinds may have any number of results.
  if (!reduce && !isSplatConstant(op) &&
      !isa<graph::ElementwiseOpInterface, graph::IndexedCellOpInterface, graph::BroadcastOp, graph::IotaOp>(op))
    return false;
  // Integers are reduced by exec-expand-composites; bodies of f64 would need a math library.
  auto supported = [](Type type) {
    Type element = cast<ShapedType>(type).getElementType();
    return element.isF32() || element.isBF16() || element.isF16() ||
           (element.isInteger() && llvm::is_contained({1, 8, 16, 32, 64}, int(element.getIntOrFloatBitWidth())));
  };
  return llvm::all_of(op->getOperandTypes(), supported) && llvm::all_of(op->getResultTypes(), supported) &&
         (!reduce || isa<FloatType>(shapedTypeOf(reduce.getX()).getElementType()));
}

bool isDuplicable(Operation *op) { return isa<graph::BroadcastOp, graph::IotaOp>(op) || isSplatConstant(op); }

namespace {
/// Propagates maps over the ops of a would-be kernel until nothing changes.
class Propagation {
public:
  Propagation(ArrayRef<Operation *> ops, KernelDomain &domain)
      : ops(ops), members(ops.begin(), ops.end()), domain(domain) {}

  /// Fails on a contradiction: two uses of one value walk different dimensions. Broadcasts of what comes from outside
  /// speak last, and never contradict.
  LogicalResult run() {
    seed();
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *op : ops)
        if (!isOutside(op) && failed(visit(op, changed)))
          return failure();
      for (Operation *op : ops)
        if (!changed && isOutside(op) && !domain.maps.count(op->getOperand(0)) && failed(visit(op, changed)))
          return failure();
    }
    for (Operation *op : ops)
      if (isOutside(op) && domain.maps.lookup(op->getOperand(0)) != operandMap(cast<graph::BroadcastOp>(op)))
        domain.apart.push_back(op);
    for (Operation *op : ops) {
      for (Value value : op->getOperands())
        if (!domain.maps.count(value))
          return failure();
      for (Value value : op->getResults())
        if (!domain.maps.count(value))
          return failure();
    }
    return success();
  }

private:
  /// The op of the largest iteration space spans the domain; the first of equals.
  void seed() {
    Value widest;
    for (Operation *op : ops) {
      Value candidate = isa<graph::ReduceOp>(op) ? op->getOperand(0) : op->getResult(0);
      if (!widest || shapedTypeOf(candidate).getRank() > shapedTypeOf(widest).getRank())
        widest = candidate;
    }
    domain.sizes.assign(shapedTypeOf(widest).getShape().begin(), shapedTypeOf(widest).getShape().end());
    domain.maps[widest] = llvm::to_vector(llvm::seq<int64_t>(0, domain.sizes.size()));
  }

  LogicalResult set(Value value, Map map, bool &changed) {
    auto [it, inserted] = domain.maps.try_emplace(value, map);
    if (!inserted)
      return success(it->second == map);
    for (auto [dim, size] : llvm::zip_equal(map, shapedTypeOf(value).getShape()))
      if (domain.sizes[dim] != size)
        return failure();
    changed = true;
    return success();
  }

  /// Whether the op broadcasts what no op of the kernel makes.
  bool isOutside(Operation *op) const {
    return isa<graph::BroadcastOp>(op) && !members.contains(op->getOperand(0).getDefiningOp());
  }

  /// Map from the domain to the operand of a broadcast; empty while the result's map is not known.
  Map operandMap(graph::BroadcastOp broadcast) const {
    Map map, result = domain.maps.lookup(broadcast.getY());
    if (!result.empty())
      for (int64_t dim : broadcast.getDims())
        map.push_back(result[dim]);
    return map;
  }

  LogicalResult visit(Operation *op, bool &changed) {
    if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
      if (!domain.maps.count(broadcast.getY())) {
        // A broadcast that repeats nothing, of a constant for instance, walks the dimensions of its operand.
        Map same = domain.maps.lookup(broadcast.getX());
        bool repeats = broadcast.getDims().size() != shapedTypeOf(broadcast.getY()).getShape().size();
        return same.empty() || repeats ? success() : set(broadcast.getY(), same, changed);
      }
      return set(broadcast.getX(), operandMap(broadcast), changed);
    }
    if (auto reduce = dyn_cast<graph::ReduceOp>(op))
      return visitReduce(reduce, changed);
    // Elementwise, and ops without operands: one map for all.
    auto values =
        llvm::to_vector(llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())));
    for (Value known : values) {
      auto it = domain.maps.find(known);
      if (it == domain.maps.end())
        continue;
      Map map = it->second;
      for (Value value : values)
        if (failed(set(value, map, changed)))
          return failure();
      break;
    }
    return success();
  }

  LogicalResult visitReduce(graph::ReduceOp reduce, bool &changed) {
    auto it = domain.maps.find(reduce.getX());
    if (it == domain.maps.end())
      return success();
    Map kept, over;
    for (auto [index, dim] : llvm::enumerate(it->second))
      (llvm::is_contained(reduce.getDims(), int64_t(index)) ? over : kept).push_back(dim);
    llvm::sort(over);
    if (domain.reduced.empty())
      domain.reduced = over;
    // All reductions of a kernel run over the same loops.
    if (domain.reduced != over || it->second.size() != domain.sizes.size())
      return failure();
    return set(reduce.getY(), kept, changed);
  }

  ArrayRef<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 16> members;
  KernelDomain &domain;
};
} // namespace

FailureOr<KernelDomain> KernelDomain::analyze(ArrayRef<Operation *> ops, llvm::function_ref<bool(Value)> isOutput) {
  KernelDomain domain;
  if (ops.empty() || failed(Propagation(ops, domain).run()))
    return failure();
  int64_t innermost = domain.sizes.size() - 1;
  if (!domain.reduced.empty())
    domain.kind = domain.isReduced(innermost) ? KernelKind::Row : KernelKind::Column;
  for (Operation *op : ops)
    for (Value value : op->getResults()) {
      if (!isOutput(value))
        continue;
      // A stored value must be computed once: per cell of the domain, or per row.
      bool once = domain.isFullValue(value) || (domain.kind == KernelKind::Row && domain.isRowValue(value)) ||
                  (domain.kind == KernelKind::Column && isa<graph::ReduceOp>(op));
      if (!once)
        return failure();
    }
  if (domain.kind == KernelKind::Column)
    // Column sums exist only after the last row: nothing in the kernel may read them.
    for (Operation *op : ops)
      if (isa<graph::ReduceOp>(op))
        for (Operation *user : op->getUsers())
          if (llvm::is_contained(ops, user))
            return failure();
  return domain;
}

} // namespace dtcc::exec
