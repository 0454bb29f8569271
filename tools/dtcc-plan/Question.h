//===- Question.h - A model on a cluster, as commands are asked about it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// memory, explain and compare take a model by its sizes (--transformer) or as a file: on
// devices that are not at hand the sizes are read from the graph, on this machine's cores
// the graph itself is searched as dtcc would.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_QUESTION_H
#define DTCC_TOOLS_DTCCPLAN_QUESTION_H

#include "tools/dtcc-plan/GraphReport.h"
#include "tools/dtcc-plan/LoadStep.h"
#include "tools/dtcc-plan/SearchTransformer.h"
#include "tools/dtcc-plan/ToldError.h"

namespace dtcc {

struct Question {
  std::optional<TransformerSearch> sizes;
  /// Else: a graph for the cores of this machine, and its options.
  std::unique_ptr<LoadedStep> graph;
  Options options;

  /// `model`: the path of the model; empty if --transformer must say it.
  static llvm::Expected<Question> read(llvm::StringRef model, Arguments arguments);
  /// The best plans.
  llvm::Expected<plan::SearchReport> search(size_t top, bool record = false) const;
};

/// The options with values that read takes, and `more`.
std::vector<llvm::StringRef> questionValues(llvm::ArrayRef<llvm::StringRef> more = {});

/// Gives `arguments` the sizes of the transformer in `module`, and its batch.
llvm::Error setSizes(mlir::ModuleOp module, llvm::StringRef path, Arguments &arguments);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_QUESTION_H
