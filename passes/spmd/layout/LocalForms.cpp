//===- LocalForms.cpp - How an op on a shard is told its part
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/layout/LocalForms.h"
#include "dialects/graph/GroupedSpec.h"
#include "dialects/graph/PositionOps.h"
#include "dialects/graph/Shapes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace dtcc::spmd {

namespace {
/// The factors of one op that its attributes can describe, and how to write them.
struct LocalForm {
  StringRef op;
  /// The dimensions whose factors may be split.
  SmallVector<int64_t> (*factors)(Operation *op, const FactorMap &map);
  void (*set)(Operation *local, Operation *global, const FactorMap &map, const Placement &placement);
};
} // namespace

static ArrayAttr axesOf(Operation *op, const Placement &placement, int64_t factor) {
  return fromAxes(op->getContext(), placement.factors[factor]);
}

/// An attribute that is absent where the factor is whole.
static void setAxes(Operation *local, StringRef name, ArrayAttr axes) {
  if (!axes.empty())
    local->setAttr(name, axes);
}

/// Random numbers: every dimension counts for the index of a cell.
static SmallVector<int64_t> everyFactor(Operation *, const FactorMap &map) {
  return SmallVector<int64_t>(map.results[0]);
}
static void setPlace(Operation *local, Operation *global, const FactorMap &map, const Placement &placement) {
  SmallVector<Attribute> axes;
  for (int64_t factor : map.results[0])
    axes.push_back(factor == kNoFactor ? ArrayAttr::get(local->getContext(), {}) : axesOf(local, placement, factor));
  local->setAttr("offset_axes", ArrayAttr::get(local->getContext(), axes));
  auto shape = cast<ShapedType>(global->getResult(0).getType()).getShape();
  local->setAttr("global_shape", DenseI64ArrayAttr::get(local->getContext(), shape));
}

/// Queries of attention: dimension 1 of operand 0.
static SmallVector<int64_t> queryFactor(Operation *, const FactorMap &map) { return {map.operands[0][1]}; }
static void setQueryAxes(Operation *local, Operation *, const FactorMap &map, const Placement &placement) {
  setAxes(local, "row_axes", axesOf(local, placement, map.operands[0][1]));
}

static const LocalForm kForms[] = {
    {"graph.attention", queryFactor, setQueryAxes},
    {"graph.attention_grad", queryFactor, setQueryAxes},
    // Rows of the table: the first dimension of operand 0.
    {"graph.embedding", [](Operation *, const FactorMap &map) { return SmallVector<int64_t>{map.operands[0][0]}; },
     [](Operation *local, Operation *, const FactorMap &map, const Placement &placement) {
       setAxes(local, "row_axes", axesOf(local, placement, map.operands[0][0]));
     }},
    {"graph.scatter_add", [](Operation *, const FactorMap &map) { return SmallVector<int64_t>{map.results[0][0]}; },
     [](Operation *local, Operation *, const FactorMap &map, const Placement &placement) {
       setAxes(local, "row_axes", axesOf(local, placement, map.results[0][0]));
     }},
    // Classes: the last dimension of the logits. The loss itself is decomposed by the lowering.
    {"graph.cross_entropy",
     [](Operation *, const FactorMap &map) { return SmallVector<int64_t>{map.operands[0].back()}; },
     [](Operation *, Operation *, const FactorMap &, const Placement &) {}},
    {"graph.cross_entropy_grad",
     [](Operation *, const FactorMap &map) { return SmallVector<int64_t>{map.operands[0].back()}; },
     [](Operation *local, Operation *global, const FactorMap &map, const Placement &placement) {
       int64_t classes = cast<ShapedType>(global->getOperand(0).getType()).getShape().back();
       local->setAttr("classes", Builder(local->getContext()).getI64IntegerAttr(classes));
       setAxes(local, "class_axes", axesOf(local, placement, map.operands[0].back()));
     }},
    // Groups of rows, experts: the index factor that operand or result names first.
    {"graph.grouped_contract",
     [](Operation *op, const FactorMap &) {
       auto product = cast<graph::GroupedContractOp>(op);
       return SmallVector<int64_t>{graph::GroupedSpec::parse(product.getSpec(), product.getRows()).groupFactor()};
     },
     [](Operation *local, Operation *global, const FactorMap &, const Placement &placement) {
       auto product = cast<graph::GroupedContractOp>(global);
       int64_t group = graph::GroupedSpec::parse(product.getSpec(), product.getRows()).groupFactor();
       setAxes(local, "group_axes", axesOf(local, placement, group));
     }},
    {"graph.experts", [](Operation *, const FactorMap &map) { return SmallVector<int64_t>{map.operands[3][0]}; },
     [](Operation *local, Operation *, const FactorMap &map, const Placement &placement) {
       setAxes(local, "expert_axes", axesOf(local, placement, map.operands[3][0]));
     }},
    {"graph.experts_grad", [](Operation *, const FactorMap &map) { return SmallVector<int64_t>{map.operands[3][0]}; },
     [](Operation *local, Operation *, const FactorMap &map, const Placement &placement) {
       setAxes(local, "expert_axes", axesOf(local, placement, map.operands[3][0]));
     }},
    {"graph.experts_weight_grad",
     [](Operation *, const FactorMap &map) { return SmallVector<int64_t>{map.results[0][0]}; },
     [](Operation *local, Operation *, const FactorMap &map, const Placement &placement) {
       setAxes(local, "expert_axes", axesOf(local, placement, map.results[0][0]));
     }},
    // Everything that batch statistics are taken over. The lowering takes these ops apart.
    {"graph.batch_norm",
     [](Operation *op, const FactorMap &map) {
       return graph::at(map.operands[0], cast<graph::BatchNormOp>(op).getDims());
     },
     [](Operation *, Operation *, const FactorMap &, const Placement &) {}},
    {"graph.batch_norm_grad",
     [](Operation *op, const FactorMap &map) {
       return graph::at(map.operands[1], cast<graph::BatchNormGradOp>(op).getDims());
     },
     [](Operation *, Operation *, const FactorMap &, const Placement &) {}},
    {"graph.running_statistics",
     [](Operation *, const FactorMap &map) { return SmallVector<int64_t>{map.operands[2][0]}; },
     [](Operation *, Operation *, const FactorMap &, const Placement &) {}},
    {"graph.iota",
     [](Operation *op, const FactorMap &map) {
       return SmallVector<int64_t>{map.results[0][cast<graph::IotaOp>(op).getDim()]};
     },
     [](Operation *local, Operation *global, const FactorMap &map, const Placement &placement) {
       setAxes(local, "offset_axes", axesOf(local, placement, map.results[0][cast<graph::IotaOp>(global).getDim()]));
     }},
    // The rows of the result: those of the operand are whole.
    {"graph.reorder",
     [](Operation *op, const FactorMap &map) {
       return SmallVector<int64_t>{map.results[0][cast<graph::ReorderOp>(op).getDim()]};
     },
     [](Operation *local, Operation *global, const FactorMap &map, const Placement &placement) {
       setAxes(local, "offset_axes", axesOf(local, placement, map.results[0][cast<graph::ReorderOp>(global).getDim()]));
     }},
    {"graph.dropout", everyFactor, setPlace},
    {"graph.uniform", everyFactor, setPlace},
};

static const LocalForm *findForm(Operation *op) {
  for (const LocalForm &form : kForms)
    if (op->getName().getStringRef() == form.op)
      return &form;
  return nullptr;
}

bool hasLocalForm(Operation *op, const FactorMap &map, int64_t factor) {
  const LocalForm *form = findForm(op);
  return form && llvm::is_contained(form->factors(op, map), factor);
}

void setLocalForm(Operation *local, Operation *global, const FactorMap &map, const Placement &placement) {
  if (const LocalForm *form = findForm(global))
    form->set(local, global, map, placement);
}

} // namespace dtcc::spmd
