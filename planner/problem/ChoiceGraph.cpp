//===- ChoiceGraph.cpp - A choice problem while its solver takes nodes out
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/ChoiceGraph.h"
#include <utility>

namespace dtcc::plan {

void ChoiceGraph::add(uint32_t from, uint32_t to, const CostMatrix &costs) {
  size_t rows = nodes[from].size(), columns = nodes[to].size();
  CostMatrix &forward = edges[from][to], &backward = edges[to][from];
  forward.resize(rows * columns, 0);
  backward.resize(rows * columns, 0);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) {
      forward[i * columns + j] += costs[i * columns + j];
      backward[j * rows + i] += costs[i * columns + j];
    }
}

Elimination ChoiceGraph::remove(uint32_t node) {
  for (auto &entry : edges[node])
    edges[entry.first].erase(node);
  gone[node] = true;
  return {node, std::move(nodes[node]), std::move(edges[node])};
}

Elimination ChoiceGraph::only(uint32_t node, uint32_t candidate) const {
  std::vector<double> costs(nodes[node].size(), kForbidden);
  costs[candidate] = nodes[node][candidate];
  return {node, std::move(costs), {}};
}

} // namespace dtcc::plan
