//===- RandomPlanTest.cpp - Plans that nobody thought of train the same model
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every seed is a plan: a mesh of up to 8 ranks, axes that split the batch, positions or the
// model in any order, stages cut anywhere under any schedule, factors and partial sums of
// every op, experts over axes of the batch and their tokens gathered or dispatched, heads over
// those of positions, rings, the zig-zag order, padded positions, layouts of states, ZeRO stages as a whole and by
// state, shares over a part of the ranks, micro-batches, recomputation as a whole and by op. A third of the placements
// are not drawn but solved for, as dtcc does, half of these with sequence parallelism; no padding refuses these. A
// third of the models are drawn too: odd heads, groups, vocabularies, widths and lengths. Three steps must equal the
// whole step's: loss, norm, every parameter; by plain gradient descent on odd seeds, whose parameters show every
// gradient. Every eighth program goes on to commands and memory, and must pass the checks there. What a plan cannot do
// is refused by a message; how many are is counted, by what was in the plan.
//
//   DTCC_RANDOM_PLANS=20000 DTCC_RANDOM_SEED=3000 spmd-random-plans    more, or one of them
//   DTCC_RANDOM_REASONS=1                                              says why plans were refused
//
//===----------------------------------------------------------------------===//

#include "StepFixture.h"
#include "TransformerText.h"
#include "compiler/pipeline/Pipelines.h"
#include "dialects/graph/Origin.h"
#include "passes/spmd/layout/Projection.h"
#include "planner/placement/PlaceExperts.h"
#include "planner/placement/SequencePlacement.h"
#include "planner/placement/SolvePlacement.h"
#include <iostream>
#include <set>

using namespace dtcc;
using namespace dtcc::spmd;

namespace {

/// Draws one plan for a differentiated module.
class PlanMaker {
public:
  PlanMaker(mlir::ModuleOp module, mlir::func::FuncOp step, uint64_t seed)
      : module(module), step(step), random(seed * 0x9e3779b97f4a7c15u + 1) {}

  /// Was the placement found by the solver?
  bool solved = false;

  plan::Plan make() {
    for (mlir::Operation &op : step.getBody().front())
      if (std::optional<int64_t> origin = graph::getOrigin(&op); origin && !mlir::isa<graph::UpdateOp>(op))
        lastOrigin = std::max(lastOrigin, *origin);
    makeMesh();
    solved = chance(33) && place();
    plan.zero = pick(4);
    for (const Axes &axes : {plan.batchAxes, plan.sequenceAxes})
      for (const std::string &axis : axes)
        if (!plan.mesh.isTime(axis) && chance(70))
          plan.flatAxes.push_back(axis);
    std::shuffle(plan.flatAxes.begin(), plan.flatAxes.end(), random);
    plan.recompute = static_cast<plan::Recompute>(pick(3));
    bool byOp = chance(30);
    // Some plans split much, some little.
    int64_t often = pick(90) + 10;
    for (mlir::Operation &op : step.getBody().front())
      if (!solved && graph::getOrigin(&op) && graph::getPhase(&op) == graph::Phase::Forward && chance(often))
        placeOp(op, byOp);
    bool byState = chance(30);
    for (auto state : module.getOps<graph::StateOp>())
      if (byState && !solved && chance(50))
        placeState(state);
    return plan;
  }

private:
  int64_t pick(int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); }
  bool chance(int64_t percent) { return pick(100) < percent; }

  /// Sizes whose product with the micro-batches divides a batch of 8, and any for the model.
  void makeMesh() {
    int64_t ranks = 1, parts = 1;
    std::vector<MeshAxis> axes;
    bool sequences = mlir::cast<mlir::ShapedType>(step.getArgument(0).getType()).getRank() == 2 &&
                     step.getNumArguments() > 1 &&
                     step.getArgAttr(0, "graph.role") == mlir::StringAttr::get(step.getContext(), "tokens");
    if (sequences && chance(30)) {
      ranks = chance(90) ? 2 : 4;
      axes.push_back({"c", ranks, false});
      plan.sequenceAxes = {"c"};
    }
    if (int64_t stages = 2 + pick(3); ranks * stages <= 8 && chance(40)) {
      ranks *= stages;
      axes.push_back({"p", stages, false});
    }
    for (int64_t i = 0, count = 1 + pick(3); i < count; ++i) {
      bool batch = chance(50);
      int64_t size = batch ? int64_t(1) << pick(3) : 1 + pick(4);
      if (ranks * size > 8 || (batch && parts * size > 8))
        continue;
      ranks *= size;
      std::string name = (batch ? "b" : "m") + std::to_string(i);
      if (batch && hasExperts() && !plan.mesh.find(kExpertAxis) && !contains(plan.batchAxes, kExpertAxis) && chance(60))
        name = kExpertAxis;
      axes.push_back({name, size, false});
      if (batch) {
        parts *= size;
        plan.batchAxes.push_back(name);
      } else {
        model.push_back(axes.back());
      }
    }
    if (chance(60)) {
      int64_t slots = std::min<int64_t>(8 / parts, int64_t(1) << pick(3));
      plan.mesh.axes.push_back({"mb", slots, true});
      plan.batchAxes.push_back("mb");
    }
    splitPositions();
    plan.mesh.axes.insert(plan.mesh.axes.end(), axes.begin(), axes.end());
    if (!plan.sequenceAxes.empty() && chance(40))
      plan.sequenceOrder = plan::SequenceOrder::ZigZag;
    std::shuffle(plan.batchAxes.begin(), plan.batchAxes.end(), random);
    if (const MeshAxis *axis = plan.mesh.find("p"))
      makePipeline(axis->size);
  }

  /// Stages that begin anywhere.
  void makePipeline(int64_t ranks) {
    static const char *const schedules[] = {"gpipe", "1f1b", "zero-bubble", "interleaved:2"};
    plan::PipelinePlan pipeline;
    pipeline.axis = "p";
    // A small model has not ops enough for all: the axis splits nothing then, or a rank has one stage.
    if (lastOrigin + 1 < ranks)
      return;
    bool twice = lastOrigin + 1 >= 2 * ranks;
    int64_t stages = ranks;
    if (chance(30)) {
      stages *= 1 + pick(twice ? 2 : 1);
      pipeline.actions = makeSchedule(ranks, stages);
    } else {
      pipeline.schedule = schedules[pick(plan.mesh.slots() % ranks || !twice ? 3 : 4)];
      stages *= *plan::stagesPerRank(pipeline.schedule);
    }
    std::set<int64_t> cuts;
    while (int64_t(cuts.size()) + 1 < stages)
      cuts.insert(1 + pick(lastOrigin));
    pipeline.cuts.assign(cuts.begin(), cuts.end());
    plan.pipeline = pipeline;
  }

  /// Any order that the dependences allow, of stages that lie anywhere, some with weight gradients apart. Some wait for
  /// each other for ever, and are refused.
  plan::Schedule makeSchedule(int64_t ranks, int64_t stages) {
    using plan::Work;
    std::vector<int64_t> homes(stages);
    for (int64_t stage = 0; stage < stages; ++stage)
      homes[stage] = stage % ranks;
    std::shuffle(homes.begin(), homes.end(), random);
    struct Line {
      Work work;
      int64_t stage, done = 0;
    };
    std::vector<Line> lines; // one micro-batch after the other in each
    for (int64_t stage = 0; stage < stages; ++stage) {
      bool split = chance(40);
      lines.push_back({Work::Forward, stage});
      lines.push_back({split ? Work::InputGradient : Work::Backward, stage});
      if (split)
        lines.push_back({Work::WeightGradient, stage});
    }
    auto done = [&](int64_t stage, bool forward) {
      for (const Line &line : lines)
        if (line.stage == stage && line.work != Work::WeightGradient && (line.work == Work::Forward) == forward)
          return line.done;
      return plan.mesh.slots();
    };
    auto ready = [&](const Line &line) {
      if (line.done == plan.mesh.slots())
        return false;
      if (line.work == Work::Forward)
        return line.stage == 0 || done(line.stage - 1, true) > line.done;
      if (line.work == Work::WeightGradient)
        return done(line.stage, false) > line.done;
      return done(line.stage, true) > line.done && done(line.stage + 1, false) > line.done;
    };
    plan::Schedule schedule;
    schedule.ranks.resize(ranks);
    for (std::vector<Line *> able;; able.clear()) {
      for (Line &line : lines)
        if (ready(line))
          able.push_back(&line);
      if (able.empty())
        return schedule;
      Line &next = *able[pick(able.size())];
      schedule.ranks[homes[next.stage]].push_back({next.work, next.stage, next.done++});
    }
  }

  bool hasExperts() { return !step.getOps<graph::ExpertsOp>().empty(); }

  /// Places ops, states, experts and positions as dtcc does for a mesh, stages apart. False if there is no placement.
  bool place() {
    plan::Plan stage = plan;
    stage.pipeline.reset();
    std::erase_if(stage.mesh.axes, [](const MeshAxis &axis) { return axis.name == "p"; });
    stage.sequenceParallel = chance(50);
    cost::Machine machine = cost::Machine::cpu(stage.mesh.ranks(), 2, 0);
    auto exchange = static_cast<SequenceExchange>(pick(4));
    if (mlir::failed(solvePlacement(module, stage, machine, /*share=*/true)) ||
        mlir::failed(placeExperts(step, stage, machine, static_cast<ExpertExchange>(pick(3)))) ||
        mlir::failed(placeSequence(module, stage, machine, exchange)))
      return false;
    plan.ops = stage.ops;
    plan.states = stage.states;
    plan.sequenceParallel = stage.sequenceParallel;
    return true;
  }

  /// Gives a model axis to positions alone; of 4 of them 3 ranks pad some, of 7 all.
  void splitPositions() {
    bool tokens = step.getArgAttrOfType<mlir::StringAttr>(0, "graph.role").getValue() == "tokens";
    auto axis = llvm::find_if(model, [](const MeshAxis &axis) { return axis.size > 1; });
    if (!tokens || axis == model.end() || chance(50))
      return;
    plan.sequenceAxes = {axis->name};
    model.erase(axis);
  }

  void placeOp(mlir::Operation &op, bool recompute) {
    auto factored = mlir::dyn_cast<FactorOpInterface>(op);
    if (!factored)
      return;
    FactorMap map = factored.getFactorMap();
    plan::OpPlan entry{*graph::getOrigin(&op), op.getName().getStringRef().str(), {}, {}, {}, {}};
    // Heads over the ranks of positions, experts over those of samples.
    bool experts = mlir::isa<graph::ExpertsOp>(op);
    for (const std::string &name : experts ? plan.batchAxes : plan.sequenceAxes)
      if (!plan.mesh.isTime(name) && chance(50) && (experts || mlir::isa<graph::AttentionOp>(op)))
        entry.factors[experts ? map.operands[3][0] : 2].push_back(name);
    for (const MeshAxis &axis : model) {
      int64_t count = map.factors.size(), factor = pick(count + 1);
      if (factor < count && !whyNotAssignable(&op, map, factor)) {
        int64_t size = map.factors[factor].size, split = axis.size;
        for (const std::string &other : entry.factors[factor])
          split *= plan.mesh.find(other)->size;
        // Heads, vocabulary and hidden units may be padded; a plan that pads others is refused.
        if (size == 13 || size == 3 || size == 10 || (size == 7 && chance(20)) || (size < 8 && size % split == 0))
          entry.factors[factor].push_back(axis.name);
        if (entry.factors[factor].empty())
          entry.factors.erase(factor);
      } else if (!map.linear.empty() && chance(30)) {
        entry.partial = entry.partial.value_or(Axes());
        entry.partial->push_back(axis.name);
      }
    }
    if (!map.linear.empty() && !entry.partial && chance(20))
      entry.partial = Axes();
    if (mlir::isa<graph::AttentionOp>(op) && chance(50))
      entry.ring = true;
    if (experts && chance(50))
      entry.dispatch = true;
    if (recompute && chance(20))
      entry.recompute = chance(50);
    plan.ops.push_back(entry);
  }

  void placeState(graph::StateOp state) {
    plan::StatePlan entry{state.getSymName().str(), std::nullopt, std::nullopt};
    if (chance(50))
      entry.zero = pick(4);
    auto shape = mlir::cast<mlir::ShapedType>(state.getType()).getShape();
    if (chance(40)) {
      entry.layout.emplace(shape.size());
      for (const MeshAxis &axis : model)
        if (size_t dim = pick(shape.size() + 1);
            dim < shape.size() && shape[dim] % axis.size == 0 && (*entry.layout)[dim].empty() && axis.size > 1)
          (*entry.layout)[dim].push_back(axis.name);
    }
    plan.states.push_back(entry);
  }

  mlir::ModuleOp module;
  mlir::func::FuncOp step;
  std::mt19937_64 random;
  plan::Plan plan;
  std::vector<MeshAxis> model;
  int64_t lastOrigin = 1;
};

struct RandomPlanTest : StepFixture {
  /// One or two layers of sizes that seldom divide.
  TransformerText drawModel() {
    auto pick = [&](int64_t least, int64_t most) { return least + int64_t(random() % uint64_t(most - least + 1)); };
    TransformerText text;
    text.sequence = pick(2, 7);
    text.heads = pick(1, 5);
    text.groups = pick(1, 3);
    text.headSize = pick(2, 3);
    text.ffn = pick(3, 11);
    text.vocabulary = pick(3, 13);
    text.biases = pick(0, 1) == 1;
    text.tied = pick(0, 1) == 1;
    text.places = pick(0, 1) == 1;
    for (int64_t count = pick(1, 2); count > 0; --count)
      text.layers.push_back(TransformerText::Layer(pick(0, 4)));
    return text;
  }
  /// From the program of a plan that was compared to commands and memory.
  void lower(const plan::Plan &plan) {
    mlir::OwningOpRef<mlir::ModuleOp> module = distribute(plan);
    mlir::PassManager passes(&context);
    buildExecPipeline(passes, Options());
    if (mlir::failed(passes.run(*module)))
      ADD_FAILURE() << "no exec program: " << said << "\n" << plan.toJson();
  }
  std::string said;
};

TEST_F(RandomPlanTest, TrainTheSameModel) {
  int64_t first = environment("DTCC_RANDOM_SEED", 1), count = environment("DTCC_RANDOM_PLANS", 400), applied = 0;
  mlir::ScopedDiagnosticHandler quiet(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      said += diagnostic.str() + "\n";
    return mlir::success();
  });
  std::map<std::string, std::pair<int64_t, int64_t>> counts; // compared, all
  for (int64_t seed = first; seed < first + count; ++seed) {
    random.seed(seed);
    static const char *const models[] = {"mlp", "experts", "drawn", "gpt", "moe", "drawn"};
    std::string file = models[seed % 6];
    TransformerText drawn = drawModel();
    if (file == "drawn")
      parse(drawn.str());
    else
      load(file + ".mlir");
    if (seed % 2)
      step.walk([&](graph::UpdateOp update) {
        update.setOptimizerAttr(graph::SgdAttr::get(&context, 0.25, 0, 0, 0, false));
      });
    PlanMaker maker(*whole, step, seed);
    plan::Plan plan = maker.make();
    said.clear();
    unitBytes = seed % 3 ? 16 : 1 << 20;
    bool compared = false;
    if (llvm::Error error = plan.check())
      said = llvm::toString(std::move(error)) + "\n";
    else
      compared = compare(plan, file == "drawn" ? drawn.vocabulary : 9);
    if (compared && seed % 8 == 0 && !HasFailure())
      lower(plan);
    EXPECT_FALSE(maker.solved &&
                 (llvm::StringRef(said).contains("padded ") || llvm::StringRef(said).contains("padding")))
        << "a solver pads what it may not";
    EXPECT_TRUE(compared || !said.empty()) << "refused without a reason: " << plan.toJson();
    if (HasFailure())
      FAIL() << said << "again by DTCC_RANDOM_SEED=" << seed << " DTCC_RANDOM_PLANS=1\n" << plan.toJson();
    if (!compared && environment("DTCC_RANDOM_REASONS", 0))
      std::cout << "seed " << seed << ": " << said;
    applied += compared;
    auto note = [&](const std::string &what) {
      counts[what].first += compared;
      ++counts[what].second;
    };
    note(file);
    if (plan.pipeline)
      note(plan.pipeline->schedule.empty() ? "any schedule" : plan.pipeline->schedule);
    if (plan.pipeline && plan.zero > 1)
      note("stages and shares");
    if (maker.solved)
      note(plan.sequenceParallel ? "solved, sequence parallel" : "solved");
    if (!plan.sequenceAxes.empty())
      note(plan.sequenceOrder == plan::SequenceOrder::ZigZag ? "positions, zig-zag" : "positions");
    if (llvm::any_of(plan.ops, [](const plan::OpPlan &op) { return op.ring; }) && !plan.sequenceAxes.empty())
      note("ring");
    if (llvm::any_of(plan.ops, [](const plan::OpPlan &op) { return op.dispatch.value_or(false); }))
      note("dispatch");
  }
  std::cout << applied << " of " << count << " plans compared, the others refused\n";
  for (const auto &[what, number] : counts)
    std::cout << "  " << what << ": " << number.first << " of " << number.second << "\n";
  if (count >= 100)
    EXPECT_GT(applied, count / 2);
}

} // namespace
