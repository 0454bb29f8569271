//===- Schedule.cpp - What the stages of a pipeline do, in which order
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/schedule/Schedule.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace dtcc::plan {

std::string Action::str() const { return std::to_string(stage) + static_cast<char>(work) + std::to_string(microbatch); }

int64_t Schedule::stages() const {
  int64_t count = 0;
  for (const auto &actions : ranks)
    for (const Action &action : actions)
      count = std::max(count, action.stage + 1);
  return count;
}

int64_t Schedule::microbatches() const {
  int64_t count = 0;
  for (const auto &actions : ranks)
    for (const Action &action : actions)
      count = std::max(count, action.microbatch + 1);
  return count;
}

std::vector<int64_t> Schedule::homes() const {
  std::vector<int64_t> result(stages(), -1);
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const Action &action : ranks[rank])
      if (int64_t &home = result[action.stage]; home < 0)
        home = static_cast<int64_t>(rank);
  return result;
}

std::optional<int64_t> Schedule::rankOf(int64_t stage) const {
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const Action &action : ranks[rank])
      if (action.stage == stage)
        return rank;
  return std::nullopt;
}

bool Schedule::splits(int64_t stage) const {
  for (const auto &actions : ranks)
    for (const Action &action : actions)
      if (action.stage == stage && (action.work == Work::InputGradient || action.work == Work::WeightGradient))
        return true;
  return false;
}

/// Largest number of forward passes in flight over the actions of some stages of a rank: those whose micro-batch has
/// not ended yet.
template <typename Counts> static int64_t peakOf(llvm::ArrayRef<Action> actions, Counts counts) {
  int64_t inFlight = 0, peak = 0;
  for (const Action &action : actions) {
    if (!counts(action))
      continue;
    if (action.work == Work::Forward)
      peak = std::max(peak, ++inFlight);
    else if (action.work != Work::InputGradient)
      --inFlight;
  }
  return peak;
}

int64_t Schedule::peakInFlight(int64_t rank) const {
  return peakOf(ranks[rank], [](const Action &) { return true; });
}

int64_t Schedule::peakOfStages(llvm::ArrayRef<int64_t> stages) const {
  std::optional<int64_t> rank = stages.empty() ? std::nullopt : rankOf(stages.front());
  if (!rank)
    return 0;
  std::vector<bool> counted(size_t(*llvm::max_element(stages)) + 1);
  for (int64_t stage : stages)
    counted[size_t(stage)] = true;
  return peakOf(ranks[*rank], [&](const Action &action) {
    return size_t(action.stage) < counted.size() && counted[size_t(action.stage)];
  });
}

namespace {
template <typename... Args> llvm::Error fail(const Args &...args) {
  std::string text;
  ((text += args), ...);
  return llvm::createStringError(std::errc::invalid_argument, "%s", text.c_str());
}
std::string number(int64_t value) { return std::to_string(value); }

/// One number for each stage, micro-batch and kind of work: a schedule has less than 2^32 of the first two.
uint64_t keyOf(int64_t stage, int64_t microbatch, Work work) {
  return static_cast<uint64_t>(stage) << 40 | static_cast<uint64_t>(microbatch) << 8 | static_cast<uint8_t>(work);
}

/// The ranks that may be able to go on, each listed once. What unblocks a rank wakes it, so that a simulation takes
/// time by the number of actions, whatever the number of ranks.
class ReadyRanks {
public:
  explicit ReadyRanks(size_t count) : listed(count) {
    for (size_t rank = 0; rank < count; ++rank)
      wake(static_cast<int64_t>(rank));
  }
  void wake(int64_t rank) {
    if (!listed[rank])
      queue.push_back(rank), listed[rank] = true;
  }
  std::optional<int64_t> next() {
    if (queue.empty())
      return std::nullopt;
    int64_t rank = queue.front();
    queue.pop_front();
    listed[rank] = false;
    return rank;
  }

private:
  std::deque<int64_t> queue;
  std::vector<bool> listed;
};

/// Runs all ranks side by side, each until it has to wait.
class Simulation {
public:
  explicit Simulation(const Schedule &schedule)
      : schedule(schedule), next(schedule.ranks.size()), homes(schedule.homes()), ready(schedule.ranks.size()) {}
  llvm::Error run();

private:
  /// A message is on its way from one stage to the next, or to the one before.
  struct Edge {
    int64_t from, to;
    auto operator<=>(const Edge &) const = default;
  };
  /// Messages that wait at the end of an edge: between ranks in the order sent, inside of a rank in any.
  struct Channel {
    std::deque<int64_t> queue;
    std::set<int64_t> local;
  };
  bool isLocal(const Edge &edge) const { return homes[edge.from] == homes[edge.to]; }
  /// Reason why the next action of `rank` cannot run now; empty if it can.
  std::string blocked(int64_t rank, llvm::Error &wrong);
  void receive(const Action &action);
  /// Sends what `action` made, or notes that it has to wait for room.
  void send(int64_t rank, const Action &action);
  std::optional<Edge> arriving(const Action &action) const;
  std::optional<Edge> leaving(const Action &action) const;

  const Schedule &schedule;
  std::vector<size_t> next;
  std::vector<int64_t> homes;
  ReadyRanks ready;
  std::map<Edge, Channel> channels;
  /// Ranks whose action has run but whose message has to wait for room.
  std::map<int64_t, std::pair<Edge, int64_t>> sending;
};
} // namespace

std::optional<Simulation::Edge> Simulation::arriving(const Action &action) const {
  if (action.work == Work::Forward && action.stage > 0)
    return Edge{action.stage - 1, action.stage};
  bool backward = action.work == Work::Backward || action.work == Work::InputGradient;
  if (backward && action.stage + 1 < static_cast<int64_t>(homes.size()))
    return Edge{action.stage + 1, action.stage};
  return std::nullopt;
}

std::optional<Simulation::Edge> Simulation::leaving(const Action &action) const {
  if (action.work == Work::Forward && action.stage + 1 < static_cast<int64_t>(homes.size()))
    return Edge{action.stage, action.stage + 1};
  bool backward = action.work == Work::Backward || action.work == Work::InputGradient;
  if (backward && action.stage > 0)
    return Edge{action.stage, action.stage - 1};
  return std::nullopt;
}

std::string Simulation::blocked(int64_t rank, llvm::Error &wrong) {
  if (auto waiting = sending.find(rank); waiting != sending.end())
    return "to send micro-batch " + number(waiting->second.second) + " from stage " +
           number(waiting->second.first.from) + " to stage " + number(waiting->second.first.to);
  const Action &action = schedule.ranks[rank][next[rank]];
  std::optional<Edge> edge = arriving(action);
  if (!edge)
    return "";
  const Channel &channel = channels[*edge];
  if (isLocal(*edge))
    return channel.local.count(action.microbatch)
               ? ""
               : action.str() + " for stage " + number(edge->from) + " of the same rank";
  if (channel.queue.empty())
    return action.str() + " for stage " + number(edge->from);
  if (channel.queue.front() != action.microbatch && !wrong)
    wrong = fail("rank ", number(rank), ": ", action.str(), " must receive micro-batches in the order in which stage ",
                 number(edge->from), " sends them, next is ", number(channel.queue.front()));
  return "";
}

void Simulation::receive(const Action &action) {
  std::optional<Edge> edge = arriving(action);
  if (!edge)
    return;
  Channel &channel = channels[*edge];
  if (isLocal(*edge)) {
    channel.local.erase(action.microbatch);
    return;
  }
  channel.queue.pop_front();
  ready.wake(homes[edge->from]);
}

void Simulation::send(int64_t rank, const Action &action) {
  std::optional<Edge> edge = leaving(action);
  if (!edge)
    return;
  Channel &channel = channels[*edge];
  if (isLocal(*edge)) {
    channel.local.insert(action.microbatch);
  } else if (channel.queue.empty()) {
    channel.queue.push_back(action.microbatch);
    ready.wake(homes[edge->to]);
  } else {
    sending[rank] = {*edge, action.microbatch};
  }
}

llvm::Error Simulation::run() {
  llvm::Error wrong = llvm::Error::success();
  while (std::optional<int64_t> rank = ready.next()) {
    if (auto waiting = sending.find(*rank); waiting != sending.end()) {
      auto [edge, microbatch] = waiting->second;
      if (!channels[edge].queue.empty())
        continue;
      channels[edge].queue.push_back(microbatch);
      ready.wake(homes[edge.to]);
      sending.erase(waiting);
    }
    while (next[*rank] < schedule.ranks[*rank].size() && blocked(*rank, wrong).empty()) {
      if (wrong)
        return wrong;
      const Action &action = schedule.ranks[*rank][next[*rank]++];
      receive(action);
      send(*rank, action);
    }
  }
  std::string stuck;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    if (next[rank] < schedule.ranks[rank].size() || sending.count(rank))
      stuck += (stuck.empty() ? "rank " : ", rank ") + number(rank) + " waits " + (sending.count(rank) ? "" : "in ") +
               blocked(rank, wrong);
  if (!stuck.empty())
    return fail("the schedule never ends: ", stuck);
  return wrong;
}

/// The actions of one rank by themselves; `homes` are those of the schedule, and `done` what stood so far, by keyOf.
static llvm::Error checkRank(llvm::ArrayRef<Action> actions, int64_t rank, llvm::ArrayRef<int64_t> homes,
                             int64_t stages, int64_t microbatches, llvm::DenseSet<uint64_t> &done) {
  std::set<std::pair<int64_t, char>> begun;
  for (const Action &action : actions) {
    auto wrong = [&](const auto &...what) { return fail("rank ", number(rank), ": ", action.str(), what...); };
    if (action.stage >= stages)
      return wrong(" must be of one of the ", number(stages), " stages");
    if (action.microbatch >= microbatches)
      return wrong(" must be of one of the ", number(microbatches), " micro-batches");
    if (int64_t home = homes[action.stage]; home != rank)
      return wrong(" must run where its stage does, on rank ", number(home));
    auto has = [&](Work work) { return done.contains(keyOf(action.stage, action.microbatch, work)); };
    if (has(action.work))
      return wrong(" must stand once, got twice");
    if (action.work != Work::Forward && !has(Work::Forward))
      return wrong(" must stand after the forward of its micro-batch");
    bool split = action.work == Work::InputGradient || action.work == Work::WeightGradient;
    if (split ? has(Work::Backward) : action.work == Work::Backward && has(Work::InputGradient))
      return wrong(" must not stand beside the other form of backward");
    if (action.work == Work::WeightGradient && !has(Work::InputGradient))
      return wrong(" must stand after the input gradient of its micro-batch");
    // Sums over micro-batches begin with micro-batch 0, which overwrites what the last step left.
    if (begun.insert({action.stage, static_cast<char>(action.work)}).second && action.microbatch != 0)
      return wrong(" must not come before that of micro-batch 0");
    done.insert(keyOf(action.stage, action.microbatch, action.work));
  }
  return llvm::Error::success();
}

llvm::Error Schedule::check(int64_t stageCount, int64_t microbatchCount) const {
  llvm::DenseSet<uint64_t> done;
  std::vector<int64_t> where = homes();
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (llvm::Error error =
            checkRank(ranks[rank], static_cast<int64_t>(rank), where, stageCount, microbatchCount, done))
      return error;
  std::vector<bool> splits(where.size());
  for (const auto &actions : ranks)
    for (const Action &action : actions)
      if (action.work == Work::InputGradient || action.work == Work::WeightGradient)
        splits[action.stage] = true;
  // Ends at the first that is missing: at most as many are found as the schedule holds.
  for (int64_t stage = 0; stage < stageCount; ++stage) {
    bool split = stage < static_cast<int64_t>(splits.size()) && splits[stage];
    for (int64_t m = 0; m < microbatchCount; ++m)
      for (Work work :
           {Work::Forward, split ? Work::InputGradient : Work::Backward, split ? Work::WeightGradient : Work::Backward})
        if (!done.contains(keyOf(stage, m, work)))
          return fail("the schedule must hold ", Action{work, stage, m}.str());
  }
  return Simulation(*this).run();
}

Timeline timelineOf(const Schedule &schedule) {
  Timeline timeline;
  timeline.begins.resize(schedule.ranks.size());
  std::vector<size_t> next(schedule.ranks.size());
  std::vector<int64_t> free(schedule.ranks.size()), homes = schedule.homes();
  llvm::DenseMap<uint64_t, int64_t> ends; // by keyOf; input gradients as backward
  auto stages = static_cast<int64_t>(homes.size());
  ReadyRanks ready(schedule.ranks.size());
  while (std::optional<int64_t> rank = ready.next())
    for (; next[*rank] < schedule.ranks[*rank].size(); ++next[*rank]) {
      const Action &action = schedule.ranks[*rank][next[*rank]];
      Work work = action.work == Work::Forward ? Work::Forward : Work::Backward;
      int64_t source = action.stage + (work == Work::Forward ? -1 : 1), begin = free[*rank];
      if (action.work != Work::WeightGradient && source >= 0 && source < stages) {
        auto end = ends.find(keyOf(source, action.microbatch, work));
        if (end == ends.end())
          break;
        begin = std::max(begin, end->second);
      }
      timeline.begins[*rank].push_back(begin);
      free[*rank] = begin + Timeline::length(action.work);
      timeline.end = std::max(timeline.end, free[*rank]);
      if (action.work == Work::WeightGradient)
        continue;
      ends[keyOf(action.stage, action.microbatch, work)] = free[*rank];
      int64_t reader = action.stage + (work == Work::Forward ? 1 : -1);
      if (reader >= 0 && reader < stages && homes[reader] >= 0)
        ready.wake(homes[reader]);
    }
  return timeline;
}

double Timeline::bubble(const Schedule &schedule) const {
  int64_t work = 0;
  for (const auto &actions : schedule.ranks)
    for (const Action &action : actions)
      work += length(action.work);
  int64_t all = end * static_cast<int64_t>(schedule.ranks.size());
  return all ? 1.0 - static_cast<double>(work) / static_cast<double>(all) : 0;
}

} // namespace dtcc::plan
