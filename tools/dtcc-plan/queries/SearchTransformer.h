//===- SearchTransformer.h - Plans of a model that is given by its sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_QUERIES_SEARCHTRANSFORMER_H
#define DTCC_TOOLS_DTCC_PLAN_QUERIES_SEARCHTRANSFORMER_H

#include "planner/parallelism/Offload.h"
#include "planner/transformer/TransformerReport.h"
#include "tools/dtcc-plan/arguments/TransformerOptions.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// A transformer on devices of one kind, and what of its plan is searched.
struct TransformerSearch {
  TransformerOnCluster given;
  plan::TransformerProblem problem;
  plan::ShapeSpace space;
  /// Names of the model and the options that hold a part of the plan, for reports.
  std::string model;
  std::vector<std::string> options;
  /// The offload that --offload fixes; if absent, it is searched.
  std::optional<plan::Offload> offload;

  /// Reads the model, the cluster, --batch, and the options that hold a part of the plan.
  static llvm::Expected<TransformerSearch> read(const Arguments &arguments, bool mayMix = false);
  /// The `top` best plans. An error says what does not divide, or what the nearest plan lacks where none fits.
  /// `record`: with the timeline of the best.
  llvm::Expected<plan::SearchReport> run(size_t top, bool record = false) const;
  /// The best plan alone, which takes less time than run(1): the runners-up are not priced.
  llvm::Expected<plan::SearchReport> runBest() const;
  /// The report without plans: what was asked.
  void describe(plan::SearchReport &report) const;

private:
  using Find = llvm::function_ref<plan::ShapeResult(plan::ShapeList, plan::ShapePricer &)>;
  llvm::Expected<plan::SearchReport> run(Find find, size_t top, bool record) const;
};

/// Reads --gradients into `type`, which stays as it is without the option.
llvm::Error readGradientType(const Arguments &arguments, plan::GradientType &type);

llvm::ArrayRef<llvm::StringRef> searchTransformerValues();

/// Refuses --microbatches beside --micro-batch, which cut the same batch.
llvm::Error refuseTwoCuts(const Arguments &arguments);
llvm::ArrayRef<llvm::StringRef> searchTransformerFlags();

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_QUERIES_SEARCHTRANSFORMER_H
