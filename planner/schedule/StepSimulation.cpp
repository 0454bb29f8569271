//===- StepSimulation.cpp - The tasks of a step, from its schedule
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/StepSimulation.h"
#include "planner/schedule/Simulation.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

namespace dtcc::plan {

using cost::TimelineStream;
using cost::TimelineWork;
using Id = cost::Simulation::Id;

static constexpr Id kNone = ~Id(0);

namespace {
/// Builds the tasks of all ranks in the order of their actions.
class StepTasks {
public:
  StepTasks(const SimulatedStep &step, const Schedule &schedule, bool record);
  cost::StepTimeline run();

private:
  struct Rank {
    Id compute, collectives, forward, backward;
    /// Links of the device, out and in.
    Id nodeOut, nodeIn, portOut, portIn;
    /// Event that the next computation also waits for: the sender's part of a message.
    Id blocked = kNone;
    /// The last two computations.
    Id last = kNone, beforeLast = kNone;
    /// A scatter of what `last` computed: the next gather is issued ahead of it.
    cost::TimelineEvent scatter;
    double scatterSeconds = 0;
  };
  struct Label {
    Id task;
    cost::TimelineEvent event;
  };

  Id add(Id stream, double seconds, int64_t rank, TimelineStream kind, TimelineWork work, int64_t stage = -1,
         int64_t microbatch = -1, int64_t unit = -1);
  Id compute(int64_t rank, double seconds, TimelineWork work, const Action &action, int64_t unit);
  Id collective(int64_t rank, double seconds, TimelineWork work, int64_t stage, int64_t microbatch, int64_t unit);
  void addAction(int64_t rank, const Action &action, bool isLastOfStage);
  Id addUnit(int64_t rank, const Action &action, size_t unit, bool isFirstPart, double share);
  void addScatter(Rank &own);
  void addMessage(int64_t rank, const Action &action, Id done);
  void addEnd(int64_t rank);
  Id &message(bool forward, int64_t stage, int64_t microbatch) {
    return messages[size_t((stage * microbatches + microbatch) * 2 + forward)];
  }
  void linkUp(Id task, const Rank &from, const Rank &to, SimulatedLink link, double share);

  const SimulatedStep &step;
  const Schedule &schedule;
  bool record;
  int64_t microbatches;
  cost::Simulation simulation;
  std::vector<Rank> ranks;
  std::vector<int64_t> homes;
  /// The task after which the reduction of each stage may begin.
  std::vector<Id> reducible;
  /// The message that arrives for each receiving stage, micro-batch and direction.
  std::vector<Id> messages;
  std::vector<std::pair<Id, Id>> awaited; // task, place in messages
  std::vector<Label> labels;
};
} // namespace

StepTasks::StepTasks(const SimulatedStep &step, const Schedule &schedule, bool record)
    : step(step), schedule(schedule), record(record), microbatches(schedule.microbatches()),
      homes(step.stages.size(), 0), reducible(step.stages.size(), kNone),
      messages(step.stages.size() * size_t(microbatches) * 2, kNone) {
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Action &action : schedule.ranks[rank])
      homes[size_t(action.stage)] = int64_t(rank);
    Rank each;
    for (Id Rank::*stream : {&Rank::compute, &Rank::collectives, &Rank::forward, &Rank::backward})
      each.*stream = simulation.addStream();
    simulation.slow(each.compute, each.collectives, step.contended);
    each.nodeOut = simulation.addLink();
    each.nodeIn = simulation.addLink();
    bool shares = rank % size_t(step.portSharers) != 0;
    each.portOut = shares ? ranks.back().portOut : simulation.addLink();
    each.portIn = shares ? ranks.back().portIn : simulation.addLink();
    ranks.push_back(each);
  }
}

Id StepTasks::add(Id stream, double seconds, int64_t rank, TimelineStream kind, TimelineWork work, int64_t stage,
                  int64_t microbatch, int64_t unit) {
  Id task = simulation.addTask(stream, seconds);
  if (record && seconds > 0)
    labels.push_back({task, {rank, kind, work, stage, microbatch, unit}});
  return task;
}

void StepTasks::linkUp(Id task, const Rank &from, const Rank &to, SimulatedLink link, double share) {
  bool inside = link == SimulatedLink::Node;
  double part = inside ? share : share / double(step.portSharers);
  if (part <= 0)
    return;
  simulation.use(task, inside ? from.nodeOut : from.portOut, part);
  simulation.use(task, inside ? to.nodeIn : to.portIn, part);
}

Id StepTasks::compute(int64_t rank, double seconds, TimelineWork work, const Action &action, int64_t unit) {
  Rank &own = ranks[size_t(rank)];
  Id task = add(own.compute, seconds, rank, TimelineStream::Compute, work, action.stage, action.microbatch, unit);
  if (own.blocked != kNone)
    simulation.wait(task, own.blocked);
  own.blocked = kNone;
  return task;
}

Id StepTasks::collective(int64_t rank, double seconds, TimelineWork work, int64_t stage, int64_t microbatch,
                         int64_t unit) {
  Rank &own = ranks[size_t(rank)];
  Id task = add(own.collectives, seconds, rank, TimelineStream::Collectives, work, stage, microbatch, unit);
  linkUp(task, own, own, step.dataLink, step.dataShare);
  return task;
}

void StepTasks::addScatter(Rank &own) {
  if (own.scatterSeconds <= 0)
    return;
  const cost::TimelineEvent &event = own.scatter;
  Id task =
      collective(event.rank, own.scatterSeconds, TimelineWork::Scatter, event.stage, event.microbatch, event.unit);
  simulation.wait(task, own.last);
  if (!step.ahead)
    own.blocked = task;
  own.scatterSeconds = 0;
}

/// `share` of one unit of an action; a unit is gathered for its first part. Returns the computation.
Id StepTasks::addUnit(int64_t rank, const Action &action, size_t index, bool isFirstPart, double share) {
  Rank &own = ranks[size_t(rank)];
  const std::vector<SimulatedUnit> &units = step.stages[size_t(action.stage)];
  const SimulatedUnit &unit = units[index];
  int64_t number = units.size() > 1 ? int64_t(index) : -1;
  struct Pass {
    TimelineWork work;
    double seconds, gather, scatter;
  };
  auto passOf = [&]() -> Pass {
    switch (action.work) {
    case Work::Forward:
      return {TimelineWork::Forward, unit.forward, unit.gatherForward, 0};
    case Work::InputGradient:
      return {TimelineWork::InputGradient, unit.inputGradient, unit.gatherBackward, 0};
    case Work::WeightGradient:
      return {TimelineWork::WeightGradient, unit.weightGradient, 0, unit.scatter};
    case Work::Backward:
      return {TimelineWork::Backward, unit.backward(), unit.gatherBackward, unit.scatter};
    }
    return {};
  };
  Pass pass = passOf();
  if (!step.ahead)
    addScatter(own);
  Id gathered = kNone;
  if (pass.gather > 0 && isFirstPart) {
    gathered = collective(rank, pass.gather, TimelineWork::Gather, action.stage, action.microbatch, number);
    // The computation before it may still run if units are gathered ahead.
    if (Id before = step.ahead ? own.beforeLast : own.last; before != kNone)
      simulation.wait(gathered, before);
  }
  addScatter(own);
  Id task = compute(rank, share * pass.seconds, pass.work, action, number);
  if (gathered != kNone)
    simulation.wait(task, gathered);
  own.beforeLast = own.last;
  own.last = task;
  own.scatter = {rank, TimelineStream::Collectives, TimelineWork::Scatter, action.stage, action.microbatch, number};
  own.scatterSeconds = share * pass.scatter;
  return task;
}

void StepTasks::addMessage(int64_t rank, const Action &action, Id done) {
  bool forward = action.work == Work::Forward;
  int64_t to = action.stage + (forward ? 1 : -1);
  if (action.work == Work::WeightGradient || to < 0 || to >= int64_t(step.stages.size()))
    return;
  Rank &own = ranks[size_t(rank)];
  int64_t home = homes[size_t(to)];
  if (home == rank) {
    message(forward, to, action.microbatch) = done;
    return;
  }
  TimelineWork work = forward ? TimelineWork::SendForward : TimelineWork::SendBackward;
  Id stream = forward ? own.forward : own.backward, sent = done;
  const size_t lower = size_t(std::min(action.stage, to));
  const StageBoundary boundary = lower < step.boundaries.size() ? step.boundaries[lower] : StageBoundary();
  for (double part : {step.sendBlocks, 1 - step.sendBlocks}) {
    if (part <= 0)
      continue;
    Id task =
        add(stream, part * boundary.seconds, rank, TimelineStream::Messages, work, action.stage, action.microbatch);
    linkUp(task, own, ranks[size_t(home)], boundary.link, boundary.share);
    simulation.wait(task, sent);
    if (sent == done && step.sendBlocks > 0)
      own.blocked = task;
    sent = task;
  }
  message(forward, to, action.microbatch) = sent;
}

void StepTasks::addAction(int64_t rank, const Action &action, bool isLastOfStage) {
  size_t units = step.stages[size_t(action.stage)].size();
  bool forward = action.work == Work::Forward, reduces = isLastOfStage && step.reduceWindow > 0;
  Rank &own = ranks[size_t(rank)];
  Id &window = reducible[size_t(action.stage)];
  Id first = kNone;
  for (size_t i = 0; i < units; ++i) {
    size_t unit = forward ? i : units - 1 - i;
    // The unit in which the window begins is cut in two.
    double place = reduces && window == kNone ? double(units) * (1 - step.reduceWindow) - double(i) : 1;
    if (place <= 0)
      window = own.last;
    bool cut = place > 0 && place < 1;
    Id task = addUnit(rank, action, unit, /*isFirstPart=*/true, cut ? place : 1);
    first = first == kNone ? task : first;
    if (cut) {
      window = task;
      addUnit(rank, action, unit, /*isFirstPart=*/false, 1 - place);
    }
  }
  int64_t from = action.stage + (forward ? -1 : 1);
  if (action.work != Work::WeightGradient && from >= 0 && from < int64_t(step.stages.size()))
    awaited.push_back({first, Id((action.stage * microbatches + action.microbatch) * 2 + forward)});
  addMessage(rank, action, own.last);
}

void StepTasks::addEnd(int64_t rank) {
  const SimulatedEnd &end = step.ends[size_t(rank)];
  Rank &own = ranks[size_t(rank)];
  std::vector<int64_t> stages;
  double backward = 0;
  for (size_t stage = 0; stage < homes.size(); ++stage)
    if (homes[stage] == rank) {
      stages.push_back(int64_t(stage));
      for (const SimulatedUnit &unit : step.stages[stage])
        backward += unit.backward();
    }
  addScatter(own);
  Id reduced = own.blocked != kNone ? own.blocked : own.last;
  // The stage whose last backward pass is first is reduced first.
  std::sort(stages.begin(), stages.end(), [&](int64_t a, int64_t b) { return reducible[a] < reducible[b]; });
  for (int64_t stage : stages) {
    if (end.reduce <= 0)
      break;
    Id task = collective(rank, end.reduce / double(stages.size()), TimelineWork::Reduce, stage, -1, -1);
    Id ready = step.reduceWindow > 0 ? reducible[size_t(stage)] : own.last;
    simulation.wait(task, ready == kNone ? own.last : ready);
    reduced = task;
  }
  Id update = add(own.compute, end.update, rank, TimelineStream::Compute, TimelineWork::Update);
  simulation.wait(update, reduced);
  // The gather is hidden by the part of the window that the reduction left, and by the next forward pass.
  double hidden = std::max(0.0, step.reduceWindow * backward - end.reduce);
  if (double exposed = end.gather - hidden; exposed > 0)
    simulation.wait(collective(rank, exposed, TimelineWork::Gather, -1, -1, -1), update);
}

cost::StepTimeline StepTasks::run() {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (step.hostSeconds > 0)
      ranks[rank].last =
          add(ranks[rank].compute, step.hostSeconds, int64_t(rank), TimelineStream::Compute, TimelineWork::Host);
    std::vector<size_t> lastOf(step.stages.size(), size_t(-1));
    const std::vector<Action> &actions = schedule.ranks[rank];
    for (size_t i = 0; i < actions.size(); ++i)
      if (actions[i].work != Work::Forward)
        lastOf[size_t(actions[i].stage)] = i;
    for (size_t i = 0; i < actions.size(); ++i)
      addAction(int64_t(rank), actions[i], lastOf[size_t(actions[i].stage)] == i);
    addEnd(int64_t(rank));
  }
  for (auto [task, place] : awaited)
    simulation.wait(task, messages[place]);
  bool ended = simulation.run();
  assert(ended && "check the schedule first");
  (void)ended;
  cost::StepTimeline timeline;
  timeline.ranks = int64_t(ranks.size());
  timeline.seconds = simulation.end() * step.straggling;
  for (Label &label : labels) {
    label.event.start = simulation.start(label.task) * step.straggling;
    label.event.end = simulation.end(label.task) * step.straggling;
    timeline.events.push_back(label.event);
  }
  std::sort(
      timeline.events.begin(), timeline.events.end(), [](const cost::TimelineEvent &a, const cost::TimelineEvent &b) {
        return std::tie(a.rank, a.stream, a.start, a.end, a.work) < std::tie(b.rank, b.stream, b.start, b.end, b.work);
      });
  return timeline;
}

std::string SimulatedStep::check(const Schedule &schedule) const {
  auto isAmount = [](double value) { return value >= 0 && std::isfinite(value); };
  if (ends.size() != schedule.ranks.size())
    return "a step must end on each of the " + std::to_string(schedule.ranks.size()) +
           " ranks of its schedule, got: " + std::to_string(ends.size());
  if (int64_t(stages.size()) != schedule.stages())
    return "a step must have the " + std::to_string(schedule.stages()) +
           " stages of its schedule, got: " + std::to_string(stages.size());
  for (const std::vector<SimulatedUnit> &units : stages) {
    if (units.empty())
      return "a stage must have at least one unit";
    for (const SimulatedUnit &unit : units)
      for (double value : {unit.forward, unit.inputGradient, unit.weightGradient, unit.gatherForward,
                           unit.gatherBackward, unit.scatter})
        if (!isAmount(value))
          return "times of a unit must be finite and not negative";
  }
  for (const SimulatedEnd &end : ends)
    for (double value : {end.reduce, end.update, end.gather})
      if (!isAmount(value))
        return "times of the end of a step must be finite and not negative";
  for (const StageBoundary &boundary : boundaries) {
    if (!isAmount(boundary.seconds))
      return "times of messages must be finite and not negative";
    if (!isAmount(boundary.share) || boundary.share > 1)
      return "shares of links must be 0 to 1";
  }
  for (double value : {hostSeconds, straggling})
    if (!isAmount(value))
      return "times of a step must be finite and not negative";
  for (double share : {sendBlocks, dataShare, reduceWindow, contended})
    if (!isAmount(share) || share > 1)
      return "shares of a step must be 0 to 1";
  return portSharers >= 1 ? "" : "ports must be shared by at least 1 rank";
}

cost::StepTimeline simulate(const SimulatedStep &step, const Schedule &schedule, bool record) {
  assert(step.check(schedule).empty() && "check the step first");
  return StepTasks(step, schedule, record).run();
}

} // namespace dtcc::plan
