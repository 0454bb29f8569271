//===- NarrowDoubles.cpp - Compute in f32 what a model computes in f64
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs compute in f32, and so do GPUs at a speed that anybody wants. A loss in double
// precision, or targets that NumPy left in it, are no reason to refuse a model: a note says
// that the step computes them in f32. Tables that a frontend has folded, such as angles of
// positions, were computed in f64 and are rounded once.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/Passes.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHNARROWDOUBLES
#include "passes/graph/Passes.h.inc"

namespace {

class Narrowing {
public:
  explicit Narrowing(func::FuncOp function)
      : function(function), single(Float32Type::get(function.getContext())), builder(function.getContext()) {}

  void run() {
    for (BlockArgument argument : function.getArguments())
      narrow(argument);
    for (Operation &op : llvm::make_early_inc_range(function.front()))
      visit(&op);
    function.setType(builder.getFunctionType(function.front().getArgumentTypes(),
                                             function.front().getTerminator()->getOperandTypes()));
  }

private:
  static bool isDouble(Value value) { return elementOf(value).isF64(); }

  void narrow(Value value) {
    if (isDouble(value))
      value.setType(cast<ShapedType>(value.getType()).clone(single));
  }

  void visit(Operation *op) {
    bool computes = !isa<ConstantOp>(op) && llvm::any_of(op->getResults(), isDouble);
    if (auto constant = dyn_cast<ConstantOp>(op); constant && isDouble(constant.getY()))
      if (auto cells = dyn_cast<DenseFPElementsAttr>(constant.getValue()))
        constant.setValueAttr(cells.mapValues(single, [](const APFloat &cell) {
          APFloat rounded = cell;
          bool loses;
          rounded.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &loses);
          return rounded.bitcastToAPInt();
        }));
    for (Value result : op->getResults())
      narrow(result);
    if (computes && !std::exchange(told, true))
      emitRemark(op->getLoc()) << "computes in double precision, which the step does in single (f32)";
    if (auto nothing = dyn_cast<CastOp>(op); nothing && nothing.getX().getType() == nothing.getY().getType()) {
      nothing.getY().replaceAllUsesWith(nothing.getX());
      nothing.erase();
    }
  }

  func::FuncOp function;
  Type single;
  OpBuilder builder;
  bool told = false;
};

struct NarrowDoubles : impl::GraphNarrowDoublesBase<NarrowDoubles> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp function = findLoss(module);
    if (!function)
      return signalPassFailure();
    // States in f64 hold more digits than a step in f32 could update.
    for (auto state : module.getOps<StateOp>())
      if (cast<ShapedType>(state.getType()).getElementType().isF64())
        return;
    Narrowing(function).run();
  }
};

} // namespace
} // namespace dtcc::graph
