//===- Simulation.cpp - Tasks on streams that share links
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Simulation.h"
#include <algorithm>
#include <cassert>
#include <functional>

namespace dtcc::cost {

Simulation::Id Simulation::addStream() {
  streams.emplace_back();
  return Id(streams.size() - 1);
}

void Simulation::slow(Id stream, Id slowedBy, double loss) {
  streams[stream].slowedBy = slowedBy;
  streams[stream].loss = loss;
  streams[slowedBy].slows = stream;
}

Simulation::Id Simulation::addLink() {
  links.emplace_back();
  return Id(links.size() - 1);
}

Simulation::Id Simulation::addTask(Id stream, double seconds) {
  assert(seconds >= 0 && "a task takes time");
  Id id = Id(tasks.size());
  tasks.emplace_back();
  tasks.back().stream = stream;
  tasks.back().left = seconds;
  streams[stream].queue.push_back(id);
  return id;
}

void Simulation::use(Id task, Id link, double share) {
  for (LinkUse &use : tasks[task].uses)
    if (use.link == kNone) {
      use = {link, std::min(share, 1.0)};
      return;
    }
  assert(false && "two links at most");
}

double Simulation::rateOf(const Task &task) const {
  double rate = 1;
  for (const LinkUse &use : task.uses)
    if (use.link != kNone && links[use.link].load > 1)
      rate = std::min(rate, 1 / links[use.link].load);
  const Stream &stream = streams[task.stream];
  if (stream.slowedBy != kNone && streams[stream.slowedBy].busy)
    rate *= 1 - stream.loss;
  return rate;
}

void Simulation::retime(Id id) {
  Task &task = tasks[id];
  double rate = rateOf(task);
  if (task.version && rate == task.rate)
    return;
  task.left = std::max(0.0, task.left - (now - task.since) * task.rate);
  task.since = now;
  task.rate = rate;
  heap.push_back({now + task.left / rate, id, ++task.version});
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

void Simulation::changeLoad(const LinkUse &use, Id task, bool starts) {
  if (use.link == kNone)
    return;
  Link &link = links[use.link];
  double before = link.load;
  if (starts) {
    link.active.push_back(task);
  } else {
    link.active.erase(std::find(link.active.begin(), link.active.end(), task));
  }
  // Summed anew: what is left of differences would slow an idle link.
  link.load = 0;
  for (Id each : link.active)
    for (const LinkUse &other : tasks[each].uses)
      link.load += other.link == use.link ? other.share : 0;
  if (before <= 1 && link.load <= 1)
    return;
  for (Id each : link.active)
    if (each != task)
      retime(each);
}

void Simulation::tryStart(Id id) {
  Stream &stream = streams[id];
  if (stream.busy || stream.next == stream.queue.size())
    return;
  Id next = stream.queue[stream.next];
  Task &task = tasks[next];
  if (task.waiting)
    return;
  ++stream.next;
  stream.busy = true;
  task.start = task.since = now;
  for (const LinkUse &use : task.uses)
    changeLoad(use, next, /*starts=*/true);
  retime(next);
  if (stream.slows != kNone && streams[stream.slows].busy)
    retime(streams[stream.slows].queue[streams[stream.slows].next - 1]);
}

void Simulation::finish(Id id) {
  Task &task = tasks[id];
  task.end = now;
  Stream &stream = streams[task.stream];
  stream.busy = false;
  for (const LinkUse &use : task.uses)
    changeLoad(use, id, /*starts=*/false);
  if (stream.slows != kNone && streams[stream.slows].busy)
    retime(streams[stream.slows].queue[streams[stream.slows].next - 1]);
  tryStart(task.stream);
  for (uint32_t i = firstFollower[id]; i < firstFollower[id + 1]; ++i)
    if (--tasks[followers[i]].waiting == 0)
      tryStart(tasks[followers[i]].stream);
}

bool Simulation::run() {
  firstFollower.assign(tasks.size() + 1, 0);
  for (const Wait &wait : waits) {
    ++firstFollower[wait.before + 1];
    ++tasks[wait.after].waiting;
  }
  for (size_t i = 0; i < tasks.size(); ++i)
    firstFollower[i + 1] += firstFollower[i];
  followers.resize(waits.size());
  std::vector<uint32_t> place(firstFollower.begin(), firstFollower.end() - 1);
  for (const Wait &wait : waits)
    followers[place[wait.before]++] = wait.after;
  for (Id stream = 0; stream < streams.size(); ++stream)
    tryStart(stream);
  size_t ended = 0;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    Event event = heap.back();
    heap.pop_back();
    if (event.version != tasks[event.task].version || tasks[event.task].end >= 0)
      continue;
    now = event.time;
    finish(event.task);
    ++ended;
  }
  return ended == tasks.size();
}

} // namespace dtcc::cost
