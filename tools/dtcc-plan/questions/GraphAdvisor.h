//===- GraphAdvisor.h - Searches again for explanations of a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_QUESTIONS_GRAPHADVISOR_H
#define DTCC_TOOLS_DTCC_PLAN_QUESTIONS_GRAPHADVISOR_H

#include "planner/search/Explanation.h"
#include "tools/dtcc-plan/questions/Question.h"

namespace dtcc {

/// Asks the search of dtcc again with some of its shapes left out, on other numbers of devices, and for another batch
/// where --bind says one. Plans are priced as the search prices them, with the same placement; what is asked about by
/// itself is compiled, as the search does with its best, and says the memory of its program.
class GraphAdvisor : public plan::Advisor {
public:
  /// `report`: what the search found for `question`, which holds a graph.
  GraphAdvisor(const Question &question, const plan::SearchReport &report)
      : question(question), batch(report.batch), memoryBytes(report.memoryBytes) {}
  std::optional<plan::PlanReport> best(const plan::Restriction &restriction) override;
  std::vector<plan::PlanReport> fasterOnes(const plan::PlanReport &than, size_t most) override;
  std::optional<int64_t> fewest() override;

  /// A shape, whether it is searched or not; what is computed again is as memory asks.
  std::optional<plan::PlanReport> price(const plan::PlanShape &shape);
  /// A plan as it stands: with its placement and its stages. Of what is computed again in single ops its program tells
  /// the memory; its time is that of the plan's mode unless a search finds the same ops.
  std::optional<plan::PlanReport> price(const plan::Plan &plan);

private:
  using Allows = std::function<bool(const plan::PlanShape &)>;
  mlir::FailureOr<SearchResult> search(const Options &options, const SearchLimits &limits, int64_t batch = 0);
  /// The fastest of what fits, else what needs least.
  std::optional<plan::PlanReport> bestOf(const Options &options, SearchLimits limits, int64_t batch = 0);
  /// False where no plan can be compiled.
  bool confirm(const Options &options, SearchResult &result);
  /// Its memory is the search's estimate, unless that was confirmed on the way.
  std::optional<plan::PlanReport> priceTime(const plan::Plan &plan);
  LoadedStep *stepFor(int64_t batch);

  const Question &question;
  int64_t batch;
  double memoryBytes;
  /// The model with other batches; null where it cannot be loaded so.
  std::map<int64_t, std::unique_ptr<LoadedStep>> others;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_QUESTIONS_GRAPHADVISOR_H
