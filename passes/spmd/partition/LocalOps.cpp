//===- LocalOps.cpp - An op on the local tensors of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/partition/LocalOps.h"
#include "dialects/graph/Origin.h"
#include "passes/spmd/layout/BatchStatistics.h"
#include "passes/spmd/layout/LocalForms.h"
#include "passes/spmd/layout/RingAttention.h"
#include "passes/spmd/partition/PackedExperts.h"

using namespace mlir;

namespace dtcc::spmd {

/// Statistics of this rank's classes, merged over the axes of the classes: maximum, sum and target.
static SmallVector<Value> emitStatistics(OpBuilder &builder, Operation *op, const FactorMap &map,
                                         const Placement &placement, ArrayRef<Value> operands, ArrayRef<Type> types) {
  Location loc = op->getLoc();
  const Axes &axes = placement.factors[map.operands[0].back()];
  int64_t classes = cast<ShapedType>(op->getOperand(0).getType()).getShape().back();
  ArrayAttr names = axes.empty() ? ArrayAttr() : fromAxes(builder.getContext(), axes);
  Type rows = types[2];
  auto stats = graph::CrossEntropyStatsOp::create(builder, loc, TypeRange{rows, rows, rows}, operands[0], operands[1],
                                                  builder.getI64IntegerAttr(classes), names);
  Value maximum = stats.getMaximum(), sum = stats.getSum(), target = stats.getTarget();
  if (names) {
    Value global = AllReduceOp::create(builder, loc, rows, Reduction::Max, maximum, names);
    sum = graph::CrossEntropyMergeOp::create(builder, loc, rows, maximum, global, sum);
    sum = AllReduceOp::create(builder, loc, rows, Reduction::Sum, sum, names);
    target = AllReduceOp::create(builder, loc, rows, Reduction::Sum, target, names);
    maximum = global;
  }
  return {maximum, sum, target};
}

/// The loss of the merged statistics.
static SmallVector<Value> emitCrossEntropy(OpBuilder &builder, Operation *op, const FactorMap &map,
                                           const Placement &placement, ArrayRef<Value> operands, ArrayRef<Type> types) {
  SmallVector<Value> merged = emitStatistics(builder, op, map, placement, operands, types);
  auto loss = graph::CrossEntropyLossOp::create(builder, op->getLoc(), types, merged[0], merged[1], merged[2],
                                                operands[1], cast<graph::CrossEntropyOp>(op).getIgnoreIndexAttr());
  return SmallVector<Value>(loss->getResults());
}

/// Ops on the classes of a rank, which become several.
static constexpr std::pair<StringLiteral, decltype(&emitCrossEntropy)> kOfClasses[] = {
    {"graph.cross_entropy", emitCrossEntropy}, {"graph.cross_entropy_stats", emitStatistics}};

SmallVector<Value> emitLocalOp(OpBuilder &builder, Operation *op, const FactorMap &map, const Placement &placement,
                               ArrayRef<Value> operands, ArrayRef<Type> types) {
  for (auto [name, emit] : kOfClasses)
    if (op->getName().getStringRef() == name)
      return emit(builder, op, map, placement, operands, types);
  if (auto results = emitBatchStatistics(builder, op, map, placement, operands, types))
    return *results;
  if (auto results = emitAttentionParts(builder, op, map, placement, operands, types))
    return *results;
  if (auto results = emitPackedExperts(builder, op, map, placement, operands, types))
    return *results;
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  Operation *local = builder.clone(*op, mapping);
  for (auto [result, type] : llvm::zip_equal(local->getResults(), types))
    result.setType(type);
  // The map counts the factors of the op on whole tensors, and no later pass reads it.
  local->removeDiscardableAttr("origin_factors");
  setLocalForm(local, op, map, placement);
  return SmallVector<Value>(local->getResults());
}

Value emitConstant(OpBuilder &builder, Location loc, ElementsAttr cells, RankedTensorType type) {
  auto shape = cast<ShapedType>(cells.getType()).getShape();
  if (auto splat = dyn_cast<SplatElementsAttr>(cells))
    cells = splat.resizeSplat(type);
  else if (type.getShape() != shape) {
    // Replicated and padded at the end of some dimensions.
    auto all = llvm::to_vector(cells.getValues<Attribute>());
    SmallVector<Attribute> padded(type.getNumElements(), builder.getZeroAttr(type.getElementType()));
    for (int64_t i = 0, e = all.size(); i < e; ++i) {
      int64_t rest = i, position = 0, stride = 1;
      for (int64_t d = shape.size() - 1; d >= 0; --d) {
        position += rest % shape[d] * stride;
        rest /= shape[d];
        stride *= type.getShape()[d];
      }
      padded[position] = all[i];
    }
    cells = DenseElementsAttr::get(type, padded);
  }
  return graph::ConstantOp::create(builder, loc, type, cells);
}

} // namespace dtcc::spmd
