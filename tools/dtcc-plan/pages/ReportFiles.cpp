//===- ReportFiles.cpp - Pages and traces beside what is printed
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/pages/ReportFiles.h"
#include "tools/dtcc-plan/arguments/ToldError.h"
#include "tools/dtcc-plan/pages/ReportPage.h"
#include "tools/dtcc-plan/pages/Trace.h"

using namespace dtcc;

llvm::Error ReportFiles::open(const std::vector<std::string> &inputs) {
  if (html == "-" || trace == "-")
    return llvm::createStringError("--html and --trace must name files, got: -");
  if (!html.empty() && html == trace)
    return llvm::createStringError("--html and --trace must name two files, got: " + html);
  std::vector<llvm::StringRef> read(inputs.begin(), inputs.end());
  auto start = [&](const std::string &path, std::optional<OutputFiles> &file) {
    if (path.empty())
      return mlir::success();
    file.emplace(path, "dtcc-plan");
    return file->open(read);
  };
  if (failed(start(html, htmlFile)) || failed(start(trace, traceFile)))
    return llvm::make_error<ToldError>();
  return llvm::Error::success();
}

llvm::Error ReportFiles::write(llvm::function_ref<void(llvm::raw_ostream &)> page, const cost::StepTimeline &timeline,
                               llvm::StringRef name) {
  if (htmlFile && failed(htmlFile->writeText(page)))
    return llvm::make_error<ToldError>();
  if (traceFile && failed(traceFile->writeText([&](llvm::raw_ostream &stream) { writeTrace(timeline, name, stream); })))
    return llvm::make_error<ToldError>();
  return llvm::Error::success();
}

llvm::Error ReportFiles::write(const plan::SearchReport &report, const plan::Explanation *explanation) {
  const plan::PlanReport &best = report.plans.front();
  return write([&](llvm::raw_ostream &stream) { writeReportPage(report, best.timeline, explanation, stream); },
               best.timeline, best.shape.str());
}
