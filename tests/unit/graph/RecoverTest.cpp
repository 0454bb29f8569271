//===- RecoverTest.cpp - Recovery changes no value and no gradient
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over the inputs of the lit tests: what is recovered there is evaluated here, before and
// after, in f64.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Evaluator.h"
#include "passes/graph/Passes.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {

const std::string folder = DTCC_TESTS "/passes/graph/";

class Recover : public testing::TestWithParam<const char *> {
protected:
  Recover() : context(registry()) { context.loadAllAvailableDialects(); }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  OwningOpRef<ModuleOp> load(bool recovered, bool step = false) {
    auto module = parseSourceFile<ModuleOp>(folder + GetParam(), &context);
    EXPECT_TRUE(module);
    PassManager manager(&context);
    if (recovered) {
      manager.addPass(createGraphRecoverComposites());
      manager.addPass(createGraphCanonicalize());
    }
    if (step) {
      (*module)->setAttr("graph.optimizer", SgdAttr::get(&context, 0.5, 0.0, 0.0, 0.0, false));
      manager.addPass(createGraphDifferentiate());
      manager.addPass(createGraphVerifyStep());
    }
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return module;
  }

  /// Returns random arguments, which are equal for functions with equal argument types.
  static SmallVector<HostTensor> arguments(func::FuncOp function) {
    std::mt19937 engine(11);
    SmallVector<HostTensor> list;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto shaped = cast<ShapedType>(type);
      HostTensor tensor(shaped.getShape(), shaped.getElementType());
      auto bounds = function.getArgAttrOfType<DenseI64ArrayAttr>(i, "graph.bounds");
      for (double &cell : tensor.floats)
        cell = std::uniform_real_distribution<double>(-1.5, 1.5)(engine);
      for (int64_t &cell : tensor.ints)
        cell = std::uniform_int_distribution<int64_t>(0, bounds ? bounds[1] - 1 : 1)(engine);
      list.push_back(std::move(tensor));
    }
    return list;
  }

  static void expectNear(double before, double after, double tolerance) {
    if (std::isnan(before))
      EXPECT_TRUE(std::isnan(after));
    else
      EXPECT_NEAR(before, after, tolerance * (1 + std::fabs(before)));
  }

  void compare(ModuleOp before, ModuleOp after, StringRef name, int runs, double tolerance) {
    SCOPED_TRACE(name.str());
    Evaluator left(before), right(after);
    ASSERT_TRUE(succeeded(left.initialize()));
    ASSERT_TRUE(succeeded(right.initialize()));
    auto function = before.lookupSymbol<func::FuncOp>(name);
    for (int run = 0; run < runs; ++run) {
      auto a = left.run(function, arguments(function));
      auto b = right.run(after.lookupSymbol<func::FuncOp>(name), arguments(function));
      ASSERT_TRUE(succeeded(a) && succeeded(b));
      for (auto [x, y] : llvm::zip_equal(*a, *b))
        for (auto [cell, other] : llvm::zip_equal(x.floats, y.floats))
          expectNear(cell, other, tolerance);
    }
    for (auto &state : left.states)
      for (auto [cell, other] : llvm::zip_equal(state.second.floats, right.states[state.first()].floats))
        expectNear(cell, other, tolerance);
  }

  MLIRContext context;
};

class RecoverFunctions : public Recover {};
class RecoverModels : public Recover {};

// Constants of the files are rounded to f32: values agree to 1e-6.
TEST_P(RecoverFunctions, KeepTheirValues) {
  auto before = load(false), after = load(true);
  for (auto function : before->getOps<func::FuncOp>())
    compare(*before, *after, function.getName(), 1, 1e-6);
}
INSTANTIATE_TEST_SUITE_P(Lit, RecoverFunctions,
                         testing::Values("recover-activations.mlir", "recover-attention.mlir", "recover-norms.mlir",
                                         "recover-rotary.mlir", "recover-cross-entropy.mlir"));

TEST_P(RecoverModels, TrainTheSame) {
  auto before = load(false, true), after = load(true, true);
  compare(*before, *after, "step", 2, 1e-6);
}
INSTANTIATE_TEST_SUITE_P(Lit, RecoverModels,
                         testing::Values("inputs/gpt2-factored.mlir", "inputs/llama-factored.mlir",
                                         "inputs/bert-factored.mlir", "inputs/vit-factored.mlir"));

} // namespace
