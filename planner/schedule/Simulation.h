//===- Simulation.h - Tasks on streams that share links
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An event simulation that knows nothing of training: a stream runs its tasks one after
// another in the order in which they were added, each once all that it waits for has
// ended. A task takes its seconds if nothing disturbs it. Transfers need shares of links;
// where the shares of a link add up to more than all of it, its transfers slow down in
// proportion, and a transfer moves as its slowest link lets it. A stream may be slowed
// while another one is busy: collectives take multiprocessors. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SCHEDULE_SIMULATION_H
#define DTCC_PLANNER_SCHEDULE_SIMULATION_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace dtcc::cost {

class Simulation {
public:
  using Id = uint32_t;

  /// `slowedBy`: while a task of that stream runs, those of this one make 1 - `loss` of their progress.
  Id addStream();
  void slow(Id stream, Id slowedBy, double loss);
  Id addLink();

  /// A task of `seconds` (at least 0) at the end of `stream`.
  Id addTask(Id stream, double seconds);
  void wait(Id task, Id forTask) { waits.push_back({forTask, task}); }
  /// A task needs `share` (more than 0, at most 1) of `link` to take its seconds; two links at most.
  void use(Id task, Id link, double share);

  /// Runs all tasks. False if some wait for each other.
  bool run();
  double start(Id task) const { return tasks[task].start; }
  double end(Id task) const { return tasks[task].end; }
  /// The end of the last task.
  double end() const { return now; }
  size_t size() const { return tasks.size(); }

private:
  static constexpr Id kNone = ~Id(0);
  struct LinkUse {
    Id link = kNone;
    double share = 0;
  };
  struct Task {
    Id stream = 0;
    /// Left, and what is done of it in a second.
    double left = 0, rate = 1;
    double since = 0, start = -1, end = -1;
    uint32_t waiting = 0, version = 0;
    LinkUse uses[2];
  };
  struct Stream {
    std::vector<Id> queue;
    size_t next = 0;
    bool busy = false;
    Id slowedBy = kNone, slows = kNone;
    double loss = 0;
  };
  struct Link {
    double load = 0;
    std::vector<Id> active;
  };
  struct Wait {
    Id before, after;
  };
  struct Event {
    double time;
    Id task;
    uint32_t version;
    bool operator>(const Event &other) const { return time != other.time ? time > other.time : task > other.task; }
  };

  void tryStart(Id stream);
  void finish(Id task);
  /// Takes account of what was done so far and says anew when `task` ends.
  void retime(Id task);
  void changeLoad(const LinkUse &use, Id task, bool starts);
  double rateOf(const Task &task) const;

  std::vector<Task> tasks;
  std::vector<Stream> streams;
  std::vector<Link> links;
  std::vector<Wait> waits;
  std::vector<uint32_t> firstFollower, followers;
  std::vector<Event> heap;
  double now = 0;
};

} // namespace dtcc::cost

#endif // DTCC_PLANNER_SCHEDULE_SIMULATION_H
