//===- GradientTest.cpp - Every gradient against central differences
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Driven from the list of registered ops: a differentiable op without a case fails.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/graph/Evaluator.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {

/// One op on arguments drawn from [low, high) or, of integers, from [0, high).
struct Case {
  const char *op;
  const char *arguments;
  const char *body;
  double low = -2, high = 2;
  /// The gradient is 0 everywhere: none may be built.
  bool zero = false;
};

#define UNARY(NAME, ...) {"graph." NAME, "%x: tensor<2x3xf64>", "graph." NAME " %x : tensor<2x3xf64>", ##__VA_ARGS__}
#define BINARY(NAME, ...)                                                                                              \
  {"graph." NAME, "%x: tensor<2x3xf64>, %y: tensor<2x3xf64>",                                                          \
   "graph." NAME " %x, %y : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>", ##__VA_ARGS__}
#define BITS(NAME)                                                                                                     \
  {"graph." NAME,                                                                                                      \
   "%x: tensor<2xi1>, %y: tensor<2xi1>",                                                                               \
   "graph." NAME " %x, %y : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>",                                             \
   -2,                                                                                                                 \
   2,                                                                                                                  \
   true}

const Case cases[] = {
    UNARY("neg"),
    UNARY("abs"),
    UNARY("exp"),
    UNARY("log", 0.5, 2),
    UNARY("log1p", -0.5, 2),
    UNARY("expm1"),
    UNARY("sqrt", 0.5, 2),
    UNARY("rsqrt", 0.5, 2),
    UNARY("sin"),
    UNARY("cos"),
    UNARY("tanh"),
    UNARY("erf"),
    UNARY("logistic"),
    UNARY("floor"),
    UNARY("sign"),
    UNARY("stop_gradient", -2, 2, true),
    UNARY("relu"),
    UNARY("silu"),
    {"graph.gelu", "%x: tensor<2x3xf64>", "graph.gelu %x {form = #graph<gelu_form exact>} : tensor<2x3xf64>"},
    {"graph.gelu", "%x: tensor<2x3xf64>", "graph.gelu %x {form = #graph<gelu_form tanh>} : tensor<2x3xf64>"},
    BINARY("add"),
    BINARY("sub"),
    BINARY("mul"),
    BINARY("div", 0.5, 2),
    BINARY("pow", 0.5, 2),
    BINARY("max"),
    BINARY("min"),
    BINARY("rem", 0.5, 2),
    {"graph.mul", "%x: tensor<2x3xf64>", "graph.mul %x, %x : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>"},
    BITS("and"),
    BITS("or"),
    BITS("xor"),
    BITS("shift_left"),
    BITS("shift_right"),
    {"graph.not", "%x: tensor<2xi1>", "graph.not %x : tensor<2xi1>", -2, 2, true},
    {"graph.is_nan", "%x: tensor<2xf64>", "graph.is_nan %x : (tensor<2xf64>) -> tensor<2xi1>", -2, 2, true},
    {"graph.compare", "%x: tensor<2xf64>, %y: tensor<2xf64>",
     "graph.compare lt %x, %y : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>", -2, 2, true},
    {"graph.select", "%c: tensor<5xi1>, %x: tensor<5xf64>, %y: tensor<5xf64>",
     "graph.select %c, %x, %y : (tensor<5xi1>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>"},
    {"graph.cast", "%x: tensor<5xf64>", "graph.cast %x : (tensor<5xf64>) -> tensor<5xf32>"},
    {"graph.dropout", "%x: tensor<4x5xf64>", "graph.dropout %x {ratio = 0.4, id = 3 : i64} : tensor<4x5xf64>"},
    {"graph.uniform", "%x: tensor<4x5xf64>", "graph.uniform %x {id = 3 : i64} : tensor<4x5xf64>", -2, 2, true},
    {"graph.reshape", "%x: tensor<2x3xf64>", "graph.reshape %x : (tensor<2x3xf64>) -> tensor<6xf64>"},
    {"graph.transpose", "%x: tensor<2x3x4xf64>",
     "graph.transpose %x [2, 0, 1] : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>"},
    {"graph.broadcast", "%x: tensor<3xf64>", "graph.broadcast %x [1] : (tensor<3xf64>) -> tensor<2x3x4xf64>"},
    {"graph.slice", "%x: tensor<2x5xf64>", "graph.slice %x [0, 1] [1, 1] : (tensor<2x5xf64>) -> tensor<2x3xf64>"},
    {"graph.slice", "%x: tensor<2x5xf64>", "graph.slice %x [1, 1] [1, 2] : (tensor<2x5xf64>) -> tensor<1x2xf64>"},
    {"graph.slice", "%x: tensor<8xf64>", "graph.slice %x [1] [3] : (tensor<8xf64>) -> tensor<3xf64>"},
    {"graph.pad", "%x: tensor<2x3xf64>", "graph.pad %x [0, 1] [1, 2] 7.0 : (tensor<2x3xf64>) -> tensor<3x6xf64>"},
    {"graph.concat", "%x: tensor<2x3xf64>, %y: tensor<2x1xf64>",
     "graph.concat %x, %y {dim = 1 : i64} : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x4xf64>"},
    {"graph.stack", "%x: tensor<2x3xf64>, %y: tensor<2x3xf64>",
     "graph.stack %x, %y {dim = 1 : i64} : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x2x3xf64>"},
    {"graph.unstack", "%x: tensor<3x2xf64>",
     "graph.unstack %x {dim = 1 : i64} : (tensor<3x2xf64>) -> (tensor<3xf64>, tensor<3xf64>)"},
    {"graph.gather", "%x: tensor<2x4x3xf64>, %i: tensor<2x2xi64>",
     "graph.gather %x, %i {axis = 1 : i64} : (tensor<2x4x3xf64>, tensor<2x2xi64>) -> tensor<2x2x2x3xf64>"},
    {"graph.contract", "%x: tensor<2x3x4xf64>, %w: tensor<4x5x3xf64>",
     "graph.contract \"btc,cht->bth\" %x, %w : (tensor<2x3x4xf64>, tensor<4x5x3xf64>) -> tensor<2x3x5xf64>"},
    {"graph.reduce", "%x: tensor<2x3x4xf64>", "graph.reduce sum %x [0, 2] : (tensor<2x3x4xf64>) -> tensor<3xf64>"},
    {"graph.reduce", "%x: tensor<2x3x4xf64>", "graph.reduce max %x [1] : (tensor<2x3x4xf64>) -> tensor<2x4xf64>"},
    {"graph.reduce", "%x: tensor<2x3x4xf64>", "graph.reduce min %x [1] : (tensor<2x3x4xf64>) -> tensor<2x4xf64>"},
    {"graph.softmax", "%x: tensor<2x3x4xf64>", "graph.softmax %x [1, 2] : tensor<2x3x4xf64>"},
    {"graph.softmax", "%x: tensor<2x3x4xf64>", "graph.softmax %x [1] {log} : tensor<2x3x4xf64>"},
    {"graph.embedding", "%t: tensor<5x3xf64>, %i: tensor<2x4xi64>",
     "graph.embedding %t, %i : (tensor<5x3xf64>, tensor<2x4xi64>) -> tensor<2x4x3xf64>"},
    {"graph.layer_norm", "%x: tensor<3x2x4xf64>, %s: tensor<2x4xf64>, %b: tensor<2x4xf64>",
     "graph.layer_norm %x, %s, %b [1, 2] {eps = 0.1} : (tensor<3x2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>) -> "
     "(tensor<3x2x4xf64>, tensor<3xf64>, tensor<3xf64>)"},
    {"graph.rms_norm", "%x: tensor<3x2x4xf64>, %s: tensor<4xf64>",
     "graph.rms_norm %x, %s [2] {eps = 0.1} : (tensor<3x2x4xf64>, tensor<4xf64>) -> (tensor<3x2x4xf64>, "
     "tensor<3x2xf64>)"},
    {"graph.batch_norm", "%x: tensor<4x3x2xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>",
     "graph.batch_norm %x, %s, %b [0, 2] {eps = 0.1, groups = 2 : i64} : (tensor<4x3x2xf64>, tensor<3xf64>, "
     "tensor<3xf64>) -> (tensor<4x3x2xf64>, tensor<4x3xf64>, tensor<4x3xf64>)"},
    {"graph.group_sum", "%x: tensor<6x3xf64>",
     "graph.group_sum %x {groups = 2 : i64} : (tensor<6x3xf64>) -> tensor<6x3xf64>"},
    {"graph.convolution", "%x: tensor<2x3x5x4xf64>, %w: tensor<4x3x3x2xf64>",
     "graph.convolution %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, low = array<i64: 1, 1>} : "
     "(tensor<2x3x5x4xf64>, tensor<4x3x3x2xf64>) -> tensor<2x4x3x4xf64>"},
    // Groups, one spatial dimension, and a window that reaches past the end.
    {"graph.convolution", "%x: tensor<2x2x3x5xf64>, %w: tensor<2x2x3x3xf64>",
     "graph.convolution %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>} : "
     "(tensor<2x2x3x5xf64>, tensor<2x2x3x3xf64>) -> tensor<2x2x2x3xf64>"},
    {"graph.max_pool", "%x: tensor<2x5x4xf64>",
     "graph.max_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, low = "
     "array<i64: 1, 1>} : (tensor<2x5x4xf64>) -> tensor<2x3x4xf64>"},
    {"graph.attention", "%q: tensor<2x3x2x4xf64>, %k: tensor<2x5x2x4xf64>, %v: tensor<2x5x2x3xf64>",
     "graph.attention %q, %k, %v <causal = true, offset = 2> {scale = 0.5} : (tensor<2x3x2x4xf64>, "
     "tensor<2x5x2x4xf64>, tensor<2x5x2x3xf64>) -> (tensor<2x3x2x3xf64>, tensor<2x2x3xf64>)"},
    // Grouped heads, a soft cap, and rows that see no key.
    {"graph.attention",
     "%q: tensor<2x4x2x2x3xf64>, %k: tensor<2x4x2x3xf64>, %v: tensor<2x4x2x3xf64>, %m: tensor<2x4xi1>",
     "graph.attention %q, %k, %v mask(%m) <causal = true, offset = -1, window_left = 3, key = true> {scale = 0.5, "
     "softcap = 1.5} : (tensor<2x4x2x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x4xi1>) -> "
     "(tensor<2x4x2x2x3xf64>, tensor<2x2x2x4xf64>)"},
    {"graph.attention",
     "%q: tensor<1x3x1x2xf64>, %k: tensor<1x3x1x2xf64>, %v: tensor<1x3x1x2xf64>, %a: tensor<1x3xi64>, %b: "
     "tensor<1x3xi64>",
     "graph.attention %q, %k, %v mask(%a, %b) <segment = true> {scale = 0.5, empty_row = #graph<empty_row zero>} : "
     "(tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64>, tensor<1x3xi64>, tensor<1x3xi64>) -> "
     "(tensor<1x3x1x2xf64>, tensor<1x1x3xf64>)"},
    // Every cell, in both directions.
    {"graph.recurrence", "%p: tensor<3x2x1x3xf64>, %w: tensor<1x3x3xf64>, %s: tensor<2x3xf64>",
     "graph.recurrence tanh %p, %w, %s : (tensor<3x2x1x3xf64>, tensor<1x3x3xf64>, tensor<2x3xf64>) -> "
     "(tensor<3x2x3xf64>, tensor<3x2x1x3xf64>)"},
    {"graph.recurrence", "%p: tensor<3x2x1x3xf64>, %w: tensor<1x3x3xf64>, %s: tensor<2x3xf64>",
     "graph.recurrence relu %p, %w, %s : (tensor<3x2x1x3xf64>, tensor<1x3x3xf64>, tensor<2x3xf64>) -> "
     "(tensor<3x2x3xf64>, tensor<3x2x1x3xf64>)"},
    {"graph.recurrence", "%p: tensor<3x2x4x3xf64>, %w: tensor<4x3x3xf64>, %s: tensor<2x3xf64>, %o: tensor<2x3xf64>",
     "graph.recurrence lstm %p, %w, %s, %o : (tensor<3x2x4x3xf64>, tensor<4x3x3xf64>, tensor<2x3xf64>, "
     "tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>, tensor<3x2x4x3xf64>)"},
    {"graph.recurrence", "%p: tensor<3x2x4x3xf64>, %w: tensor<4x3x3xf64>, %s: tensor<2x3xf64>, %o: tensor<2x3xf64>",
     "graph.recurrence lstm %p, %w, %s, %o {reverse} : (tensor<3x2x4x3xf64>, tensor<4x3x3xf64>, tensor<2x3xf64>, "
     "tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>, tensor<3x2x4x3xf64>)"},
    {"graph.recurrence", "%p: tensor<3x2x3x3xf64>, %w: tensor<3x3x3xf64>, %s: tensor<2x3xf64>",
     "graph.recurrence gru %p, %w, %s : (tensor<3x2x3x3xf64>, tensor<3x3x3xf64>, tensor<2x3xf64>) -> "
     "(tensor<3x2x3xf64>, tensor<3x2x3x3xf64>)"},
    {"graph.recurrence", "%p: tensor<3x2x3x3xf64>, %w: tensor<3x3x3xf64>, %s: tensor<2x3xf64>",
     "graph.recurrence gru %p, %w, %s {reverse} : (tensor<3x2x3x3xf64>, tensor<3x3x3xf64>, tensor<2x3xf64>) -> "
     "(tensor<3x2x3xf64>, tensor<3x2x3x3xf64>)"},
    {"graph.recurrence", "%p: tensor<3x2x3x3xf64>, %w: tensor<3x3x3xf64>, %s: tensor<2x3xf64>, %o: tensor<3xf64>",
     "graph.recurrence gru_reset_after %p, %w, %s, %o : (tensor<3x2x3x3xf64>, tensor<3x3x3xf64>, tensor<2x3xf64>, "
     "tensor<3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x4x3xf64>)"},
    {"graph.recurrence", "%p: tensor<3x2x3x3xf64>, %w: tensor<3x3x3xf64>, %s: tensor<2x3xf64>, %o: tensor<3xf64>",
     "graph.recurrence gru_reset_after %p, %w, %s, %o {reverse} : (tensor<3x2x3x3xf64>, tensor<3x3x3xf64>, "
     "tensor<2x3xf64>, tensor<3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x4x3xf64>)"},
    {"graph.scatter_add", "%x: tensor<4x2x3xf64>, %i: tensor<4x2xi64>",
     "graph.scatter_add %x, %i : (tensor<4x2x3xf64>, tensor<4x2xi64>) -> tensor<5x3xf64>"},
    {"graph.top_k", "%x: tensor<3x2x5xf64>",
     "graph.top_k %x : (tensor<3x2x5xf64>) -> (tensor<3x2x2xf64>, tensor<3x2x2xi64>)"},
    {"graph.grouped_contract", "%x: tensor<2x3x4xf64>, %w: tensor<5x2x3x4xf64>, %i: tensor<2x3x2xi64>",
     "graph.grouped_contract \"ntc,egfc->ntkgf\" rows \"ntk\" %x, %w, %i : (tensor<2x3x4xf64>, "
     "tensor<5x2x3x4xf64>, tensor<2x3x2xi64>) -> tensor<2x3x2x2x3xf64>"},
    {"graph.experts",
     "%x: tensor<3x4xf64>, %i: tensor<3x2xi64>, %r: tensor<3x2xf64>, %a: tensor<4x2x3x4xf64>, %b: tensor<4x5x3xf64>",
     "graph.experts %x, %i, %r, %a, %b : (tensor<3x4xf64>, tensor<3x2xi64>, tensor<3x2xf64>, tensor<4x2x3x4xf64>, "
     "tensor<4x5x3xf64>) -> (tensor<3x5xf64>, tensor<3x2x2x3xf64>)"},
    {"graph.experts",
     "%x: tensor<3x4xf64>, %i: tensor<3x2xi64>, %r: tensor<3x2xf64>, %a: tensor<4x1x3x4xf64>, %b: tensor<4x5x3xf64>",
     "graph.experts %x, %i, %r, %a, %b {activation = #graph<expert_activation silu>} : (tensor<3x4xf64>, "
     "tensor<3x2xi64>, tensor<3x2xf64>, tensor<4x1x3x4xf64>, tensor<4x5x3xf64>) -> (tensor<3x5xf64>, "
     "tensor<3x2x1x3xf64>)"},
    {"graph.experts",
     "%x: tensor<3x4xf64>, %i: tensor<3x2xi64>, %r: tensor<3x2xf64>, %a: tensor<4x2x3x4xf64>, %b: tensor<4x5x3xf64>",
     "graph.experts %x, %i, %r, %a, %b {activation = #graph<expert_activation gelu>} : (tensor<3x4xf64>, "
     "tensor<3x2xi64>, tensor<3x2xf64>, tensor<4x2x3x4xf64>, tensor<4x5x3xf64>) -> (tensor<3x5xf64>, "
     "tensor<3x2x2x3xf64>)"},
    {"graph.experts",
     "%x: tensor<3x4xf64>, %i: tensor<3x2xi64>, %r: tensor<3x2xf64>, %a: tensor<4x1x3x4xf64>, %b: tensor<4x5x3xf64>",
     "graph.experts %x, %i, %r, %a, %b {activation = #graph<expert_activation gelu_tanh>} : (tensor<3x4xf64>, "
     "tensor<3x2xi64>, tensor<3x2xf64>, tensor<4x1x3x4xf64>, tensor<4x5x3xf64>) -> (tensor<3x5xf64>, "
     "tensor<3x2x1x3xf64>)"},
    {"graph.experts",
     "%x: tensor<3x4xf64>, %i: tensor<3x2xi64>, %r: tensor<3x2xf64>, %a: tensor<4x2x3x4xf64>, %b: tensor<4x5x3xf64>",
     "graph.experts %x, %i, %r, %a, %b {activation = #graph<expert_activation relu>} : (tensor<3x4xf64>, "
     "tensor<3x2xi64>, tensor<3x2xf64>, tensor<4x2x3x4xf64>, tensor<4x5x3xf64>) -> (tensor<3x5xf64>, "
     "tensor<3x2x2x3xf64>)"},
    {"graph.experts",
     "%x: tensor<3x4xf64>, %i: tensor<3x2xi64>, %r: tensor<3x2xf64>, %a: tensor<4x1x3x4xf64>, %b: tensor<4x5x3xf64>",
     "graph.experts %x, %i, %r, %a, %b {activation = #graph<expert_activation relu_squared>} : (tensor<3x4xf64>, "
     "tensor<3x2xi64>, tensor<3x2xf64>, tensor<4x1x3x4xf64>, tensor<4x5x3xf64>) -> (tensor<3x5xf64>, "
     "tensor<3x2x1x3xf64>)"},
    {"graph.experts",
     "%x: tensor<3x4xf64>, %i: tensor<3x2xi64>, %r: tensor<3x2xf64>, %a: tensor<4x2x3x4xf64>, %b: tensor<4x5x3xf64>",
     "graph.experts %x, %i, %r, %a, %b {activation = #graph<expert_activation clamped_swish>} : (tensor<3x4xf64>, "
     "tensor<3x2xi64>, tensor<3x2xf64>, tensor<4x2x3x4xf64>, tensor<4x5x3xf64>) -> (tensor<3x5xf64>, "
     "tensor<3x2x2x3xf64>)"},
    {"graph.cross_entropy", "%l: tensor<2x3x4xf64>, %t: tensor<2x3xi64>",
     "graph.cross_entropy %l, %t {ignore_index = 1 : i64} : (tensor<2x3x4xf64>, tensor<2x3xi64>) -> (tensor<f64>, "
     "tensor<f64>, tensor<2x3xf64>)"},
};

/// The tables of rotary are states of nobody: only x has a gradient, so the case holds
/// them inside.
const char *rotaryBody = "%c = graph.cos %t : tensor<3x2xf64>\n %s = graph.sin %t : tensor<3x2xf64>\n";

/// Results that carry the gradient: statistics do not.
unsigned gradientResults(Operation *op) {
  if (isa<RecurrenceOp>(op))
    return op->getNumResults() - 1;
  return isa<LayerNormOp, RmsNormOp, BatchNormOp, AttentionOp, ExpertsOp, CrossEntropyOp>(op) ? 1 : op->getNumResults();
}

class Gradient : public testing::Test {
protected:
  Gradient() : context(registry()) { context.loadAllAvailableDialects(); }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  HostTensor random(Type type, const Case &test) {
    auto shaped = cast<ShapedType>(type);
    HostTensor tensor(shaped.getShape(), shaped.getElementType());
    for (double &cell : tensor.floats)
      cell = std::uniform_real_distribution<double>(test.low, test.high)(engine);
    for (int64_t &cell : tensor.ints)
      cell = std::uniform_int_distribution<int64_t>(0, shaped.getElementType().isInteger(1) ? 1 : 3)(engine);
    return tensor;
  }

  /// Evaluates the block with values of its arguments; unrounded.
  llvm::DenseMap<Value, HostTensor> evaluate(Block &block, ArrayRef<HostTensor> arguments) {
    llvm::DenseMap<Value, HostTensor> values;
    for (auto [argument, tensor] : llvm::zip_equal(block.getArguments(), arguments))
      values[argument] = tensor;
    for (Operation &op : block) {
      if (op.getName().getStringRef() == "func.return")
        break;
      SmallVector<HostTensor> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.at(operand));
      auto results = evaluateOp(&op, operands);
      EXPECT_TRUE(succeeded(results));
      for (auto [result, tensor] : llvm::zip_equal(op.getResults(), *results))
        values[result] = tensor;
    }
    return values;
  }

  void check(const Case &test, const std::string &prefix = "") {
    SCOPED_TRACE(test.body);
    std::string text = "func.func @f(" + std::string(test.arguments) + ") {\n" + prefix + test.body + "\n return\n}";
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    Block &block = function.front();
    Operation *op = block.getTerminator()->getPrevNode();
    ASSERT_EQ(op->getName().getStringRef(), test.op);
    SmallVector<HostTensor> arguments;
    for (Type type : function.getArgumentTypes())
      arguments.push_back(random(type, test));

    // Seeds of the results, as further arguments.
    unsigned inputs = arguments.size();
    SmallVector<Value> seeds(op->getNumResults());
    for (unsigned i = 0; i < gradientResults(op); ++i) {
      Type type = op->getResult(i).getType();
      if (!isa<FloatType>(cast<ShapedType>(type).getElementType()))
        continue;
      seeds[i] = block.addArgument(type, op->getLoc());
      arguments.push_back(random(type, {"", "", "", -1, 1}));
    }
    SmallVector<bool> wanted;
    for (Value operand : op->getOperands())
      wanted.push_back(isa<FloatType>(cast<ShapedType>(operand.getType()).getElementType()) &&
                       isa<BlockArgument>(operand));
    SmallVector<Value> gradients(op->getNumOperands());
    OpBuilder builder(&context);
    builder.setInsertionPoint(block.getTerminator());
    ASSERT_TRUE(succeeded(cast<DifferentiableOpInterface>(op).buildGradient(builder, seeds, wanted, gradients)));
    function.setFunctionType(FunctionType::get(&context, block.getArgumentTypes(), {}));
    ASSERT_TRUE(succeeded(verify(*module)));
    if (test.zero) {
      for (Value gradient : gradients)
        EXPECT_FALSE(gradient);
      return;
    }
    auto values = evaluate(block, arguments);
    auto objective = [&](ArrayRef<HostTensor> changed) {
      auto perturbed = evaluate(block, changed);
      double total = 0;
      for (unsigned i = 0; i < seeds.size(); ++i)
        if (seeds[i])
          for (int64_t cell = 0; cell < perturbed[seeds[i]].size(); ++cell)
            total += perturbed[seeds[i]].floats[cell] * perturbed[op->getResult(i)].floats[cell];
      return total;
    };
    int compared = 0;
    for (unsigned argument = 0; argument < inputs; ++argument) {
      for (size_t cell = 0; cell < arguments[argument].floats.size(); ++cell) {
        // The gradients of all operands that are this argument add up.
        double analytic = 0;
        bool used = false;
        for (auto [i, operand] : llvm::enumerate(op->getOperands()))
          if (operand == block.getArgument(argument)) {
            ASSERT_TRUE(gradients[i]);
            ASSERT_EQ(gradients[i].getType(), operand.getType());
            analytic += values[gradients[i]].floats[cell];
            used = true;
          }
        if (!used)
          continue;
        const double step = 1e-5;
        SmallVector<HostTensor> up(arguments), down(arguments);
        up[argument].floats[cell] += step;
        down[argument].floats[cell] -= step;
        double numeric = (objective(up) - objective(down)) / (2 * step);
        EXPECT_NEAR(analytic, numeric, 1e-7 * std::max(1.0, std::fabs(numeric))) << "argument " << argument;
        ++compared;
      }
    }
    EXPECT_GT(compared, 0);
  }

  MLIRContext context;
  std::mt19937 engine{20};
};

TEST_F(Gradient, EqualsCentralDifferences) {
  for (const Case &test : cases)
    check(test);
}

TEST_F(Gradient, OfRotary) {
  for (const char *inverse : {"", ", inverse"}) {
    std::string body = "graph.rotary %x, %c, %s [1, 3] {pair = 2 : i64" + std::string(inverse) +
                       "} : (tensor<2x3x2x2xf64>, tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<2x3x2x2xf64>";
    check({"graph.rotary", "%x: tensor<2x3x2x2xf64>, %t: tensor<3x2xf64>", body.c_str()}, rotaryBody);
  }
}

/// No difference tells the gradient of this op, which is another function's: it goes to the path as it is.
TEST_F(Gradient, OfAReplacedGradient) {
  auto module = parseSourceString<ModuleOp>("func.func @f(%v: tensor<2x3xf64>, %p: tensor<2x3xf64>) {\n"
                                            "%y = graph.replace_gradient %v, %p : tensor<2x3xf64>\n return\n}",
                                            &context);
  ASSERT_TRUE(module);
  Block &block = (*module->getOps<func::FuncOp>().begin()).front();
  Operation *op = block.getTerminator()->getPrevNode();
  Value seed = block.addArgument(op->getResult(0).getType(), op->getLoc());
  OpBuilder builder(block.getTerminator());
  SmallVector<Value> gradients(2);
  ASSERT_TRUE(succeeded(cast<DifferentiableOpInterface>(op).buildGradient(builder, seed, {false, true}, gradients)));
  EXPECT_FALSE(gradients[0]);
  EXPECT_EQ(gradients[1], seed);
}

TEST_F(Gradient, OfEveryDifferentiableOpHasACase) {
  llvm::StringSet<llvm::MallocAllocator> covered;
  covered.insert("graph.rotary");
  covered.insert("graph.replace_gradient");
  for (const Case &test : cases)
    covered.insert(test.op);
  int ops = 0;
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("graph")) {
    if (!name.hasInterface<DifferentiableOpInterface>())
      continue;
    ++ops;
    EXPECT_TRUE(covered.contains(name.getStringRef())) << "no gradient case of " << name.getStringRef().str();
  }
  EXPECT_GT(ops, 40);
}

} // namespace
