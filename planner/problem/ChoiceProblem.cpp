//===- ChoiceProblem.cpp - What is chosen, and what a choice costs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem of Choice.h: its check, the cost of a choice, and the oracle that tries all.
//
//===----------------------------------------------------------------------===//

#include "planner/problem/Choice.h"
#include <algorithm>
#include <set>

namespace dtcc::plan {

uint32_t ChoiceProblem::addNode(std::vector<double> costs) {
  nodes.push_back(std::move(costs));
  return nodes.size() - 1;
}

void ChoiceProblem::addEdge(uint32_t from, uint32_t to, std::vector<double> costs) {
  edges.push_back({from, to, std::move(costs)});
}

/// Reason why a delivery between nodes of `nodes` is malformed; empty if it is not.
static std::string checkDelivery(const ChoiceProblem::Delivery &delivery,
                                 const std::vector<std::vector<double>> &nodes) {
  if (delivery.from >= nodes.size())
    return "comes from no node";
  if (delivery.forms > ChoiceProblem::Delivery::kMostForms)
    return "has too many forms";
  size_t sets = size_t(1) << delivery.forms;
  if (delivery.costs.size() != nodes[delivery.from].size() * sets)
    return "has costs for other numbers of candidates or forms";
  for (size_t at = 0; at < delivery.costs.size(); ++at) {
    if (!(delivery.costs[at] >= 0))
      return "has a negative or undefined cost";
    for (size_t form = 1; form < sets; form <<= 1)
      if ((at & form) && delivery.costs[at] < delivery.costs[at - form])
        return "costs less for more forms";
  }
  std::set<uint32_t> seen{delivery.from};
  for (const ChoiceProblem::Delivery::Reader &reader : delivery.readers) {
    if (reader.node >= nodes.size() || !seen.insert(reader.node).second)
      return "must have readers that are other nodes, each once";
    if (reader.wants.size() != nodes[reader.node].size())
      return "has wants for other numbers of candidates";
    for (uint32_t wants : reader.wants)
      if (wants >= sets)
        return "is wanted in a form that it has not";
  }
  return "";
}

std::string ChoiceProblem::check() const {
  auto legal = [](double cost) { return cost >= 0; };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].empty())
      return "node " + std::to_string(i) + " has no candidate";
    if (!std::all_of(nodes[i].begin(), nodes[i].end(), legal))
      return "node " + std::to_string(i) + " has a negative or undefined cost";
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    const Edge &edge = edges[i];
    if (edge.from >= nodes.size() || edge.to >= nodes.size() || edge.from == edge.to)
      return "edge " + std::to_string(i) + " does not join two nodes";
    if (edge.costs.size() != nodes[edge.from].size() * nodes[edge.to].size())
      return "edge " + std::to_string(i) + " has costs for other numbers of candidates";
    if (!std::all_of(edge.costs.begin(), edge.costs.end(), legal))
      return "edge " + std::to_string(i) + " has a negative or undefined cost";
  }
  for (size_t i = 0; i < deliveries.size(); ++i)
    if (std::string wrong = checkDelivery(deliveries[i], nodes); !wrong.empty())
      return "delivery " + std::to_string(i) + " " + wrong;
  return "";
}

double costOf(const ChoiceProblem &problem, const std::vector<uint32_t> &candidates) {
  double cost = 0;
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    cost += problem.nodes[i][candidates[i]];
  for (const ChoiceProblem::Edge &edge : problem.edges)
    cost += edge.costs[candidates[edge.from] * problem.nodes[edge.to].size() + candidates[edge.to]];
  for (const ChoiceProblem::Delivery &delivery : problem.deliveries) {
    uint32_t made = 0;
    for (const ChoiceProblem::Delivery::Reader &reader : delivery.readers)
      made |= reader.wants[candidates[reader.node]];
    cost += delivery.costs[(size_t(candidates[delivery.from]) << delivery.forms) + made];
  }
  return cost;
}

ChoiceSolution solveExhaustively(const ChoiceProblem &problem) {
  ChoiceSolution best;
  best.cost = kForbidden;
  best.candidates.assign(problem.nodes.size(), 0);
  std::vector<uint32_t> choice(problem.nodes.size(), 0);
  for (;;) {
    double cost = costOf(problem, choice);
    if (cost < best.cost) {
      best.cost = cost;
      best.candidates = choice;
    }
    size_t i = choice.size();
    while (i > 0 && ++choice[i - 1] == problem.nodes[i - 1].size())
      choice[--i] = 0;
    if (i == 0)
      break;
  }
  best.lowerBound = best.cost;
  return best;
}

} // namespace dtcc::plan
