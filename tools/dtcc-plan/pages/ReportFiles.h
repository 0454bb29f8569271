//===- ReportFiles.h - Pages and traces beside what is printed
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_PAGES_REPORTFILES_H
#define DTCC_TOOLS_DTCC_PLAN_PAGES_REPORTFILES_H

#include "compiler/console/OutputFiles.h"
#include "planner/search/Explanation.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace dtcc {

/// The files of --html and --trace: opened before the work, written whole after it or not at all.
class ReportFiles {
public:
  /// An empty path stands for a file that was not asked for.
  ReportFiles(llvm::StringRef html, llvm::StringRef trace) : html(html.str()), trace(trace.str()) {}
  bool any() const { return !html.empty() || !trace.empty(); }
  /// Refuses paths that cannot be written, and paths that are one of `inputs`.
  llvm::Error open(const std::vector<std::string> &inputs);
  llvm::Error write(const plan::SearchReport &report, const plan::Explanation *explanation = nullptr);
  /// A page and a timeline of anything else.
  llvm::Error write(llvm::function_ref<void(llvm::raw_ostream &)> page, const cost::StepTimeline &timeline,
                    llvm::StringRef name);

private:
  std::string html, trace;
  std::optional<OutputFiles> htmlFile, traceFile;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_PAGES_REPORTFILES_H
