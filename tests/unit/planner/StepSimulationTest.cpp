//===- StepSimulationTest.cpp - Simulated steps against closed formulas
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/StepSimulation.h"
#include "planner/transformer/Transformer.h"
#include "gtest/gtest.h"
#include <random>

using namespace dtcc;
using namespace dtcc::plan;

namespace {

Schedule scheduleNamed(llvm::StringRef name, int64_t ranks, int64_t microbatches) {
  llvm::Expected<Schedule> schedule = makeSchedule(name, ranks, microbatches);
  EXPECT_TRUE(bool(schedule)) << llvm::toString(schedule.takeError());
  return *schedule;
}

/// Equal stages of `parts` on `ranks`, nothing to send.
SimulatedStep equalStages(int64_t ranks, int64_t chunks, SimulatedUnit unit) {
  SimulatedStep step;
  step.stages.assign(size_t(ranks * chunks), {unit});
  step.ends.resize(size_t(ranks));
  return step;
}

double secondsOf(const SimulatedStep &step, const Schedule &schedule) {
  EXPECT_EQ(step.check(schedule), "");
  return simulate(step, schedule).seconds;
}

/// A rank takes m (F + B + W) and the bubble.
TEST(StepSimulation, BubblesAreThoseOfTheFormulas) {
  using cost::PipelineKind;
  for (int64_t p : {1, 2, 4, 8})
    for (int64_t rounds : {1, 2, 5}) {
      int64_t m = p * rounds;
      double f = 1, b = 1.3, w = 0.9, all = f + b + w;
      for (const char *name : {"gpipe", "1f1b"})
        EXPECT_NEAR(secondsOf(equalStages(p, 1, {f, b, w}), scheduleNamed(name, p, m)), double(m + p - 1) * all, 1e-9)
            << name << " " << p << " " << m;
      for (int64_t v : {2, 3}) {
        double part = 1 / double(v);
        double seconds = secondsOf(equalStages(p, v, {f * part, b * part, w * part}),
                                   scheduleNamed("interleaved:" + std::to_string(v), p, m));
        EXPECT_NEAR(seconds, double(m) * all + cost::bubbleSeconds(PipelineKind::Interleaved, p, v, f, b, w), 1e-9)
            << p << " " << m << " " << v;
      }
      // ZB-H1 fills the waits of at least as many micro-batches as stages.
      if (m >= 2 * p)
        EXPECT_NEAR(secondsOf(equalStages(p, 1, {1, 1, 1}), scheduleNamed("zero-bubble", p, m)),
                    double(m) * 3 + cost::bubbleSeconds(PipelineKind::ZeroBubble, p, 1, 1, 1, 1), 1e-9)
            << p << " " << m;
    }
}

/// One stage takes twice as long as the others: it begins at 2, waits 1 for the first to come back, and what it ends
/// needs 4 to the first stage. (Sum + (m - 1) max counts its second forward pass twice: 2 more.)
TEST(StepSimulation, UnequalStages) {
  SimulatedStep step = equalStages(4, 1, {1, 1, 1});
  step.stages[2][0] = {2, 2, 2};
  EXPECT_NEAR(secondsOf(step, scheduleNamed("1f1b", 4, 16)), 2 + 1 + 16 * 6 + 4, 1e-9);
}

/// GPipe sends p - 1 messages forward and p - 1 back that nothing hides; two stages of 1F1B wait for
/// both ways of every other micro-batch.
TEST(StepSimulation, MessagesTakeTime) {
  SimulatedStep step = equalStages(4, 1, {1, 1, 1});
  step.boundaries.assign(3, {0.25, SimulatedLink::Network, 0});
  EXPECT_NEAR(secondsOf(step, scheduleNamed("gpipe", 4, 8)), 11 * 3 + 2 * 3 * 0.25, 1e-9);
  SimulatedStep two = equalStages(2, 1, {1, 1, 1});
  two.boundaries.assign(1, {0.25, SimulatedLink::Network, 0});
  EXPECT_NEAR(secondsOf(two, scheduleNamed("1f1b", 2, 8)), 9 * 3 + 8 * 0.25, 1e-9);
}

/// A reduction of 3 seconds beside the last half of a backward pass of 2: 2 are left over.
TEST(StepSimulation, ReductionsRunBesideTheLastBackwardPass) {
  SimulatedStep step = equalStages(1, 1, {1, 1, 1});
  step.ends[0] = {3, 0.5, 1};
  Schedule schedule = scheduleNamed("1f1b", 1, 4);
  EXPECT_NEAR(secondsOf(step, schedule), 12 + 3 + 0.5 + 1, 1e-9);
  step.reduceWindow = 0.5;
  EXPECT_NEAR(secondsOf(step, schedule), 12 + 2 + 0.5 + 1, 1e-9);
  // The reduction uses a part of the window, and the rest of the window hides the gather.
  step.ends[0] = {0.25, 0.5, 1};
  EXPECT_NEAR(secondsOf(step, schedule), 12 + 0.5 + 0.25, 1e-9);
}

/// Each unit takes 1 second forward and its gather 0.5. The first gather is exposed and the others are overlapped.
/// Slower gathers follow each other without a gap.
TEST(StepSimulation, UnitsAreGatheredAhead) {
  SimulatedStep step = equalStages(1, 1, {});
  step.stages[0].assign(4, {1, 1, 1, 0.5, 0.5, 0.25});
  step.ahead = true;
  Schedule schedule = scheduleNamed("1f1b", 1, 1);
  EXPECT_NEAR(secondsOf(step, schedule), 0.5 + 12 + 0.25, 1e-9);
  step.ahead = false;
  EXPECT_NEAR(secondsOf(step, schedule), 12 + 4 * (0.5 + 0.5 + 0.25), 1e-9);
  step.ahead = true;
  step.stages[0].assign(4, {1, 1, 1, 3, 0, 0});
  EXPECT_NEAR(secondsOf(step, schedule), 4 * 3 + 1 + 8, 1e-9);
}

/// A message that moves beside a reduction over the same port takes twice as long.
TEST(StepSimulation, MessagesAndReductionsShareAPort) {
  SimulatedStep step = equalStages(2, 1, {1, 1, 1});
  step.boundaries.assign(1, {1.0});
  step.ends[1] = {4, 0, 0};
  Schedule schedule = scheduleNamed("1f1b", 2, 1);
  // F0, send, F1, B1; then 2 seconds at half speed, and 3 of the reduction are left.
  EXPECT_NEAR(secondsOf(step, schedule), 1 + 1 + 1 + 2 + 2 + 3, 1e-9);
  step.ends[1].reduce = 2;
  EXPECT_NEAR(secondsOf(step, schedule), 1 + 1 + 1 + 2 + 2 + 2, 1e-9);
  step.dataLink = SimulatedLink::Node;
  EXPECT_NEAR(secondsOf(step, schedule), 1 + 1 + 1 + 2 + 1 + 2, 1e-9);
}

/// No step ends before its busiest rank has computed, nor before one micro-batch has been through all stages.
TEST(StepSimulation, NeverBelowTheBounds) {
  std::mt19937 random(3);
  auto draw = [&](double most) { return most * double(random() % 1000) / 1000; };
  for (int round = 0; round < 400; ++round) {
    int64_t p = 1 + int64_t(random() % 5), chunks = random() % 2 ? 1 : 2, m = p * (1 + int64_t(random() % 4));
    const char *names[] = {"1f1b", "gpipe", "zero-bubble"};
    Schedule schedule = scheduleNamed(chunks > 1 ? "interleaved:2" : names[random() % 3], p, m);
    SimulatedStep step;
    step.stages.resize(size_t(p * chunks));
    double through = 0;
    std::vector<double> busy(static_cast<size_t>(p));
    for (size_t stage = 0; stage < step.stages.size(); ++stage)
      for (size_t i = 1 + random() % 3; i-- > 0;) {
        SimulatedUnit unit{draw(2), draw(2), draw(2), draw(1), draw(1), draw(1)};
        step.stages[stage].push_back(unit);
        through += unit.forward + unit.inputGradient;
        busy[stage % size_t(p)] += double(m) * (unit.forward + unit.backward());
      }
    for (int64_t rank = 0; rank < p; ++rank)
      step.ends.push_back({draw(4), draw(1), draw(2)});
    for (size_t stage = 0; stage + 1 < step.stages.size(); ++stage) {
      step.boundaries.push_back({draw(0.5), random() % 2 ? SimulatedLink::Node : SimulatedLink::Network, draw(1)});
      through += p > 1 ? 2 * step.boundaries.back().seconds : 0;
    }
    step.sendBlocks = draw(1);
    step.reduceWindow = draw(1);
    step.ahead = random() % 2;
    step.contended = draw(0.2);
    step.hostSeconds = draw(1);
    step.portSharers = 1 + int64_t(random() % 3);
    through += step.hostSeconds;
    ASSERT_EQ(step.check(schedule), "") << round;
    cost::StepTimeline timeline = simulate(step, schedule, /*record=*/true);
    EXPECT_GE(timeline.seconds, through - 1e-9) << round;
    for (int64_t rank = 0; rank < p; ++rank) {
      double least = busy[size_t(rank)] + step.ends[size_t(rank)].update + step.hostSeconds;
      EXPECT_GE(timeline.seconds, least - 1e-9) << round;
      double computes = 0;
      for (const cost::TimelineEvent &event : timeline.events)
        if (event.rank == rank && event.stream == cost::TimelineStream::Compute)
          computes += event.end - event.start;
      EXPECT_GE(computes, least - 1e-6) << round;
    }
    // Nothing overlaps on a stream (the two directions of messages may).
    for (size_t i = 1; i < timeline.events.size(); ++i) {
      const cost::TimelineEvent &before = timeline.events[i - 1], &event = timeline.events[i];
      if (before.rank == event.rank && before.stream == event.stream && event.stream != cost::TimelineStream::Messages)
        EXPECT_GE(event.start, before.end - 1e-9) << round << " " << event.name();
    }
  }
}

cost::StepProblem priced(const plan::Parallelism &plan) {
  std::string error;
  cost::Transformer model = *cost::parseTransformer("gpt3-175b", error);
  const cost::Device &device = *cost::findDevice("a100-80");
  return cost::makeStepProblem(model, plan, {}, cost::softwareOf(cost::Framework::NeMo), device,
                               cost::fabricOf(device));
}

/// The simulation of a priced step is near its price: formulas charge each message to every micro-batch, and each
/// layer's gathers to itself alone.
TEST(StepSimulation, AgreesWithThePriceOfAStep) {
  cost::Constants constants;
  for (int zero : {0, 1, 3})
    for (int64_t pp : {1, 8, 16}) {
      plan::Parallelism plan;
      plan.tp = 8;
      plan.pp = pp;
      plan.dp = 4;
      plan.zero = zero;
      plan.microbatches = 64;
      plan.sequenceParallel = true;
      if (pp > 1)
        plan.schedule = cost::PipelineKind::OneForwardOneBackward;
      cost::StepProblem problem = priced(plan);
      double formula = cost::priceStep(problem, constants).total();
      llvm::Expected<cost::StepTimeline> timeline = simulate(problem, constants);
      ASSERT_TRUE(bool(timeline)) << llvm::toString(timeline.takeError());
      EXPECT_NEAR(timeline->seconds / formula, 1, zero == 3 ? 0.12 : 0.05) << zero << " " << pp;
    }
}

/// Stages that are given layer by layer, as those of graphs are, are stages by counts of layers.
TEST(StepSimulation, GivenStages) {
  cost::Constants constants;
  for (int zero : {1, 3}) {
    plan::Parallelism plan;
    plan.tp = 8;
    plan.pp = 8;
    plan.dp = 4;
    plan.zero = zero;
    plan.microbatches = 16;
    plan.schedule = cost::PipelineKind::OneForwardOneBackward;
    cost::StepProblem problem = priced(plan);
    std::vector<std::vector<size_t>> stages;
    for (const std::vector<cost::StageLayer> &stage : problem.stages) {
      std::vector<size_t> &layers = stages.emplace_back();
      for (const cost::StageLayer &part : stage)
        layers.insert(layers.end(), size_t(part.count), part.layer);
    }
    double counted = simulate(problem, constants)->seconds;
    double given = simulate(simulatedStepOf(problem, stages, constants), plan)->seconds;
    // With units the embedding and the head are some of their own.
    EXPECT_NEAR(given / counted, 1, zero == 3 ? 0.01 : 1e-9);
    std::swap(stages.front(), stages.back());
    stages.front().push_back(stages.front().back());
    EXPECT_GT(simulate(simulatedStepOf(problem, stages, constants), plan)->seconds, counted);
  }
}

/// Many micro-batches are simulated in part: as a whole they take as long.
TEST(StepSimulation, PartsStandForTheWhole) {
  cost::Constants constants;
  for (auto [kind, chunks] :
       {std::pair{cost::PipelineKind::OneForwardOneBackward, 1}, std::pair{cost::PipelineKind::Interleaved, 3},
        std::pair{cost::PipelineKind::ZeroBubble, 1}}) {
    plan::Parallelism plan;
    plan.tp = 8;
    plan.pp = 16;
    plan.virtualStages = chunks;
    plan.microbatches = 1024;
    plan.schedule = kind;
    cost::StepProblem problem = priced(plan);
    double part = simulate(problem, constants)->seconds;
    llvm::Expected<Schedule> schedule = scheduleOf(plan);
    double whole = simulate(simulatedStepOf(problem, constants), *schedule).seconds;
    EXPECT_NEAR(part / whole, 1, 1e-6) << chunks;
  }
}

TEST(StepSimulation, NamesItsEvents) {
  SimulatedStep step = equalStages(2, 1, {1, 1, 1});
  step.boundaries.assign(1, {1.0});
  step.ends[0] = {1, 1, 1};
  cost::StepTimeline timeline = simulate(step, scheduleNamed("1f1b", 2, 1), /*record=*/true);
  std::string names;
  for (const cost::TimelineEvent &event : timeline.events)
    names += std::to_string(event.rank) + ":" + event.name() + " ";
  EXPECT_EQ(names, "0:F0 0:B0 0:update 0:reduce 0:gather 0:send F0 1:F0 1:B0 1:send B0 ");
  EXPECT_EQ(cost::toString(timeline.events.front().stream), "compute");
}

TEST(StepSimulation, SaysWhatIsWrong) {
  Schedule schedule = scheduleNamed("1f1b", 2, 2);
  SimulatedStep step = equalStages(2, 1, {1, 1, 1});
  EXPECT_EQ(step.check(schedule), "");
  step.ends.pop_back();
  EXPECT_EQ(step.check(schedule), "a step must end on each of the 2 ranks of its schedule, got: 1");
  step = equalStages(3, 1, {1, 1, 1});
  step.ends.resize(2);
  EXPECT_EQ(step.check(schedule), "a step must have the 2 stages of its schedule, got: 3");
  step = equalStages(2, 1, {1, -1, 1});
  EXPECT_EQ(step.check(schedule), "times of a unit must be finite and not negative");
  step = equalStages(2, 1, {1, 1, 1});
  step.reduceWindow = 2;
  EXPECT_EQ(step.check(schedule), "shares of a step must be 0 to 1");
}

} // namespace
