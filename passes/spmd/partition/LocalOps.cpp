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

using namespace mlir;

namespace dtcc::spmd {

/// Statistics of this rank's classes, merged over the axes of the classes, then the loss.
static SmallVector<Value> emitCrossEntropy(OpBuilder &builder, graph::CrossEntropyOp op, const FactorMap &map,
                                           const Placement &placement, ArrayRef<Value> operands, ArrayRef<Type> types) {
  Location loc = op.getLoc();
  const Axes &axes = placement.factors[map.operands[0].back()];
  int64_t classes = cast<ShapedType>(op.getLogits().getType()).getShape().back();
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
  auto loss = graph::CrossEntropyLossOp::create(builder, loc, types, maximum, sum, target, operands[1],
                                                op.getIgnoreIndexAttr());
  return SmallVector<Value>(loss->getResults());
}

SmallVector<Value> emitLocalOp(OpBuilder &builder, Operation *op, const FactorMap &map, const Placement &placement,
                               ArrayRef<Value> operands, ArrayRef<Type> types) {
  if (auto loss = dyn_cast<graph::CrossEntropyOp>(op))
    return emitCrossEntropy(builder, loss, map, placement, operands, types);
  if (auto results = emitBatchStatistics(builder, op, map, placement, operands, types))
    return *results;
  if (auto results = emitAttentionParts(builder, op, map, placement, operands, types))
    return *results;
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  Operation *local = builder.clone(*op, mapping);
  for (auto [result, type] : llvm::zip_equal(local->getResults(), types))
    result.setType(type);
  // Its factors are those of the whole op; nobody reads the map any more.
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
