//===- InterfaceTest.cpp - What ops say of states and of sequences
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Driven from the list of registered ops: an op that implements an interface and has no case
// here fails. OpTable is tested on the same ops.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "dialects/graph/Graph.h"
#include "dialects/interfaces/OpTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <set>
#include <string>
#include <tuple>

using namespace mlir;
using namespace dtcc;

namespace {

struct InterfaceTest : testing::Test {
  InterfaceTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(R"(
      graph.state @w : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "w", saved_shape = array<i64: 4>, init = #graph.init<zero>}
      graph.state @v : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "w", saved_shape = array<i64: 4>, init = #graph.init<zero>}
      graph.state @mean : tensor<4xf32> {role = #graph<role buffer>, trainable = false, decay = false, saved_name = "mean", saved_shape = array<i64: 4>, init = #graph.init<zero>}
      func.func @step(%q: tensor<2x5x3x4xf32>, %logits: tensor<2x9xf32>, %labels: tensor<2xi64>) -> tensor<f32> {
        %w = graph.read @w : tensor<4xf32>
        %constant = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
        %sum = graph.add %w, %constant : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        graph.write @mean, %sum : tensor<4xf32>
        %out, %heads = graph.attention %q, %q, %q <causal = true> {scale = 0.5}
            : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x3x5xf32>)
        %dq:3 = graph.attention_grad %q, %q, %q out %out, %heads, %out <causal = true> {scale = 0.5}
            : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x3x5xf32>, tensor<2x5x3x4xf32>)
            -> (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>)
        %loss, %count, %lse = graph.cross_entropy %logits, %labels
            : (tensor<2x9xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>)
        %d = graph.cross_entropy_grad %logits, %labels, %lse {ignore_index = 7 : i64}
            : (tensor<2x9xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x9xf32>
        %norm = graph.update %count, (%sum, %constant) to [@w, @v]
            {optimizer = #graph.sgd<lr = 1.0e-3, momentum = 0.9, dampening = 0.0, weight_decay = 0.0, nesterov = false>}
            : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
        return %norm : tensor<f32>
      })",
                                         &context);
  }

  void SetUp() override { ASSERT_TRUE(module); }

  template <typename OpTy> OpTy the() {
    return *module->lookupSymbol<func::FuncOp>("step").getBody().front().getOps<OpTy>().begin();
  }
  /// The one op of this name, whatever its class.
  Operation *named(StringRef name) {
    for (Operation &op : module->lookupSymbol<func::FuncOp>("step").getBody().front())
      if (op.getName().getStringRef() == name)
        return &op;
    return nullptr;
  }
  template <typename Interface> std::set<std::string> implementers() {
    std::set<std::string> names;
    for (RegisteredOperationName name : context.getRegisteredOperations())
      if (name.hasInterface<Interface>())
        names.insert(name.getStringRef().str());
    return names;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

using Accesses = std::vector<std::tuple<StateAccessKind, std::string, Value>>;

Accesses accessesOf(Operation *op) {
  Accesses all;
  for (const StateAccess &access : stateAccesses(op))
    all.push_back({access.kind, access.state.str(), access.value});
  return all;
}

TEST_F(InterfaceTest, StateAccesses) {
  EXPECT_EQ(implementers<StateAccessOpInterface>(),
            (std::set<std::string>{"graph.read", "graph.update", "graph.write"}));
  Value w = the<graph::ReadOp>().getResult(), sum = named("graph.add")->getResult(0);
  EXPECT_EQ(accessesOf(the<graph::ReadOp>()), (Accesses{{StateAccessKind::Read, "w", w}}));
  EXPECT_EQ(accessesOf(the<graph::WriteOp>()), (Accesses{{StateAccessKind::Write, "mean", sum}}));
  // In the order of the gradients, and each with its own.
  EXPECT_EQ(accessesOf(the<graph::UpdateOp>()),
            (Accesses{{StateAccessKind::Update, "w", sum},
                      {StateAccessKind::Update, "v", named("graph.constant")->getResult(0)}}));
  EXPECT_EQ(accessesOf(named("graph.add")), Accesses());
}

TEST_F(InterfaceTest, QuestionsOfStates) {
  EXPECT_EQ(readState(the<graph::ReadOp>()), "w");
  EXPECT_EQ(readState(the<graph::WriteOp>()), std::nullopt);
  EXPECT_EQ(readState(the<graph::UpdateOp>()), std::nullopt);
  std::set<std::string> stored, ends, writes;
  for (Operation &op : module->lookupSymbol<func::FuncOp>("step").getBody().front()) {
    std::string name = op.getName().getStringRef().str();
    if (isStored(&op))
      stored.insert(name);
    if (endsStep(&op))
      ends.insert(name);
    if (accessesState(&op, StateAccessKind::Write))
      writes.insert(name);
  }
  EXPECT_EQ(stored, (std::set<std::string>{"graph.constant", "graph.read"}));
  EXPECT_EQ(ends, (std::set<std::string>{"func.return", "graph.update"}));
  EXPECT_EQ(writes, (std::set<std::string>{"graph.write"}));
}

TEST_F(InterfaceTest, Sequences) {
  std::set<std::string> attends, labelled;
  for (const std::string &name : implementers<SequenceOpInterface>()) {
    Operation *op = named(name);
    ASSERT_TRUE(op) << name << " has no case";
    auto sequence = cast<SequenceOpInterface>(op);
    if (sequence.attends())
      attends.insert(name);
    if (Value labels = sequence.getLabels()) {
      labelled.insert(name);
      EXPECT_EQ(labels, module->lookupSymbol<func::FuncOp>("step").getArgument(2)) << name;
    }
  }
  EXPECT_EQ(attends, (std::set<std::string>{"graph.attention", "graph.attention_grad"}));
  EXPECT_EQ(labelled, (std::set<std::string>{"graph.cross_entropy", "graph.cross_entropy_grad"}));
}

/// The need of the rows of a loss, from its factor map.
PaddingNeed rowNeed(Operation *op) {
  FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
  return map.factors[map.operands[1][0]].padding;
}

TEST_F(InterfaceTest, PaddedRowsAreIgnored) {
  auto loss = the<graph::CrossEntropyOp>();
  auto grad = the<graph::CrossEntropyGradOp>();
  EXPECT_NE(rowNeed(loss), PaddingNeed::Skipped);
  // A loss without an ignored label gets one; a label that is ignored already stays.
  EXPECT_EQ(cast<SequenceOpInterface>(loss.getOperation()).ignorePadding(), -100);
  EXPECT_EQ(loss.getIgnoreIndex(), -100);
  EXPECT_EQ(cast<SequenceOpInterface>(grad.getOperation()).ignorePadding(), 7);
  EXPECT_EQ(grad.getIgnoreIndex(), 7);
  EXPECT_EQ(rowNeed(loss), PaddingNeed::Skipped);
  EXPECT_EQ(rowNeed(grad), PaddingNeed::Skipped);
  for (StringRef name : {"graph.attention", "graph.attention_grad"})
    EXPECT_EQ(cast<SequenceOpInterface>(named(name)).ignorePadding(), std::nullopt);
}

std::string ofRead(graph::ReadOp op, int number) { return op.getState().str() + std::to_string(number); }
std::string ofWrite(graph::WriteOp op, int number) { return "to " + op.getState().str() + std::to_string(number); }

TEST_F(InterfaceTest, OpTableCallsTheRowOfTheOp) {
  auto table = OpTable<std::string, int>().on(ofRead).on(ofWrite);
  EXPECT_EQ(table(the<graph::ReadOp>(), 3), "w3");
  EXPECT_EQ(table(the<graph::WriteOp>(), 4), "to mean4");
  EXPECT_EQ(table(the<graph::UpdateOp>(), 5), std::nullopt);
  EXPECT_TRUE(table.contains(the<graph::WriteOp>()));
  EXPECT_FALSE(table.contains(the<graph::UpdateOp>()));
}

} // namespace
