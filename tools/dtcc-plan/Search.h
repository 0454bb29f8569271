//===- Search.h - The search of dtcc, shown
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_SEARCH_H
#define DTCC_TOOLS_DTCCPLAN_SEARCH_H

#include "compiler/options/Options.h"
#include "tools/dtcc-plan/arguments/Arguments.h"
#include "tools/dtcc-plan/frameworks/Frameworks.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// Format of the result, and the files of --html and --trace (empty: none).
struct SearchOutput {
  size_t top = 10; /* plans that are shown */
  bool json = false;
  std::string html, trace;
  /// The framework in whose words the best plan is printed too; null: none.
  const Framework *framework = nullptr;
  /// --tokens and --price of the run, where they are given.
  Arguments run;
};

/// Loads `options.input`, searches plans for it as dtcc would, and prints the first of them, best
/// first: a table, or JSON. With an output other than "-" the best is written there.
/// Failure after one message; then nothing has been written.
mlir::LogicalResult searchAndPrint(const Options &options, const SearchOutput &output, llvm::raw_ostream &stream);

/// `dtcc-plan search --transformer=..`: as of a file, on the graph that the sizes make.
llvm::Error searchGraphOfSizes(const Arguments &arguments, llvm::raw_ostream &stream);

/// `dtcc-plan search --transformer=.. --software=..`: the best plans of all sizes of axes, micro-batches,
/// schedules, ZeRO stages and recomputations, with the bound below which none is.
llvm::Error searchTransformer(const Arguments &arguments, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_SEARCH_H
