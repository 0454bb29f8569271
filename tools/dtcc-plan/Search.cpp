//===- Search.cpp - The search of dtcc, shown
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Search.h"
#include "compiler/OutputFiles.h"
#include "passes/cost/ClusterFile.h"
#include "tools/dtcc-plan/PrintReport.h"
#include "tools/dtcc-plan/Question.h"
#include "tools/dtcc-plan/ReportFiles.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace dtcc;

static LogicalResult told(llvm::Error error) {
  bool failure = bool(error);
  llvm::handleAllErrors(
      std::move(error), [](const ToldError &) {},
      [](const llvm::ErrorInfoBase &info) {
        llvm::WithColor::error(llvm::errs(), "dtcc-plan") << info.message() << '\n';
      });
  return success(!failure);
}

/// On other devices than this machine's the model counts by its sizes.
static LogicalResult searchSizes(ModuleOp module, const Options &options, const SearchOutput &output,
                                 raw_ostream &stream) {
  Arguments arguments;
  if (llvm::Error error = setSizes(module, options.input, arguments))
    return told(std::move(error));
  auto give = [&](StringRef name, const std::string &value) {
    if (!value.empty())
      arguments.set(name, value);
  };
  give("cluster", options.cluster);
  give("mesh", options.mesh);
  give("zero", options.zero >= 0 ? std::to_string(options.zero) : "");
  give("microbatches", options.microbatches > 0 ? std::to_string(options.microbatches) : "");
  give("precision", options.precision);
  give("html", output.html);
  give("trace", output.trace);
  if (output.json)
    arguments.set("json", "");
  return told(searchTransformer(arguments, stream));
}

LogicalResult dtcc::searchAndPrint(const Options &given, const SearchOutput &output, raw_ostream &stream) {
  Options options = given;
  bool isHere = StringRef(options.cluster).starts_with("cpu");
  if (!isHere) {
    if (options.output != "-") {
      llvm::WithColor::error(llvm::errs(), "dtcc-plan")
          << "-o writes plans for this machine's cores alone in this version, got: --cluster=" << options.cluster
          << '\n';
      return failure();
    }
    if (llvm::Expected<cost::Cluster> cluster = cost::readCluster(options.cluster); !cluster) {
      llvm::WithColor::error(llvm::errs(), "dtcc-plan") << llvm::toString(cluster.takeError()) << '\n';
      return failure();
    }
    // Weights do not matter to a plan, and structures without any are welcome.
    options.init = "random";
  }
  OutputFiles files(options.output, "dtcc-plan");
  if (failed(files.open({options.input})))
    return failure();
  ReportFiles reports(isHere ? output.html : "", isHere ? output.trace : "");
  if (failed(told(reports.open({options.input}))))
    return failure();
  std::unique_ptr<LoadedStep> step = LoadedStep::load(options);
  if (!step)
    return failure();
  if (!isHere)
    return searchSizes(step->module(), options, output, stream);
  FailureOr<SearchResult> result = searchPlans(step->module(), options);
  if (failed(result))
    return failure();
  if (options.output != "-" &&
      failed(files.writeText([&](raw_ostream &out) { out << result->plans.front().plan.toJson(); })))
    return failure();
  plan::SearchReport report = reportOf(step->module(), *result, options);
  if (failed(told(reports.write(report))))
    return failure();
  output.json ? printReportJson(report, stream) : printReport(report, stream);
  return success();
}
