//===- LocalForms.cpp - How an op on a shard is told its part
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/layout/LocalForms.h"
#include "dialects/graph/PositionOps.h"
#include "dialects/graph/Shapes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace dtcc::spmd {

namespace {
/// How an op on a shard is described by its attributes.
struct LocalForm {
  StringRef op;
  /// Factors of this kind may be split.
  FactorKind kind;
  /// The attribute that names the axes of the one factor. Empty: `set` writes all there is, or the lowering takes the
  /// op apart.
  StringRef attribute;
  void (*set)(Operation *local, Operation *global, const FactorMap &map, const Placement &placement) = nullptr;
};
} // namespace

static ArrayAttr axesOf(Operation *op, const Placement &placement, int64_t factor) {
  return fromAxes(op->getContext(), placement.factors[factor]);
}

/// Random numbers: every dimension counts for the index of a cell.
static void setPlace(Operation *local, Operation *global, const FactorMap &map, const Placement &placement) {
  SmallVector<Attribute> axes;
  for (int64_t factor : map.results[0])
    axes.push_back(factor == kNoFactor ? ArrayAttr::get(local->getContext(), {}) : axesOf(local, placement, factor));
  local->setAttr("offset_axes", ArrayAttr::get(local->getContext(), axes));
  auto shape = cast<ShapedType>(global->getResult(0).getType()).getShape();
  local->setAttr("global_shape", DenseI64ArrayAttr::get(local->getContext(), shape));
}

/// Classes: the last dimension of the logits.
static void setClasses(Operation *local, Operation *global, const FactorMap &, const Placement &) {
  int64_t classes = cast<ShapedType>(global->getOperand(0).getType()).getShape().back();
  local->setAttr("classes", Builder(local->getContext()).getI64IntegerAttr(classes));
}

/// An op has one factor of its row's kind, but for random numbers and batch statistics.
static const LocalForm kForms[] = {
    {"graph.attention", FactorKind::Index, "row_axes"},
    {"graph.attention_grad", FactorKind::Index, "row_axes"},
    {"graph.embedding", FactorKind::Index, "row_axes"},
    {"graph.scatter_add", FactorKind::Index, "row_axes"},
    {"graph.cross_entropy", FactorKind::Decompose, ""},
    {"graph.cross_entropy_grad", FactorKind::Index, "class_axes", setClasses},
    {"graph.cross_entropy_stats", FactorKind::Decompose, ""},
    {"graph.grouped_contract", FactorKind::Index, "group_axes"},
    {"graph.experts", FactorKind::Index, "expert_axes"},
    {"graph.experts_grad", FactorKind::Index, "expert_axes"},
    {"graph.experts_weight_grad", FactorKind::Index, "expert_axes"},
    // Everything that batch statistics are taken over.
    {"graph.batch_norm", FactorKind::Decompose, ""},
    {"graph.batch_norm_grad", FactorKind::Decompose, ""},
    {"graph.running_statistics", FactorKind::Decompose, ""},
    {"graph.group_sum", FactorKind::Decompose, ""},
    {"graph.iota", FactorKind::Index, "offset_axes"},
    {"graph.reorder", FactorKind::Index, "offset_axes"},
    {"graph.dropout", FactorKind::Index, "", setPlace},
    {"graph.uniform", FactorKind::Index, "", setPlace},
};

static const LocalForm *findForm(Operation *op) {
  for (const LocalForm &form : kForms)
    if (op->getName().getStringRef() == form.op)
      return &form;
  return nullptr;
}

bool hasLocalForm(Operation *op, const FactorMap &map, int64_t factor) {
  const LocalForm *form = findForm(op);
  return form && map.factors[factor].kind == form->kind;
}

void setLocalForm(Operation *local, Operation *global, const FactorMap &map, const Placement &placement) {
  const LocalForm *form = findForm(global);
  if (!form)
    return;
  // An attribute is absent where the factor is whole.
  for (auto [number, factor] : llvm::enumerate(map.factors))
    if (ArrayAttr axes = axesOf(local, placement, number);
        factor.kind == form->kind && !form->attribute.empty() && !axes.empty())
      local->setAttr(form->attribute, axes);
  if (form->set)
    form->set(local, global, map, placement);
}

} // namespace dtcc::spmd
