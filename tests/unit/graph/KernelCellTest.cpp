//===- KernelCellTest.cpp - Kernel bodies against references
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Driven from the list of registered ops: every elementwise op's body is built on
// constants and folded to a number, which must be the reference's.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/graph/Evaluator.h"
#include <cmath>
#include <gtest/gtest.h>
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {

class KernelCell : public testing::Test {
protected:
  KernelCell() : context(registry()) { context.loadAllAvailableDialects(); }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// The cell's value on these operands, or NaN if it does not fold to a number.
  double folded(Operation *op, ArrayRef<HostTensor> operands) {
    OpBuilder builder(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
    builder.setInsertionPointToEnd(module->getBody());
    auto function = func::FuncOp::create(builder, op->getLoc(), "f", builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
    SmallVector<Value> cells;
    for (const HostTensor &operand : operands) {
      TypedAttr attr = operand.isFloat() ? TypedAttr(FloatAttr::get(operand.elementType, operand.floats[0]))
                                         : TypedAttr(IntegerAttr::get(operand.elementType, operand.ints[0]));
      cells.push_back(arith::ConstantOp::create(builder, op->getLoc(), attr));
    }
    Value value = cast<ElementwiseOpInterface>(op).buildCell(builder, op->getLoc(), cells);
    auto end = func::ReturnOp::create(builder, op->getLoc(), value);
    function.setFunctionType(builder.getFunctionType({}, {value.getType()}));
    (void)applyPatternsGreedily(*module, RewritePatternSet(&context));
    Attribute result;
    if (!matchPattern(end.getOperand(0), m_Constant(&result)))
      return NAN;
    if (auto number = dyn_cast<FloatAttr>(result))
      return number.getValueAsDouble();
    llvm::APInt bits = cast<IntegerAttr>(result).getValue();
    return static_cast<double>(bits.getBitWidth() == 1 ? static_cast<int64_t>(bits.getZExtValue())
                                                       : bits.getSExtValue());
  }

  MLIRContext context;
};

/// Ops with attributes or types of their own; %x and %y are the operands.
const std::pair<const char *, const char *> forms[] = {
    {"graph.gelu", "graph.gelu %x {form = #graph<gelu_form exact>} : tensor<f64>"},
    {"graph.gelu", "graph.gelu %x {form = #graph<gelu_form tanh>} : tensor<f64>"},
    {"graph.gelu_grad", "graph.gelu_grad %x, %y {form = #graph<gelu_form exact>} : tensor<f64>"},
    {"graph.gelu_grad", "graph.gelu_grad %x, %y {form = #graph<gelu_form tanh>} : tensor<f64>"},
    {"graph.relu_grad", "graph.relu_grad %x, %y : tensor<f64>"},
    {"graph.silu_grad", "graph.silu_grad %x, %y : tensor<f64>"},
    {"graph.not", "graph.not %p : tensor<i1>"},
    {"graph.not", "graph.not %i : tensor<i64>"},
    {"graph.neg", "graph.neg %x : tensor<f64>"},
    {"graph.neg", "graph.neg %i : tensor<i64>"},
    {"graph.abs", "graph.abs %x : tensor<f64>"},
    {"graph.abs", "graph.abs %i : tensor<i64>"},
    {"graph.sign", "graph.sign %x : tensor<f64>"},
    {"graph.sign", "graph.sign %i : tensor<i64>"},
    {"graph.shift_left", "graph.shift_left %i, %j : (tensor<i64>, tensor<i64>) -> tensor<i64>"},
    {"graph.shift_right", "graph.shift_right %i, %j : (tensor<i64>, tensor<i64>) -> tensor<i64>"},
    {"graph.pow", "graph.pow %x, %y : (tensor<f64>, tensor<f64>) -> tensor<f64>"},
    {"graph.pow", "graph.pow %i, %j : (tensor<i64>, tensor<i64>) -> tensor<i64>"},
    {"graph.pow", "graph.pow %j, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>"},
    {"graph.is_nan", "graph.is_nan %x : (tensor<f64>) -> tensor<i1>"},
    {"graph.compare", "graph.compare lt %x, %y : (tensor<f64>, tensor<f64>) -> tensor<i1>"},
    {"graph.compare", "graph.compare ge %i, %j : (tensor<i64>, tensor<i64>) -> tensor<i1>"},
    {"graph.compare", "graph.compare gt %p, %r : (tensor<i1>, tensor<i1>) -> tensor<i1>"},
    {"graph.select", "graph.select %p, %x, %y : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>"},
    {"graph.cast", "graph.cast %x : (tensor<f64>) -> tensor<i64>"},
    {"graph.cast", "graph.cast %i : (tensor<i64>) -> tensor<f64>"},
    {"graph.cast", "graph.cast %p : (tensor<i1>) -> tensor<i64>"},
    {"graph.cast", "graph.cast %i : (tensor<i64>) -> tensor<i1>"},
    {"graph.cast", "graph.cast %p : (tensor<i1>) -> tensor<f64>"},
};

TEST_F(KernelCell, EqualsTheReference) {
  std::vector<std::pair<std::string, std::string>> tests(std::begin(forms), std::end(forms));
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("graph")) {
    std::string op = name.getStringRef().str();
    if (!name.hasInterface<ElementwiseOpInterface>() ||
        llvm::any_of(forms, [&](auto &form) { return op == form.first; }))
      continue;
    bool bits = op == "graph.and" || op == "graph.or" || op == "graph.xor";
    if (name.hasTrait<OpTrait::OneOperand>()) {
      tests.push_back({op, op + " %x : tensor<f64>"});
      continue;
    }
    if (!bits)
      tests.push_back({op, op + " %x, %y : (tensor<f64>, tensor<f64>) -> tensor<f64>"});
    tests.push_back({op, op + " %i, %j : (tensor<i64>, tensor<i64>) -> tensor<i64>"});
  }
  EXPECT_GT(tests.size(), 40u);
  for (auto &[op, body] : tests) {
    SCOPED_TRACE(body);
    auto module = parseSourceString<ModuleOp>("func.func @f(%x: tensor<f64>, %y: tensor<f64>, %i: tensor<i64>, %j: "
                                              "tensor<i64>, %p: tensor<i1>, %r: tensor<i1>) {\n" +
                                                  body + "\n return\n}",
                                              &context);
    ASSERT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    Operation *tested = &function.front().front();
    const double numbers[][4] = {{1.3, 0.7, 7, 3}, {0.4, 2.1, 5, 2}, {2.2, 1.9, 9, 4}, {1.7, 0.6, 1, 3}};
    for (auto &row : numbers)
      for (double sign : {1.0, -1.0}) {
        bool positive =
            op == "graph.log" || op == "graph.log1p" || op == "graph.sqrt" || op == "graph.rsqrt" || op == "graph.pow";
        SmallVector<HostTensor> operands;
        for (Value operand : tested->getOperands()) {
          unsigned argument = cast<BlockArgument>(operand).getArgNumber();
          HostTensor cell({}, cast<ShapedType>(operand.getType()).getElementType());
          if (cell.isFloat())
            cell.floats[0] = argument == 0 && !positive ? sign * row[0] : row[argument];
          else
            cell.ints[0] = argument >= 4 ? (argument == 4) == (sign > 0) : argument == 2 ? sign * row[2] : row[3];
          operands.push_back(cell);
        }
        auto expected = evaluateOp(tested, operands);
        ASSERT_TRUE(succeeded(expected));
        HostTensor &y = (*expected)[0];
        EXPECT_NEAR(folded(tested, operands), y.isFloat() ? y.floats[0] : static_cast<double>(y.ints[0]), 1e-12);
      }
  }
}

} // namespace
