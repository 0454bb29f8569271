//===- GraphAdvisor.h - Searches again for explanations of a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_QUERIES_GRAPHADVISOR_H
#define DTCC_TOOLS_DTCC_PLAN_QUERIES_GRAPHADVISOR_H

#include "planner/search/Explanation.h"
#include "tools/dtcc-plan/queries/PlanQuery.h"

namespace dtcc {

/// Repeats the search of dtcc with some of its shapes left out, on other numbers of devices, and for another batch if
/// --bind gives one. Plans are priced as the search prices them, with the same placement. A single plan is also
/// compiled, as the search does with its best plan, and reports the memory of its program.
class GraphAdvisor : public plan::Advisor {
public:
  /// `report` is the result of the search for `query`, which holds a graph.
  GraphAdvisor(const PlanQuery &query, const plan::SearchReport &report)
      : query(query), batch(report.batch), memoryBytes(report.memoryBytes) {}
  std::optional<plan::PlanReport> best(const plan::Restriction &restriction) override;
  std::vector<plan::PlanReport> fasterOnes(const plan::PlanReport &than, size_t most) override;
  std::optional<int64_t> fewest() override;

  /// Prices a shape, which the search need not contain. The memory decides the recomputation.
  std::optional<plan::PlanReport> price(const plan::Parallelism &shape);
  /// Prices a plan as it stands, with its placement and its stages. If it recomputes single ops, the memory is that of
  /// its program, and the time is that of the plan's mode unless a search finds the same ops.
  std::optional<plan::PlanReport> price(const plan::Plan &plan);

private:
  using Allows = std::function<bool(const plan::Parallelism &)>;
  mlir::FailureOr<SearchResult> search(const PlanRequest &request, const SearchLimits &limits, int64_t batch = 0);
  /// The fastest plan that fits, or else the plan that needs the least memory unless it must fit.
  std::optional<plan::PlanReport> bestOf(const PlanRequest &request, SearchLimits limits, int64_t batch, bool mustFit);
  /// Returns false if no plan can be compiled.
  bool confirm(SearchResult &result);
  /// Prices the step of a plan. The report's memory is the search's estimate, unless a program confirmed it on the way.
  std::optional<plan::PlanReport> priceTime(const plan::Plan &plan);
  LoadedStep *stepFor(int64_t batch);

  const PlanQuery &query;
  int64_t batch;
  double memoryBytes;
  /// The model with other batches; null where it cannot be loaded so.
  std::map<int64_t, std::unique_ptr<LoadedStep>> others;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_QUERIES_GRAPHADVISOR_H
