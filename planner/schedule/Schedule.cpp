//===- Schedule.cpp - What the stages of a pipeline do, in which order
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/schedule/Schedule.h"
#include <algorithm>
#include <functional>
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

/// At most so many forward passes are ahead of what ends their micro-batches, of actions of some stages of a rank.
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

int64_t Schedule::peakOfStage(int64_t stage) const {
  std::optional<int64_t> rank = rankOf(stage);
  return rank ? peakOf(ranks[*rank], [&](const Action &action) { return action.stage == stage; }) : 0;
}

namespace {
using Pair = std::pair<int64_t, int64_t>; // stage, micro-batch

template <typename... Args> llvm::Error fail(const Args &...args) {
  std::string text;
  ((text += args), ...);
  return llvm::createStringError(std::errc::invalid_argument, "%s", text.c_str());
}
std::string number(int64_t value) { return std::to_string(value); }

/// Runs all ranks side by side, each until it has to wait.
class Simulation {
public:
  explicit Simulation(const Schedule &schedule) : schedule(schedule), next(schedule.ranks.size()) {
    for (int64_t stage = 0, end = schedule.stages(); stage < end; ++stage)
      homes.push_back(*schedule.rankOf(stage));
  }
  llvm::Error run();

private:
  /// A message is on its way from one stage to the next, or to the one before.
  struct Edge {
    int64_t from, to;
    auto operator<=>(const Edge &) const = default;
  };
  bool isLocal(const Edge &edge) const { return homes[edge.from] == homes[edge.to]; }
  /// Why the next action of `rank` cannot run now; empty if it can.
  std::string blocked(int64_t rank, llvm::Error &wrong);
  void finish(const Action &action);
  std::optional<Edge> arriving(const Action &action) const;
  std::optional<Edge> leaving(const Action &action) const;

  const Schedule &schedule;
  std::vector<size_t> next;
  std::vector<int64_t> homes;
  std::map<Edge, std::vector<int64_t>> messages;
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
  std::vector<int64_t> &queue = messages[*edge];
  if (isLocal(*edge))
    return llvm::is_contained(queue, action.microbatch)
               ? ""
               : action.str() + " for stage " + number(edge->from) + " of the same rank";
  if (queue.empty())
    return action.str() + " for stage " + number(edge->from);
  if (queue.front() != action.microbatch && !wrong)
    wrong = fail("rank ", number(rank), ": ", action.str(), " must receive micro-batches in the order in which stage ",
                 number(edge->from), " sends them, next is ", number(queue.front()));
  return "";
}

void Simulation::finish(const Action &action) {
  if (std::optional<Edge> edge = arriving(action)) {
    std::vector<int64_t> &queue = messages[*edge];
    queue.erase(llvm::find(queue, action.microbatch));
  }
}

llvm::Error Simulation::run() {
  llvm::Error wrong = llvm::Error::success();
  for (bool progress = true; progress;) {
    progress = false;
    for (auto at = sending.begin(); at != sending.end();) {
      auto &[edge, microbatch] = at->second;
      if (!messages[edge].empty()) {
        ++at;
        continue;
      }
      messages[edge].push_back(microbatch);
      at = sending.erase(at);
      progress = true;
    }
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      while (next[rank] < schedule.ranks[rank].size() && blocked(rank, wrong).empty()) {
        if (wrong)
          return wrong;
        const Action &action = schedule.ranks[rank][next[rank]++];
        finish(action);
        progress = true;
        std::optional<Edge> edge = leaving(action);
        if (!edge)
          continue;
        if (isLocal(*edge) || messages[*edge].empty())
          messages[*edge].push_back(action.microbatch);
        else
          sending[rank] = {*edge, action.microbatch};
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

/// The actions of one rank by themselves.
static llvm::Error checkRank(const Schedule &schedule, int64_t rank, int64_t stages, int64_t microbatches,
                             std::set<std::pair<Pair, char>> &done) {
  std::set<std::pair<int64_t, char>> begun;
  for (const Action &action : schedule.ranks[rank]) {
    std::string where = "rank " + number(rank) + ": " + action.str();
    if (action.stage >= stages)
      return fail(where, " must be of one of the ", number(stages), " stages");
    if (action.microbatch >= microbatches)
      return fail(where, " must be of one of the ", number(microbatches), " micro-batches");
    if (int64_t home = *schedule.rankOf(action.stage); home != rank)
      return fail(where, " must run where its stage does, on rank ", number(home));
    Pair pair{action.stage, action.microbatch};
    auto has = [&](Work work) { return done.count({pair, static_cast<char>(work)}) != 0; };
    if (has(action.work))
      return fail(where, " must stand once, got twice");
    if (action.work != Work::Forward && !has(Work::Forward))
      return fail(where, " must stand after the forward of its micro-batch");
    bool split = action.work == Work::InputGradient || action.work == Work::WeightGradient;
    if (split ? has(Work::Backward) : action.work == Work::Backward && has(Work::InputGradient))
      return fail(where, " must not stand beside the other form of backward");
    if (action.work == Work::WeightGradient && !has(Work::InputGradient))
      return fail(where, " must stand after the input gradient of its micro-batch");
    // Sums over micro-batches begin with micro-batch 0, which overwrites what the last step left.
    if (begun.insert({action.stage, static_cast<char>(action.work)}).second && action.microbatch != 0)
      return fail(where, " must not come before that of micro-batch 0");
    done.insert({pair, static_cast<char>(action.work)});
  }
  return llvm::Error::success();
}

llvm::Error Schedule::check(int64_t stageCount, int64_t microbatchCount) const {
  std::set<std::pair<Pair, char>> done;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (llvm::Error error = checkRank(*this, rank, stageCount, microbatchCount, done))
      return error;
  for (int64_t stage = 0; stage < stageCount; ++stage) {
    bool split = splits(stage);
    for (int64_t m = 0; m < microbatchCount; ++m)
      for (Work work :
           {Work::Forward, split ? Work::InputGradient : Work::Backward, split ? Work::WeightGradient : Work::Backward})
        if (!done.count({{stage, m}, static_cast<char>(work)}))
          return fail("the schedule must hold ", Action{work, stage, m}.str());
  }
  return Simulation(*this).run();
}

Timeline timelineOf(const Schedule &schedule) {
  Timeline timeline;
  timeline.begins.resize(schedule.ranks.size());
  std::vector<size_t> next(schedule.ranks.size());
  std::vector<int64_t> free(schedule.ranks.size());
  std::map<std::pair<bool, Pair>, int64_t> ends; // forward or input gradient, of stage and micro-batch
  int64_t stages = schedule.stages();
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      for (; next[rank] < schedule.ranks[rank].size(); ++next[rank]) {
        const Action &action = schedule.ranks[rank][next[rank]];
        bool forward = action.work == Work::Forward;
        int64_t source = forward ? action.stage - 1 : action.stage + 1, begin = free[rank];
        if (action.work != Work::WeightGradient && source >= 0 && source < stages) {
          auto end = ends.find({forward, {source, action.microbatch}});
          if (end == ends.end())
            break;
          begin = std::max(begin, end->second);
        }
        timeline.begins[rank].push_back(begin);
        free[rank] = begin + Timeline::length(action.work);
        timeline.end = std::max(timeline.end, free[rank]);
        if (action.work != Work::WeightGradient)
          ends[{forward, {action.stage, action.microbatch}}] = free[rank];
        progress = true;
      }
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
