//===- Search.cpp - The search of dtcc, shown
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Search.h"
#include "compiler/console/OutputFiles.h"
#include "compiler/options/ClusterOption.h"
#include "compiler/planning/ConfirmPlans.h"
#include "planner/search/SearchHints.h"
#include "planner/transformer/TransformerAdvisor.h"
#include "tools/dtcc-plan/RunForecast.h"
#include "tools/dtcc-plan/arguments/ToldError.h"
#include "tools/dtcc-plan/pages/ReportFiles.h"
#include "tools/dtcc-plan/queries/GraphAdvisor.h"
#include "tools/dtcc-plan/queries/PlanQuery.h"

using namespace mlir;
using namespace dtcc;

/// Prints a report, and below it what the run takes with its first plan.
static void printWithRun(const plan::SearchReport &report, const FrameworkRequest &framework, RunForecast &run,
                         bool json, raw_ostream &stream) {
  run.readStep(report);
  std::string line;
  llvm::raw_string_ostream text(line);
  printRun(run, text);
  printWithFramework(report, framework, json, stream, line, [&](llvm::json::OStream &out) { writeRun(run, out); });
}

LogicalResult dtcc::searchAndPrint(const Options &given, const SearchOutput &output, raw_ostream &stream) {
  Options options = given;
  OutputFiles files(options.output, "dtcc-plan");
  if (failed(files.open({options.input})) || failed(resolveCluster(options, /*mayMix=*/true)))
    return failure();
  ReportFiles reports(output.html, output.trace);
  if (!tell(reports.open({options.input})))
    return failure();
  double price = 0;
  if (!isThisMachine(options)) {
    FailureOr<cost::Cluster> cluster = clusterOf(options);
    if (failed(cluster))
      return failure();
    price = cluster->pricePerHour() / double(cluster->devices());
  }
  RunForecast run;
  if (!tell(run.readRun(output.run, price)))
    return failure();
  // The result refers to the step, so it is destroyed before it.
  PlanQuery query;
  FailureOr<PlanRequest> request = resolvePlanRequest(options);
  if (failed(request))
    return failure();
  query.options = options;
  query.request = *request;
  query.graph = LoadedStep::load(options);
  if (!query.graph)
    return failure();
  ModuleOp module = query.graph->module();
  FailureOr<SearchResult> result = searchPlans(module, options, *request);
  if (failed(result) || failed(confirmPlans(module, options, *result)))
    return failure();
  if (options.output != "-" && failed(files.writeText([&](raw_ostream &out) { out << result->plan(0).toJson(); })))
    return failure();
  if (!result->pricer->isMixed()) {
    GraphAdvisor advisor(query, result->report);
    result->report.hints = plan::findHints(result->report, advisor, request->mesh != plan::MeshSizes());
  }
  if (result->report.plans.size() > output.top)
    result->report.plans.resize(output.top);
  if (reports.any())
    recordBest(*result);
  if (!tell(reports.write(result->report)))
    return failure();
  printWithRun(result->report, {output.framework, options.precision, options.sizes.has_value()}, run, output.json,
               stream);
  return success();
}

/// The format that options of a command line ask for.
static llvm::Expected<SearchOutput> readOutput(const Arguments &arguments) {
  SearchOutput output;
  llvm::Expected<int64_t> top = arguments.count("top", int64_t(output.top));
  if (!top)
    return top.takeError();
  output.top = size_t(*top);
  output.json = arguments.has("json");
  output.html = arguments.value("html").str();
  output.trace = arguments.value("trace").str();
  output.run = arguments;
  if (arguments.has("write")) {
    llvm::Expected<const Framework *> found = findFramework(arguments.value("write"));
    if (!found)
      return found.takeError();
    output.framework = *found;
  }
  return output;
}

llvm::Error dtcc::searchGraphOfSizes(const Arguments &arguments, llvm::raw_ostream &stream) {
  if (!arguments.inputs().empty())
    return llvm::createStringError("search takes a model or --transformer, got both: " + arguments.inputs()[0]);
  if (!arguments.has("cluster"))
    return llvm::createStringError("--cluster must be given: 8xh100, or a file");
  llvm::Expected<SearchOutput> output = readOutput(arguments);
  if (!output)
    return output.takeError();
  llvm::Expected<Options> options = readGraphOptions("", arguments);
  if (!options)
    return options.takeError();
  if (arguments.has("o"))
    options->output = arguments.value("o").str();
  if (succeeded(searchAndPrint(*options, *output, stream)))
    return llvm::Error::success();
  return llvm::make_error<ToldError>();
}

llvm::Error dtcc::searchTransformer(const Arguments &arguments, llvm::raw_ostream &stream) {
  if (!arguments.inputs().empty())
    return llvm::createStringError("search takes a model or --transformer, got both: " + arguments.inputs()[0]);
  llvm::Expected<TransformerSearch> search = TransformerSearch::read(arguments, /*mayMix=*/true);
  if (!search)
    return search.takeError();
  llvm::Expected<int64_t> top = arguments.count("top", 10);
  if (!top)
    return top.takeError();
  const cost::Cluster &cluster = search->given.cluster;
  RunForecast run;
  if (llvm::Error error = run.readRun(arguments, cluster.pricePerHour() / double(cluster.devices())))
    return error;
  FrameworkRequest framework{nullptr, arguments.has("precision") ? arguments.value("precision").str() : "bf16", true};
  if (arguments.has("write")) {
    llvm::Expected<const Framework *> found = findFramework(arguments.value("write"));
    if (!found)
      return found.takeError();
    framework.framework = *found;
  }
  ReportFiles files(arguments.value("html"), arguments.value("trace"));
  if (llvm::Error error = files.open({}))
    return error;
  llvm::Expected<plan::SearchReport> report = search->run(size_t(*top), files.any());
  if (!report)
    return report.takeError();
  if (search->problem.kinds.empty()) {
    plan::TransformerAdvisor advisor(search->problem, search->space);
    report->hints = plan::findHints(*report, advisor, arguments.has("mesh"));
  }
  if (llvm::Error error = files.write(*report))
    return error;
  printWithRun(*report, framework, run, arguments.has("json"), stream);
  return llvm::Error::success();
}
