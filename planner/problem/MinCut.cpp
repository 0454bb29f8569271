//===- MinCut.cpp - The cheapest set of nodes between sources and sinks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "planner/problem/MinCut.h"
#include <algorithm>

namespace dtcc::plan {

static constexpr size_t kSource = 0, kSink = 1;

void MinCut::addArc(size_t from, size_t to, int64_t capacity) {
  leaving[from].push_back(arcs.size());
  arcs.push_back({to, capacity});
  leaving[to].push_back(arcs.size());
  arcs.push_back({from, 0});
}

size_t MinCut::addNode(int64_t weight) {
  size_t node = count++;
  leaving.resize(2 + 2 * count);
  addArc(in(node), out(node), weight);
  return node;
}
void MinCut::addEdge(size_t from, size_t to) { addArc(out(from), in(to), kNever); }
void MinCut::addSource(size_t node) { addArc(kSource, in(node), kNever); }
void MinCut::addSink(size_t node) { addArc(out(node), kSink, kNever); }

bool MinCut::findLevels() {
  level.assign(leaving.size(), -1);
  level[kSource] = 0;
  std::vector<size_t> queue{kSource};
  for (size_t i = 0; i < queue.size(); ++i)
    for (size_t arc : leaving[queue[i]])
      if (arcs[arc].capacity > 0 && level[arcs[arc].to] < 0) {
        level[arcs[arc].to] = level[queue[i]] + 1;
        queue.push_back(arcs[arc].to);
      }
  return level[kSink] >= 0;
}

int64_t MinCut::push() {
  // A path may have as many nodes as the graph, so the nodes under way are kept here, not on the call stack.
  struct Visit {
    size_t node;
    int64_t most, pushed;
  };
  std::vector<Visit> path{{kSource, kNever, 0}};
  for (;;) {
    Visit &visit = path.back();
    const std::vector<size_t> &ways = leaving[visit.node];
    size_t &i = next[visit.node];
    auto leads = [&](const Arc &arc) { return arc.capacity > 0 && level[arc.to] == level[visit.node] + 1; };
    while (visit.node != kSink && i < ways.size() && !leads(arcs[ways[i]]))
      ++i;
    if (visit.node != kSink && visit.pushed < visit.most && i < ways.size()) {
      const Arc &arc = arcs[ways[i]];
      path.push_back({arc.to, std::min(visit.most - visit.pushed, arc.capacity), 0});
      continue;
    }
    int64_t pushed = visit.node == kSink ? visit.most : visit.pushed;
    path.pop_back();
    if (path.empty())
      return pushed;
    // Flow that did not go through leads to no sink, and the arc is not tried again.
    Visit &before = path.back();
    size_t arc = leaving[before.node][next[before.node]];
    arcs[arc].capacity -= pushed;
    arcs[arc ^ 1].capacity += pushed;
    before.pushed += pushed;
    if (before.pushed < before.most)
      ++next[before.node];
  }
}

std::vector<size_t> MinCut::solve() {
  flow = 0;
  while (flow < kNever && findLevels()) {
    next.assign(leaving.size(), 0);
    flow = std::min(kNever, flow + push());
  }
  if (!isPossible())
    return {};
  // Nodes that still reach the sink define the minimum cut nearest to the sink.
  std::vector<bool> reaches(leaving.size(), false);
  reaches[kSink] = true;
  std::vector<size_t> queue{kSink};
  for (size_t i = 0; i < queue.size(); ++i)
    for (size_t arc : leaving[queue[i]])
      if (arcs[arc ^ 1].capacity > 0 && !reaches[arcs[arc].to]) {
        reaches[arcs[arc].to] = true;
        queue.push_back(arcs[arc].to);
      }
  std::vector<size_t> cut;
  for (size_t node = 0; node < count; ++node)
    if (!reaches[in(node)] && reaches[out(node)])
      cut.push_back(node);
  return cut;
}

} // namespace dtcc::plan
