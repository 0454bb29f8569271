//===- SentBytesTest.cpp - Reshards as they are priced and as a program makes them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search is as good as its prices: what it counts as sent over tp must be what the lowered
// program of the same plan sends, by kind of collective.
//
//===----------------------------------------------------------------------===//

#include "StepFixture.h"
#include "TransformerText.h"
#include "passes/spmd/program/CollectiveSummary.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/cluster/ClusterFile.h"
#include "planner/model/PriceBlocks.h"
#include "planner/placement/PlaceExperts.h"
#include "planner/placement/SequencePlacement.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <map>
#include <set>

using namespace dtcc;
using namespace dtcc::spmd;

namespace {

using Layer = TransformerText::Layer;

struct Split {
  int64_t dp = 1, tp = 2, slots = 1, zero = 0, cp = 1, ep = 1;
  std::string str() const {
    return "dp=" + std::to_string(dp) + " tp=" + std::to_string(tp) + " mb=" + std::to_string(slots) +
           " zero=" + std::to_string(zero) + " cp=" + std::to_string(cp) + " ep=" + std::to_string(ep);
  }
};

struct SentBytesTest : StepFixture {
  void make(std::vector<Layer> layers, bool tied, bool biases) {
    TransformerText text;
    text.batch = 8;
    text.sequence = 512;
    text.heads = 8;
    text.headSize = 32;
    text.ffn = 1024;
    text.vocabulary = 4096;
    text.tied = tied;
    text.biases = text.places = biases;
    for (int i = 0; i < 3; ++i)
      llvm::append_range(text.layers, layers);
    whole = mlir::parseSourceString<mlir::ModuleOp>(text.str(), &context);
    ASSERT_TRUE(whole);
    mlir::PassManager passes(&context);
    passes.addPass(graph::createGraphLowerPrecision());
    passes.addPass(graph::createGraphDifferentiate());
    ASSERT_TRUE(mlir::succeeded(passes.run(*whole)));
    step = whole->lookupSymbol<mlir::func::FuncOp>("step");
  }

  /// The training step of a model file, as dtcc imports it.
  void import(const std::string &path, const std::string &bind) {
    llvm::SmallString<128> text;
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("step", "mlir", text));
    std::string bindText = "--bind=" + bind;
    std::optional<llvm::StringRef> redirects[] = {std::nullopt, std::nullopt, llvm::StringRef("/dev/null")};
    ASSERT_EQ(llvm::sys::ExecuteAndWait(DTCC_COMPILER, {DTCC_COMPILER, path, bindText, "--emit=graph", "-o", text},
                                        std::nullopt, redirects),
              0)
        << path;
    whole = mlir::parseSourceFile<mlir::ModuleOp>(text, &context);
    llvm::sys::fs::remove(text);
    ASSERT_TRUE(whole);
    step = whole->lookupSymbol<mlir::func::FuncOp>("step");
  }

  /// Bytes by kind, over tp alone.
  static std::map<std::string, double> overTp(llvm::ArrayRef<CollectiveRow> rows) {
    std::map<std::string, double> bytes;
    for (const CollectiveRow &row : rows)
      if (row.axes == Axes{"tp"})
        bytes[row.kind] += double(row.bytes);
    return bytes;
  }

  void check(const Split &split, bool sequenceParallel) {
    SCOPED_TRACE(split.str() + (sequenceParallel ? " sequence-parallel" : ""));
    llvm::Expected<cost::Cluster> cluster = cost::readCluster("8xh100");
    ASSERT_TRUE(bool(cluster));
    cost::Machine machine = cost::Machine::of(*cluster);
    plan::Plan plan = plan::makeDefaultPlan({.dp = split.dp * split.ep,
                                             .tp = split.tp,
                                             .cp = split.cp,
                                             .ep = split.ep,
                                             .microbatches = split.slots,
                                             .zero = int(split.zero),
                                             .sequenceParallel = sequenceParallel});
    PlacementInput input(step);
    ASSERT_TRUE(mlir::succeeded(solvePlacement(input, plan, machine, true)));
    ASSERT_TRUE(mlir::succeeded(placeExperts(step, plan, machine, ExpertExchange::Cheaper)));
    ASSERT_TRUE(mlir::succeeded(placeSequence(input, plan, machine, SequenceExchange::Cheaper)));
    StepValues values(input.blocks);
    BlockTable table(input, values);
    ReshardPrices reshards(plan.mesh, secondsOfMoves(plan.mesh, machine));
    std::map<std::string, double> priced =
        overTp(BlockPrices(table, plan, KernelSizes::of(machine)).collectives(plan, reshards));

    unitBytes = 1 << 20;
    mlir::OwningOpRef<mlir::ModuleOp> module = distribute(plan);
    ASSERT_TRUE(module);
    std::map<std::string, double> sent;
    for (auto program : module->getOps<ProgramOp>())
      sent = overTp(summarizeCollectives(program));
    double all = 0;
    for (auto &[kind, bytes] : sent)
      all += bytes;
    EXPECT_GT(all, 0);
    std::set<std::string> kinds;
    for (auto *each : {&priced, &sent})
      for (auto &[kind, bytes] : *each)
        kinds.insert(kind);
    // Rows of positions that every rank makes, numbers of the gradient norm, and vectors that the loss is summed in are
    // not priced.
    for (const std::string &kind : kinds)
      EXPECT_NEAR(priced[kind], sent[kind], tolerance * all + 256) << kind;
    ++cases;
  }
  double tolerance = 0.005;
  size_t cases = 0;
};

/// However many ranks share the batch out, a rank gathers the positions of its own samples.
TEST_F(SentBytesTest, GathersOfPositionsFallWithTheSamplesOfARank) {
  make({Layer::Attention, Layer::FeedForward}, true, true);
  llvm::Expected<cost::Cluster> cluster = cost::readCluster("2x8xh100");
  ASSERT_TRUE(bool(cluster));
  cost::Machine machine = cost::Machine::of(*cluster).withoutLatency();
  PlacementInput input(step);
  auto secondsOf = [&](int64_t dp) {
    plan::Plan plan = plan::makeDefaultPlan({.dp = dp, .cp = 2});
    mlir::FailureOr<double> seconds = placeSequence(input, plan, machine, SequenceExchange::Gather);
    return mlir::succeeded(seconds) ? *seconds : 0;
  };
  EXPECT_GT(secondsOf(8), 0);
  EXPECT_LT(secondsOf(8), 0.5 * secondsOf(2));
}

TEST_F(SentBytesTest, PricedAsSent) {
  struct Model {
    std::vector<Layer> layers;
    bool tied, biases;
  };
  for (const Model &model :
       {Model{{Layer::Attention, Layer::FeedForward}, true, true},
        Model{{Layer::Attention, Layer::Gated}, false, false}, Model{{Layer::Gated, Layer::Product}, false, true}}) {
    make(model.layers, model.tied, model.biases);
    SCOPED_TRACE(model.tied ? "tied" : model.biases ? "products" : "gated");
    for (int64_t tp : {2, 4})
      for (int64_t dp : {1, 2})
        for (int64_t slots : {1, 2})
          for (bool sequenceParallel : {false, true})
            check({.dp = dp, .tp = tp, .slots = slots}, sequenceParallel);
    for (bool sequenceParallel : {false, true}) {
      for (int64_t zero : {1, 2, 3})
        check({.dp = 2, .slots = 2, .zero = zero}, sequenceParallel);
      check({.cp = 2}, sequenceParallel);
      check({.slots = 2, .zero = 3, .cp = 2}, sequenceParallel);
    }
  }
  EXPECT_EQ(cases, 78u);
}

/// Models as they come from files. They are small: what is not priced weighs more.
TEST_F(SentBytesTest, OfModelFiles) {
  tolerance = 0.02;
  struct Model {
    std::string path, bind;
    bool positions, experts, grouped;
  };
  std::string fixtures = DTCC_FIXTURES, shared = DTCC_SHARED_MODELS;
  for (const Model &model : {Model{fixtures + "/mlp/loss.onnx", "batch=16", false, false, false},
                             Model{fixtures + "/gpt2/loss.onnx", "batch=8,seq=32", true, false, false},
                             Model{shared + "/llama/loss.onnx", "batch=8,seq=32", true, false, true},
                             Model{shared + "/bert/loss.onnx", "batch=8,seq=32", true, false, false},
                             Model{shared + "/mixtral/loss.onnx", "batch=8,seq=32", true, true, true}}) {
    if (!llvm::sys::fs::exists(model.path))
      continue;
    SCOPED_TRACE(model.path);
    import(model.path, model.bind);
    for (bool sequenceParallel : {false, true}) {
      if (sequenceParallel && !model.positions)
        continue;
      check({}, sequenceParallel);
      check({.slots = 2}, sequenceParallel);
      // More ranks than heads of keys pad these; that is not priced.
      check({.tp = model.grouped ? 2 : 4, .slots = 4}, sequenceParallel);
      check({.dp = 2, .slots = 2, .zero = 3}, sequenceParallel);
      // Rows of experts are then gathered over cp and tp at once, and are priced one after the other.
      if (model.positions && !(model.experts && sequenceParallel))
        check({.slots = 2, .zero = 1, .cp = 2}, sequenceParallel);
      if (model.experts && !sequenceParallel)
        check({.slots = 2, .ep = 2}, sequenceParallel);
    }
  }
  EXPECT_GE(cases, 12u);
}

} // namespace
