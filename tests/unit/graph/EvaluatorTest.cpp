//===- EvaluatorTest.cpp - Whole steps against the loss they come from
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Evaluator.h"
#include "dialects/AllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Passes.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {

/// Two uses of one state, a residual, a norm, a product with itself, and a loss.
const char *model = R"(
graph.state @table : tensor<5x4xf64> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "table", saved_shape = array<i64: 5, 4>, init = #graph.init<normal, 0.0, 1.0>}
graph.state @scale : tensor<4xf64> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "scale", saved_shape = array<i64: 4>, init = #graph.init<constant, 1.5>}
graph.state @w : tensor<4x4xf64> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 1.0>}
func.func @loss(%ids: tensor<2x3xi64>, %labels: tensor<2x3xi64>) -> (tensor<f64>, tensor<f64>) {
  %table = graph.read @table : tensor<5x4xf64>
  %again = graph.read @table : tensor<5x4xf64>
  %scale = graph.read @scale : tensor<4xf64>
  %w = graph.read @w : tensor<4x4xf64>
  %x = graph.embedding %table, %ids : (tensor<5x4xf64>, tensor<2x3xi64>) -> tensor<2x3x4xf64>
  %n, %r = graph.rms_norm %x, %scale [2] {eps = 0.01} : (tensor<2x3x4xf64>, tensor<4xf64>) -> (tensor<2x3x4xf64>, tensor<2x3xf64>)
  %h = graph.contract "btc,cd->btd" %n, %w : (tensor<2x3x4xf64>, tensor<4x4xf64>) -> tensor<2x3x4xf64>
  %sq = graph.mul %h, %h : (tensor<2x3x4xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %scores = graph.contract "btd,bsd->bts" %h, %h : (tensor<2x3x4xf64>, tensor<2x3x4xf64>) -> tensor<2x3x3xf64>
  %p = graph.softmax %scores [2] : tensor<2x3x3xf64>
  %mixed = graph.contract "bts,bsd->btd" %p, %sq : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %y = graph.add %x, %mixed : (tensor<2x3x4xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %logits = graph.contract "btd,vd->btv" %y, %again : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> tensor<2x3x5xf64>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -1 : i64} : (tensor<2x3x5xf64>, tensor<2x3xi64>) -> (tensor<f64>, tensor<f64>, tensor<2x3xf64>)
  return %sum, %count : tensor<f64>, tensor<f64>
}
)";

class Steps : public testing::Test {
protected:
  Steps() : context(registry()) { context.loadAllAvailableDialects(); }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }
  HostTensor ints(std::vector<int64_t> values) {
    HostTensor tensor({2, 3}, IntegerType::get(&context, 64));
    tensor.ints = std::move(values);
    return tensor;
  }
  SmallVector<HostTensor> batch() { return {ints({0, 3, 3, 1, 4, 2}), ints({3, 3, -1, 4, 2, 0})}; }

  OwningOpRef<ModuleOp> differentiated(Attribute optimizer, double clip) {
    auto module = parseSourceString<ModuleOp>(model, &context);
    (*module)->setAttr("graph.optimizer", optimizer);
    PassManager manager(&context);
    GraphDifferentiateOptions options;
    options.clip = clip;
    manager.addPass(createGraphDifferentiate(options));
    manager.addPass(createGraphVerifyStep());
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return module;
  }
  Attribute sgd(double lr, double momentum = 0) { return SgdAttr::get(&context, lr, momentum, 0.0, 0.0, false); }

  MLIRContext context;
};

TEST_F(Steps, MoveAgainstTheGradientOfTheMean) {
  auto lossModule = parseSourceString<ModuleOp>(model, &context);
  auto loss = lossModule->lookupSymbol<func::FuncOp>("loss");
  const double lr = 0.125;
  auto stepModule = differentiated(sgd(lr), 0);
  Evaluator step(*stepModule), probe(*lossModule);
  ASSERT_TRUE(succeeded(step.initialize()));
  ASSERT_TRUE(succeeded(probe.initialize()));
  auto results = step.run(stepModule->lookupSymbol<func::FuncOp>("step"), batch());
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[1].floats[0], 5);
  auto mean = [&] {
    auto pair = probe.run(loss, batch());
    EXPECT_TRUE(succeeded(pair));
    return (*pair)[0].floats[0] / (*pair)[1].floats[0];
  };
  double square = 0;
  for (const char *name : {"table", "scale", "w"}) {
    for (size_t i = 0; i < probe.states[name].floats.size(); ++i) {
      double &cell = probe.states[name].floats[i], value = cell;
      cell = value + 1e-5;
      double up = mean();
      cell = value - 1e-5;
      double slope = (up - mean()) / 2e-5;
      cell = value;
      EXPECT_NEAR((value - step.states[name].floats[i]) / lr, slope, 1e-6 * std::max(1.0, std::fabs(slope)));
      square += slope * slope;
    }
  }
  EXPECT_NEAR((*results)[2].floats[0], std::sqrt(square), 1e-5 * std::sqrt(square));
}

TEST_F(Steps, ClipScalesTheWholeGradient) {
  auto free = differentiated(sgd(1), 0), clipped = differentiated(sgd(1), 0.25);
  Evaluator a(*free), b(*clipped);
  ASSERT_TRUE(succeeded(a.initialize()));
  ASSERT_TRUE(succeeded(b.initialize()));
  auto start = a.states["w"].floats;
  auto first = a.run(free->lookupSymbol<func::FuncOp>("step"), batch());
  auto second = b.run(clipped->lookupSymbol<func::FuncOp>("step"), batch());
  double norm = (*first)[2].floats[0];
  EXPECT_EQ((*second)[2].floats[0], norm); // reported before clipping
  ASSERT_GT(norm, 0.25);
  for (size_t i = 0; i < start.size(); ++i)
    EXPECT_NEAR(b.states["w"].floats[i] - start[i], (a.states["w"].floats[i] - start[i]) * 0.25 / (norm + 1e-6), 1e-12);
}

TEST_F(Steps, MomentumAndAdamFollowTheirFormulas) {
  // SGD: two steps from known gradients, read off a step of rate 1 without momentum.
  auto plain = differentiated(sgd(1e-9), 0), heavy = differentiated(sgd(1e-9, 0.5), 0);
  Evaluator a(*plain), b(*heavy);
  ASSERT_TRUE(succeeded(a.initialize()));
  ASSERT_TRUE(succeeded(b.initialize()));
  double start = a.states["scale"].floats[1];
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(succeeded(a.run(plain->lookupSymbol<func::FuncOp>("step"), batch())));
    ASSERT_TRUE(succeeded(b.run(heavy->lookupSymbol<func::FuncOp>("step"), batch())));
  }
  double moved = (a.states["scale"].floats[1] - start) / 2; // one step, the rate being tiny
  EXPECT_NEAR((b.states["scale"].floats[1] - start) / moved, 1 + 1.5, 1e-4);

  // AdamW's first step is lr * sign(g), after decay where the state decays.
  auto adam = differentiated(AdamAttr::get(&context, 0.01, 0.9, 0.999, 1e-12, 0.1, true), 0);
  Evaluator c(*adam);
  ASSERT_TRUE(succeeded(c.initialize()));
  auto before = c.states["w"].floats, scale = c.states["scale"].floats;
  ASSERT_TRUE(succeeded(c.run(adam->lookupSymbol<func::FuncOp>("step"), batch())));
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(std::fabs(c.states["w"].floats[i] - before[i] * (1 - 0.01 * 0.1)), 0.01, 1e-8);
  for (size_t i = 0; i < scale.size(); ++i)
    EXPECT_NEAR(std::fabs(c.states["scale"].floats[i] - scale[i]), 0.01, 1e-8);
}

} // namespace
