//===- Search.cpp - The search of dtcc, shown
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Search.h"
#include "compiler/console/OutputFiles.h"
#include "compiler/planning/ConfirmPlans.h"
#include "planner/search/SearchHints.h"
#include "tools/dtcc-plan/arguments/ToldError.h"
#include "tools/dtcc-plan/pages/ReportFiles.h"
#include "tools/dtcc-plan/queries/GraphAdvisor.h"

using namespace mlir;
using namespace dtcc;

LogicalResult dtcc::searchAndPrint(const Options &given, const SearchOutput &output, raw_ostream &stream) {
  Options options = given;
  OutputFiles files(options.output, "dtcc-plan");
  if (failed(files.open({options.input})) || failed(resolveCluster(options, /*mayMix=*/true)))
    return failure();
  ReportFiles reports(output.html, output.trace);
  if (!tell(reports.open({options.input})))
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
  printWithFramework(result->report, {output.framework, options.precision, /*ofSizes=*/false}, output.json, stream);
  return success();
}
