//===- GraphAdvisor.h - Searches again for explanations of a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_GRAPHADVISOR_H
#define DTCC_TOOLS_DTCCPLAN_GRAPHADVISOR_H

#include "passes/plan/Explanation.h"
#include "tools/dtcc-plan/Question.h"

namespace dtcc {

/// Asks the search of dtcc for meshes of data and tensor parallelism on fewer cores, other
/// stages of ZeRO, micro-batches and kinds of recomputation. The batch of a graph is bound.
class GraphAdvisor : public plan::Advisor {
public:
  /// `report`: what the search found for `question`, which holds a graph.
  GraphAdvisor(const Question &question, const plan::SearchReport &report)
      : question(question), batch(report.batch), devices(report.devices) {}
  std::optional<plan::PlanReport> best(const plan::Restriction &restriction) override;
  /// The mesh, ZeRO stage, micro-batches and recomputation of a plan, placed as the search does.
  std::optional<plan::PlanReport> price(const plan::Plan &plan);

private:
  std::optional<plan::PlanReport> search(const Options &options);

  const Question &question;
  int64_t batch, devices;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_GRAPHADVISOR_H
