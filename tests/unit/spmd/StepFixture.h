//===- StepFixture.h - A training step, whole and distributed
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_TESTS_UNIT_SPMD_STEPFIXTURE_H
#define DTCC_TESTS_UNIT_SPMD_STEPFIXTURE_H

#include "dialects/AllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Evaluation.h"
#include "passes/graph/Evaluator.h"
#include "passes/graph/Passes.h"
#include "passes/graph/Recompute.h"
#include "passes/spmd/Passes.h"
#include "passes/spmd/evaluate/StepEvaluator.h"
#include "passes/spmd/layout/ApplyPlan.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <random>

namespace dtcc::spmd {

inline int64_t environment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// Runs a step on whole tensors and by a plan, and compares.
struct StepFixture : testing::Test {
  StepFixture() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// A file of tests/passes/spmd/Inputs; differentiated if it holds @loss.
  void load(const std::string &name) {
    std::string path = std::string(DTCC_SPMD_INPUTS) + "/" + name;
    take(mlir::parseSourceFile<mlir::ModuleOp>(path, &context), path);
  }
  void parse(const std::string &text) { take(mlir::parseSourceString<mlir::ModuleOp>(text, &context), text); }
  void take(mlir::OwningOpRef<mlir::ModuleOp> module, const std::string &source) {
    whole = std::move(module);
    ASSERT_TRUE(whole) << source;
    if (!whole->lookupSymbol("step")) {
      mlir::PassManager passes(&context);
      graph::GraphDifferentiateOptions options;
      options.clip = 1.0;
      passes.addPass(graph::createGraphDifferentiate(options));
      ASSERT_TRUE(mlir::succeeded(passes.run(*whole)));
    }
    step = whole->lookupSymbol<mlir::func::FuncOp>("step");
  }

  /// Random inputs: small integers for tokens and labels (a fifth ignored), numbers for data.
  void makeInputs(int64_t labels) {
    inputs.clear();
    for (mlir::BlockArgument argument : step.getArguments()) {
      auto type = mlir::cast<mlir::ShapedType>(argument.getType());
      HostTensor tensor(type.getShape(), type.getElementType());
      auto role = step.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "graph.role");
      for (double &cell : tensor.floats)
        cell = static_cast<int64_t>(random() % 33) / 8.0 - 2;
      for (int64_t &cell : tensor.ints)
        cell = role.getValue() == "labels" && random() % 5 == 0 ? -100 : random() % labels;
      inputs.push_back(std::move(tensor));
    }
  }

  /// The logits of a row are asked for where no plan splits positions.
  graph::Prediction predictionUnder(const plan::Plan &plan) {
    graph::Prediction prediction = graph::predictionOf(step, graph::findPredictingLoss(step));
    bool isWhole = plan.withoutUnitAxes(plan.sequenceAxes).empty() && prediction == graph::Prediction::Logits;
    return isWhole ? prediction : graph::Prediction::None;
  }

  /// The programs of a plan; null if it does not apply, or, after a failure of the test, if lowering fails.
  mlir::OwningOpRef<mlir::ModuleOp> distribute(const plan::Plan &plan) {
    mlir::OwningOpRef<mlir::ModuleOp> module = whole->clone();
    auto copy = module->lookupSymbol<mlir::func::FuncOp>("step");
    if (mlir::failed(graph::recompute(copy, plan)))
      return {};
    graph::addEvaluation(copy, predictionUnder(plan));
    if (mlir::failed(applyPlan(*module, plan)))
      return {};
    auto run = [&](auto... passes) {
      mlir::PassManager manager(&context);
      (manager.addPass(std::move(passes)), ...);
      return mlir::succeeded(manager.run(*module));
    };
    bool good = run(createSpmdVerify());
    // Tokens cannot be sent to experts over any axes: that is a refusal.
    if (good && !run(createSpmdDispatchExperts()))
      return {};
    SpmdFormUnitsOptions units;
    units.latencyBytes = unitBytes;
    if (good && run(createSpmdFormUnits(units), createSpmdLowerToProgram(), createSpmdPlaceUnits(),
                    createSpmdReserveMessages()))
      return module;
    ADD_FAILURE() << "lowering failed";
    return {};
  }

  /// Three steps by the plan, an evaluation behind each, equal three steps on whole tensors. False if the plan does not
  /// apply.
  bool compare(const plan::Plan &plan, int64_t labels, int steps = 3) {
    mlir::OwningOpRef<mlir::ModuleOp> module = distribute(plan);
    if (!module)
      return false;
    mlir::OwningOpRef<mlir::ModuleOp> both = whole->clone();
    auto withEvaluation = both->lookupSymbol<mlir::func::FuncOp>("step");
    graph::addEvaluation(withEvaluation, predictionUnder(plan));
    graph::Evaluator reference(*both);
    EXPECT_TRUE(mlir::succeeded(reference.initialize()));
    StepEvaluator distributed(*module);
    EXPECT_TRUE(mlir::succeeded(distributed.initialize(reference.states)));
    for (int i = 0; i < steps; ++i) {
      makeInputs(labels);
      llvm::StringMap<HostTensor> named;
      for (auto [n, tensor] : llvm::enumerate(inputs))
        named[step.getArgAttrOfType<mlir::StringAttr>(n, "graph.name").getValue()] = tensor;
      auto expected = reference.run(withEvaluation, inputs);
      auto report = distributed.run(named);
      EXPECT_TRUE(mlir::succeeded(expected) && mlir::succeeded(report));
      if (mlir::failed(expected) || mlir::failed(report))
        return true;
      near(report->lossSum, (*expected)[0].floats[0], "loss");
      near(report->count, (*expected)[1].floats[0], "count");
      near(report->gradNorm, (*expected)[2].floats[0], "gradient norm");
      near(report->evaluatedSum, (*expected)[3].floats[0], "loss of the evaluation");
      near(report->evaluatedCount, (*expected)[4].floats[0], "count of the evaluation");
      // Predictions that padding would falsify are left out.
      for (auto [n, logit] : llvm::enumerate(report->prediction))
        near(logit, (*expected)[5].floats[n], "logit");
      auto states = distributed.states();
      EXPECT_TRUE(mlir::succeeded(states));
      if (mlir::failed(states))
        return true;
      for (auto &entry : reference.states)
        for (size_t c = 0; c < entry.second.floats.size(); ++c)
          near((*states)[entry.first()].floats[c], entry.second.floats[c], entry.first());
    }
    if (testing::Test::HasFailure())
      ADD_FAILURE() << plan.toJson();
    return true;
  }

  static void near(double value, double expected, llvm::StringRef what) {
    EXPECT_NEAR(value, expected, 1e-9 * std::max(1.0, std::abs(expected))) << what.str();
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> whole;
  mlir::func::FuncOp step;
  std::vector<HostTensor> inputs;
  /// Small models: units of few states, many buckets.
  int64_t unitBytes = 16;
  std::mt19937 random{11};
};

} // namespace dtcc::spmd

#endif // DTCC_TESTS_UNIT_SPMD_STEPFIXTURE_H
