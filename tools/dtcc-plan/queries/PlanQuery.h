//===- PlanQuery.h - A model on a cluster, as commands are asked about it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// memory, explain, compare and cost take a model by its sizes (--transformer) or as a file,
// whose graph is searched as dtcc and search do, on every cluster.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_QUERIES_PLANQUERY_H
#define DTCC_TOOLS_DTCC_PLAN_QUERIES_PLANQUERY_H

#include "compiler/planning/PlanSearch.h"
#include "tools/dtcc-plan/arguments/ToldError.h"
#include "tools/dtcc-plan/queries/LoadStep.h"
#include "tools/dtcc-plan/queries/SearchTransformer.h"

namespace dtcc {

struct PlanQuery {
  std::optional<TransformerSearch> sizes;
  /// Without `sizes`: a graph, its options, and the placements of its searches.
  std::unique_ptr<LoadedStep> graph;
  Options options;
  PlanRequest request;
  mutable PricerCache pricers;
  /// Dollars a device and hour; 0: not known.
  double pricePerHour = 0;
  /// Number of devices of each kind of a heterogeneous cluster. A plan may use one kind only.
  std::vector<int64_t> kinds;

  /// `model`: the path of the model; empty if --transformer must say it. `silent`: without the notes of its import.
  static llvm::Expected<PlanQuery> read(llvm::StringRef model, const Arguments &arguments, bool silent = false);
  void setKinds(const cost::Cluster &cluster);
  /// An error unless a plan, of this name, takes all devices, or all of one kind.
  llvm::Error checkRanks(llvm::StringRef plan, int64_t ranks, const plan::SearchReport &report) const;
  /// The best plans. `record`: with the timeline of the first; `anyMemory`: a graph need not
  /// fit, and is not compiled to see.
  llvm::Expected<plan::SearchReport> search(size_t top, bool record = false, bool anyMemory = false) const;
  /// The best plan alone. Where there is none, the error says why in one message, which the user has not read.
  llvm::Expected<plan::SearchReport> searchBest() const;
};

/// The options of dtcc for a model file, or if `model` is empty for the graph of --transformer, whose batch is --batch.
llvm::Expected<Options> readGraphOptions(llvm::StringRef model, const Arguments &arguments);

/// The options with values that read takes, and `more`.
std::vector<llvm::StringRef> queryValues(llvm::ArrayRef<llvm::StringRef> more = {});

/// The options with values of a search of sizes, and those of a file, so that one message says that they go with it.
std::vector<llvm::StringRef> sizesOrFileValues();

/// An error if sizes are asked about and options are given that go with a model file alone, but for `known` ones.
llvm::Error refuseFileValues(const Arguments &arguments, llvm::ArrayRef<llvm::StringRef> known = {});
/// Refuses an option that describes a model by its sizes, and says what a model file has instead.
llvm::Error refuseSizeValue(llvm::StringRef name);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_QUERIES_PLANQUERY_H
