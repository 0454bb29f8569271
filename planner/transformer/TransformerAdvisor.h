//===- TransformerAdvisor.h - Searches again for explanations of a transformer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_TRANSFORMER_TRANSFORMERADVISOR_H
#define DTCC_PLANNER_TRANSFORMER_TRANSFORMERADVISOR_H

#include "planner/search/Explanation.h"
#include "planner/transformer/TransformerReport.h"

namespace dtcc::plan {

class TransformerAdvisor : public Advisor {
public:
  /// `space`: what the search was given.
  TransformerAdvisor(const TransformerProblem &problem, const ShapeSpace &space) : given(problem), space(space) {}
  std::optional<PlanReport> best(const Restriction &restriction) override;
  std::vector<PlanReport> fasterOnes(const PlanReport &than, size_t most) override;
  std::optional<int64_t> fewest() override;
  /// Prices one shape, with all of its layers recomputed or none. The shape need not fit.
  PlanReport price(const TransformerProblem &problem, const Parallelism &shape, bool recompute) const;

private:
  TransformerProblem given;
  ShapeSpace space;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_TRANSFORMER_TRANSFORMERADVISOR_H
