//===- FactorDimensions.cpp - One dimension, one factor
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits and merges are propagated until every tensor stands in its finest
// dimensions; reshapes become relabelings and vanish. Inputs and results keep their
// shapes, states their saved shape; row-major bytes never change.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/FactoredValues.h"
#include "passes/graph/Passes.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHFACTORDIMENSIONS
#include "passes/graph/Passes.h.inc"

namespace {

struct FactorDimensions : impl::GraphFactorDimensionsBase<FactorDimensions> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && !function.getBody().hasOneBlock()) {
        function.emitError("a function of a graph must have one block");
        return signalPassFailure();
      }
    Factoring factoring = analyzeDimensions(module);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        rewrite(function, factoring);
    for (auto state : module.getOps<StateOp>())
      rewrite(state, factoring);
  }

  void rewrite(func::FuncOp function, Factoring &factoring) {
    Block &body = function.front();
    SmallVector<Operation *> ops;
    for (Operation &op : body)
      ops.push_back(&op);
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    FactoredValues values(factoring, builder);
    // Callers know the shapes of arguments and results: those stay, and a reshape stands at the border.
    for (Value argument : body.getArguments())
      values.set(argument, argument);
    for (Operation *op : ops) {
      values.getBuilder().setInsertionPoint(op);
      if (op->hasTrait<OpTrait::IsTerminator>()) {
        for (OpOperand &operand : op->getOpOperands())
          operand.set(values.reshape(values.get(operand.get()), cast<RankedTensorType>(operand.get().getType())));
        continue;
      }
      rewriteFactored(op, values);
    }
    for (Operation *op : llvm::reverse(ops))
      if (!op->hasTrait<OpTrait::IsTerminator>())
        op->erase();
    // Reshapes at the border that nobody needs.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isa<ReshapeOp>(op) && op.use_empty())
        op.erase();
  }

  void rewrite(StateOp state, Factoring &factoring) {
    SmallVector<int64_t> shape;
    for (const auto &list : factoring.states[state.getSymName()])
      for (DimensionClasses::Id leaf : factoring.classes.leaves(list))
        shape.push_back(factoring.classes.size(leaf));
    state.setType(RankedTensorType::get(shape, cast<ShapedType>(state.getType()).getElementType()));
    if (auto value = state.getValue())
      state.setValueAttr(reshapeElements(*value, shape));
  }
};

} // namespace
} // namespace dtcc::graph
