//===- ChunkClassifier.cpp - Loss and its gradient over chunks of rows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The *slab* is what lies between the product that makes the logits and the products
// and reductions that read their gradient. One dimension of the rows is cut; which
// dimension of each value that is follows from the factor maps, so nothing here knows
// an op by name but the cross entropy it looks for.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "passes/exec/Passes.h"
#include "passes/exec/local/BlockOrder.h"
#include "planner/cost/LogitChunks.h"
#include "llvm/ADT/SetVector.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_CHUNKCLASSIFIER
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

class Slab {
public:
  explicit Slab(graph::ContractOp product) : product(product) {}

  /// Finds the ops and the chunked dimension of each value; false if it cannot be cut.
  bool collect(int64_t dim);
  void cut(int64_t parts);

private:
  bool visit(Operation *op);
  void addSources();
  bool mark(Value value, int64_t dim);
  Value partOf(OpBuilder &builder, Value value, int64_t part, int64_t parts, IRMapping &mapping);

  graph::ContractOp product;
  llvm::SetVector<Operation *> ops;
  /// The chunked dimension of values inside and of operands from outside.
  llvm::DenseMap<Value, int64_t> dims;
  /// Results that are sums over the rows.
  llvm::SmallPtrSet<Value, 8> sums;
};

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Notes the chunked dimension of a value; false if it has another already.
bool Slab::mark(Value value, int64_t dim) { return dims.try_emplace(value, dim).first->second == dim; }

/// Relates the chunked dimensions of an op's values; false if the op cannot be cut there.
bool Slab::visit(Operation *op) {
  if (auto reduce = dyn_cast<spmd::AllReduceOp>(op))
    return mark(reduce->getResult(0), dims.lookup(reduce->getOperand(0)));
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored)
    return false;
  FactorMap map = factored.getFactorMap();
  int64_t factor = kNoFactor;
  auto find = [&](Value value, ArrayRef<int64_t> walks) {
    if (auto it = dims.find(value); it != dims.end())
      factor = walks[it->second];
  };
  for (auto [operand, walks] : llvm::zip_equal(op->getOperands(), map.operands))
    find(operand, walks);
  for (auto [result, walks] : llvm::zip_equal(op->getResults(), map.results))
    find(result, walks);
  if (factor == kNoFactor)
    return false;
  FactorKind kind = map.factors[factor].kind;
  bool isSum = kind == FactorKind::Reduce && map.factors[factor].reduction == Reduction::Sum;
  if (kind != FactorKind::Parallel && !isSum)
    return false;
  for (auto [operand, walks] : llvm::zip_equal(op->getOperands(), map.operands))
    if (auto it = llvm::find(walks, factor); it != walks.end() && !mark(operand, it - walks.begin()))
      return false;
  for (auto [result, walks] : llvm::zip_equal(op->getResults(), map.results)) {
    if (auto it = llvm::find(walks, factor); it != walks.end()) {
      if (!mark(result, it - walks.begin()))
        return false;
    } else if (isSum) {
      sums.insert(result);
    } else {
      return false;
    }
  }
  return true;
}

bool Slab::collect(int64_t dim) {
  dims[product.getY()] = dim;
  ops.insert(product);
  // The logits of an evaluation have no gradient; their loss is all that is made of them.
  bool hasGradient = spmd::isOfEvaluation(product->getParentOfType<spmd::PhaseOp>().getSymName());
  for (size_t i = 0; i < ops.size(); ++i) {
    Operation *op = ops[i];
    if (op->getBlock() != product->getBlock() || !visit(op))
      return false;
    hasGradient |= isa<graph::CrossEntropyGradOp>(op);
    // Readers of the logits' gradient end the slab.
    if (op != product && isa<graph::ContractOp, graph::ReduceOp>(op))
      continue;
    for (Value result : op->getResults())
      if (!sums.contains(result))
        for (Operation *user : result.getUsers())
          ops.insert(user);
  }
  addSources();
  return hasGradient;
}

/// Adds ops that compute cells of as many rows and classes as the logits have, for the slab alone: the mask of the rows
/// that an evaluation reports is one. Left outside, they would need memory for all rows at a time. Constants are cut in
/// partOf, because their value has the type of their result.
void Slab::addSources() {
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (isa_and_nonnull<graph::CellOpInterface>(source) && !source->hasTrait<OpTrait::ConstantLike>() &&
          source->getBlock() == product->getBlock() &&
          tensorTypeOf(operand).getNumElements() >= tensorTypeOf(product.getY()).getNumElements() &&
          llvm::all_of(source->getUsers(), [&](Operation *user) { return ops.contains(user); }) && visit(source))
        ops.insert(source);
    }
}

Value Slab::partOf(OpBuilder &builder, Value value, int64_t part, int64_t parts, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  auto it = dims.find(value);
  if (it == dims.end())
    return value;
  auto type = tensorTypeOf(value);
  SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank(), 0), strides(type.getRank(), 1);
  shape[it->second] /= parts;
  auto typeOfPart = RankedTensorType::get(shape, type.getElementType());
  // A slice of equal cells would need memory for the whole tensor, which has the size of the logits.
  if (DenseElementsAttr cells; matchPattern(value, m_Constant(&cells)) && cells.isSplat()) {
    Value constant = graph::ConstantOp::create(builder, value.getLoc(), typeOfPart, cells.resizeSplat(typeOfPart));
    mapping.map(value, constant);
    return constant;
  }
  offsets[it->second] = part * shape[it->second];
  Value slice = graph::SliceOp::create(builder, value.getLoc(), typeOfPart, value, offsets, strides);
  mapping.map(value, slice);
  return slice;
}

void Slab::cut(int64_t parts) {
  SmallVector<Operation *> order = ops.takeVector();
  llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  OpBuilder builder(order.back());
  llvm::DenseMap<Value, SmallVector<Value>> rows;
  llvm::DenseMap<Value, Value> totals;
  for (int64_t part = 0; part < parts; ++part) {
    IRMapping mapping;
    for (Operation *op : order) {
      for (Value operand : op->getOperands())
        mapping.map(operand, partOf(builder, operand, part, parts, mapping));
      Operation *clone = builder.clone(*op, mapping);
      for (auto [result, copy] : llvm::zip_equal(op->getResults(), clone->getResults())) {
        if (sums.contains(result)) {
          Value &total = totals[result];
          total = total ? graph::AddOp::create(builder, op->getLoc(), total, copy).getResult() : Value(copy);
          continue;
        }
        SmallVector<int64_t> shape(tensorTypeOf(result).getShape());
        shape[dims.lookup(result)] /= parts;
        copy.setType(RankedTensorType::get(shape, tensorTypeOf(result).getElementType()));
        rows[result].push_back(copy);
      }
    }
  }
  for (Operation *op : order)
    for (Value result : op->getResults()) {
      bool isRead = llvm::any_of(result.getUsers(), [&](Operation *user) { return !llvm::is_contained(order, user); });
      if (!isRead)
        continue;
      Value whole = sums.contains(result) ? totals[result]
                                          : graph::ConcatOp::create(builder, op->getLoc(), result.getType(),
                                                                    rows[result], dims.lookup(result))
                                                .getResult();
      result.replaceUsesWithIf(whole, [&](OpOperand &use) { return !llvm::is_contained(order, use.getOwner()); });
    }
  Block &block = *order.front()->getBlock();
  for (Operation *op : llvm::reverse(order))
    op->erase();
  restoreOrder(block);
}

struct ChunkClassifier : impl::ChunkClassifierBase<ChunkClassifier> {
  using ChunkClassifierBase::ChunkClassifierBase;
  void runOnOperation() override {
    SmallVector<graph::ContractOp> products;
    getOperation()->walk([&](graph::CrossEntropyStatsOp op) {
      Value logits = op.getLogits();
      // A bias may stand between the product and the loss.
      while (auto cell = dyn_cast_or_null<graph::ElementwiseOpInterface>(logits.getDefiningOp()))
        logits = cell->getOperand(0);
      // A loss and the count of its hits read the same logits.
      if (auto product = logits.getDefiningOp<graph::ContractOp>(); product && !llvm::is_contained(products, product))
        products.push_back(product);
    });
    for (graph::ContractOp product : products) {
      std::optional<cost::LogitCut> choice = cost::cutLogits(
          std::span(tensorTypeOf(product.getY()).getShape().data(), tensorTypeOf(product.getY()).getRank()),
          chunkBytes);
      Slab slab(product);
      if (!choice)
        continue;
      auto opts = remark::RemarkOpts::name("cut").category(getArgument());
      Location where = product.getLoc();
      if (!slab.collect(choice->dim)) {
        remark::missed(where, opts) << remark::reason("an op beside the logits cannot be cut into chunks");
        continue;
      }
      slab.cut(choice->parts);
      remark::passed(where, opts) << remark::metric("Chunks", choice->parts);
    }
  }
};
} // namespace
} // namespace dtcc::exec
