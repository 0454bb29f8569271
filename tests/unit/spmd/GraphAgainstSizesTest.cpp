//===- GraphAgainstSizesTest.cpp - Prices of a graph and of the same transformer by its sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph pricer knows ops, the cost model of transformers (planner/transformer/Transformer.h) knows
// layers. Of the same model under the same plan on the same devices, run by the same
// software, both must forecast nearly the same: compute, communication by what it serves,
// waits, parameters, state and activations.
//
//===----------------------------------------------------------------------===//

#include "StepFixture.h"
#include "TransformerText.h"
#include "planner/cluster/ClusterFile.h"
#include "planner/model/GraphPricer.h"
#include "planner/transformer/Memory.h"

using namespace dtcc;
using namespace dtcc::spmd;
using plan::Recompute;

namespace {

struct GraphAgainstSizesTest : StepFixture {
  static constexpr int64_t kBatch = 16;

  void make(bool gated) {
    TransformerText text;
    text.batch = kBatch;
    text.sequence = 1024;
    text.heads = 16;
    text.headSize = 64;
    text.ffn = 4096;
    text.vocabulary = 32768;
    text.biases = text.places = false;
    for (int layer = 0; layer < 8; ++layer) {
      text.layers.push_back(TransformerText::Layer::Attention);
      text.layers.push_back(gated ? TransformerText::Layer::Gated : TransformerText::Layer::FeedForward);
    }
    whole = mlir::parseSourceString<mlir::ModuleOp>(text.str(), &context);
    ASSERT_TRUE(whole);
    mlir::PassManager passes(&context);
    passes.addPass(graph::createGraphLowerPrecision());
    passes.addPass(graph::createGraphDifferentiate());
    ASSERT_TRUE(mlir::succeeded(passes.run(*whole)));
    step = whole->lookupSymbol<mlir::func::FuncOp>("step");
    model.layers = 8;
    model.hidden = 1024;
    model.heads = model.kvHeads = 16;
    model.ffn = 4096;
    model.vocabulary = 32768;
    model.sequence = 1024;
    model.tied = true;
    model.gated = gated;
    llvm::Expected<cost::Cluster> cluster = cost::readCluster("8xh100");
    ASSERT_TRUE(bool(cluster));
    machine = cost::Machine::of(*cluster);
  }

  struct Both {
    plan::PlanReport graph;
    cost::StepSeconds sizes;
    /// Elements of parameters that a rank of tp has; bytes of activations.
    double elements = 0, kept = 0;
  };
  Both price(const plan::Parallelism &shape, Recompute recompute = Recompute::None) {
    GraphRequest request;
    request.share = true;
    request.recompute = recompute;
    request.anyMemory = true;
    GraphPricer pricer(step, machine, request);
    plan::ShapeResult found = plan::searchShapes({shape}, pricer, 1);
    EXPECT_EQ(found.plans.size(), 1u) << shape.str();
    Both both;
    if (found.plans.empty())
      return both;
    both.graph = pricer.describe(found.plans[0]);
    plan::Parallelism plan = shape;
    plan.sequenceParallel = shape.sequenceParallel;
    plan.recompute = recompute;
    cost::RunSetting run;
    run.samples = double(kBatch) / double(shape.dp * shape.microbatches);
    run.attention = pricer.facts().software.attention;
    both.sizes = cost::priceStep(
        cost::makeStepProblem(model, plan, run, pricer.facts().software, machine.device, machine.fabric),
        machine.constants);
    both.kept = cost::keptBytes(model, plan, run, pricer.facts().software) * model.layers;
    both.elements = model.parameters() / double(shape.tp);
    return both;
  }

  cost::Transformer model;
  cost::Machine machine;
};

struct Case {
  int64_t dp, tp, pp, microbatches;
  int zero;
  bool sequenceParallel = false;
  Recompute recompute = Recompute::None;
};
constexpr Case kCases[] = {{8, 1, 1, 1, 0},
                           {8, 1, 1, 2, 1},
                           {8, 1, 1, 2, 2},
                           {8, 1, 1, 2, 3},
                           {4, 2, 1, 1, 1},
                           {4, 2, 1, 1, 1, true},
                           {1, 8, 1, 2, 0},
                           {1, 8, 1, 2, 0, true},
                           {4, 1, 2, 4, 1},
                           {2, 2, 2, 8, 1},
                           {8, 1, 1, 1, 1, false, Recompute::Full}};

void expectRatio(double value, double expected, double least, double most, const char *what) {
  EXPECT_GE(value, least * expected) << what;
  EXPECT_LE(value, most * expected) << what;
}

TEST_F(GraphAgainstSizesTest, Agree) {
  for (bool gated : {false, true}) {
    make(gated);
    for (const Case &given : kCases) {
      plan::Parallelism shape;
      shape.dp = given.dp, shape.tp = given.tp, shape.pp = given.pp;
      shape.microbatches = given.microbatches;
      shape.zero = given.zero;
      shape.sequenceParallel = given.sequenceParallel;
      if (given.pp > 1)
        shape.schedule = plan::PipelineKind::OneForwardOneBackward;
      SCOPED_TRACE((gated ? "gated " : "") + shape.str() +
                   " recompute=" + std::string(plan::toString(given.recompute)));
      Both both = price(shape, given.recompute);
      const cost::StepSeconds &graph = both.graph.parts, &sizes = both.sizes;
      // Bytes that kernels between products move are a share of all values by sizes, and op by op by the graph.
      expectRatio(graph.compute, sizes.compute, 0.93, 1.3, "compute");
      expectRatio(graph.recompute, sizes.recompute, 0.9, 1.1, "recompute");
      EXPECT_EQ(graph.host, 0) << "commands are issued ahead";
      EXPECT_EQ(sizes.host, 0) << "by the same software";
      // The two estimates overlap different amounts of communication, because blocks are not layers. Gathers of layers
      // this small take as long as their matrix products.
      EXPECT_NEAR(graph.data, sizes.data, 0.25 * sizes.total()) << "gradients and parameters";
      if (given.pp > 1) {
        // The longest stage decides the time of a pipeline. The estimate by sizes cuts by layers: the stage with the
        // head is by far the longest, and the others wait for it. The estimate of the graph cuts by time, at blocks
        // that are not layers, and simulates the schedule.
        expectRatio(graph.bubble, sizes.bubble, 0.9, 2, "bubble");
        expectRatio(graph.stages, sizes.stages, 0.9, 1.5, "sends");
      }
      // With positions shared out the placement may bring some weights together instead of activations, where that
      // saves more of computing; and of a tp that is asked for, starts of collectives are free to it. What is left of
      // exchanges beside which other work runs differs by more than the whole of them: blocks of the graph are less
      // than layers, and hide no more than each can.
      expectRatio(graph.tensor, sizes.tensor, given.sequenceParallel ? 0.5 : 0.9, given.sequenceParallel ? 4 : 1.4,
                  "tensor communication");
      expectRatio(graph.total(), sizes.total(), 0.93, 1.5, "step");

      const plan::MemoryParts &memory = both.graph.memory;
      if (given.pp == 1 && !given.sequenceParallel) {
        double shares = double(given.dp);
        expectRatio(memory.optimizer, 8 * both.elements / (given.zero >= 1 ? shares : 1), 0.99, 1.01, "optimizer");
        expectRatio(memory.gradients, 4 * both.elements / (given.zero >= 2 ? shares : 1), 0.99, 1.01, "gradients");
        // All values of a gated part are kept, where by sizes what is cheap is made again. Under ZeRO 2 and 3 of the
        // graph what gradients are added up in counts too.
        if (given.recompute == Recompute::None && given.zero < 2)
          expectRatio(memory.activations, both.kept, 0.8, 1.4, "activations");
      }
    }
  }
}

} // namespace
