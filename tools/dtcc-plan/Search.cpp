//===- Search.cpp - The search of dtcc, shown
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Search.h"
#include "compiler/OutputFiles.h"
#include "compiler/Pipelines.h"
#include "compiler/Planning.h"
#include "compiler/Training.h"
#include "dialects/AllDialects.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/cost/ClusterFile.h"
#include "passes/graph/TransformerSizes.h"
#include "tools/dtcc-plan/PrintReport.h"
#include "tools/dtcc-plan/SearchTransformer.h"
#include "tools/model/Diagnostics.h"
#include "tools/model/LoadModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace dtcc;

/// A model becomes a training step; a step stays as it is.
static LogicalResult makeStep(ModuleOp module, const Options &options) {
  if (module.lookupSymbol("step"))
    return success();
  if (!module.lookupSymbol("loss"))
    return module.emitError("holds no @loss to train; a forward graph needs --loss=KIND:key=value,...");
  if (failed(applyTrainingOptions(module, options)))
    return failure();
  PassManager manager(module.getContext());
  buildGraphPipeline(manager, options);
  return manager.run(module);
}

/// The sizes of a plan's axes; `ep` counts among those of dp, as a shape has it.
static plan::PlanShape shapeOf(const plan::Plan &plan) {
  plan::PlanShape shape;
  struct Row {
    StringRef name;
    int64_t plan::PlanShape::*size;
  };
  static constexpr Row rows[] = {{"dp", &plan::PlanShape::dp},
                                 {"tp", &plan::PlanShape::tp},
                                 {"cp", &plan::PlanShape::cp},
                                 {"ep", &plan::PlanShape::ep},
                                 {"pp", &plan::PlanShape::pp}};
  for (const dist::MeshAxis &axis : plan.mesh.axes)
    for (const Row &row : rows)
      if (StringRef(axis.name).split('.').first == row.name)
        shape.*row.size *= axis.size;
  shape.dp *= shape.ep;
  shape.microbatches = plan.mesh.slots();
  shape.zero = int(plan.zero);
  if (plan.pipeline) {
    StringRef schedule = plan.pipeline->schedule;
    shape.virtualStages = plan::stagesPerRank(schedule).value_or(1);
    shape.schedule = schedule == "zero-bubble"             ? plan::PipelineSchedule::ZeroBubble
                     : schedule.starts_with("interleaved") ? plan::PipelineSchedule::Interleaved
                                                           : plan::PipelineSchedule::OneForwardOneBackward;
  }
  return shape;
}

static plan::PlanReport describe(const dist::PricedPlan &priced) {
  plan::PlanReport report;
  report.shape = shapeOf(priced.plan);
  report.parts.recompute = priced.recomputeSeconds;
  report.parts.compute = priced.placementSeconds + priced.recomputeSeconds;
  report.parts.data = priced.gradientSeconds;
  report.seconds = report.parts.total();
  report.memory = {priced.parameterBytes, priced.gradientBytes, priced.slotBytes, priced.activationBytes};
  report.fits = priced.fits;
  return report;
}

static double countParameters(ModuleOp module) {
  double sum = 0;
  for (auto state : module.getOps<graph::StateOp>())
    if (state.getRole() == graph::StateRole::parameter)
      sum += double(llvm::product_of(state.getSavedShape()));
  return sum;
}

/// The first dimension of the inputs, and the second of tokens.
static void readBatch(ModuleOp module, plan::SearchReport &report) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  for (BlockArgument argument : step.getArguments()) {
    auto type = cast<ShapedType>(argument.getType());
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
    if (type.getRank() > 0 && report.batch == 0)
      report.batch = type.getDimSize(0);
    if (type.getRank() == 2 && role && role.getValue() == "tokens")
      report.sequence = double(type.getDimSize(1));
  }
}

static plan::SearchReport reportOf(ModuleOp module, const SearchResult &result, const Options &options) {
  plan::SearchReport report;
  report.model = llvm::sys::path::filename(options.input).str();
  report.parameters = double(countParameters(module));
  report.cluster = options.cluster;
  report.device = "rank of this machine";
  readBatch(module, report);
  auto give = [&](StringRef name, const std::string &value) {
    if (!value.empty())
      report.given.push_back(("--" + name + "=" + value).str());
  };
  give("mesh", options.mesh);
  give("zero", options.zero >= 0 ? std::to_string(options.zero) : "");
  give("microbatches", options.microbatches > 0 ? std::to_string(options.microbatches) : "");
  report.devices = report.domain = result.machine.ranks;
  report.memoryBytes = result.machine.memoryBytes;
  report.note = "forecast by the first cost model: communication of tp and cp counts as compute";
  for (const dist::PricedPlan &priced : result.plans) {
    report.plans.push_back(describe(priced));
    report.infeasible += !priced.fits;
  }
  report.shapes = report.placed = report.plans.size();
  explainPlans(report);
  return report;
}

/// On other devices than this machine's the model counts by its sizes.
static LogicalResult searchSizes(ModuleOp module, const Options &options, bool json, raw_ostream &stream) {
  FailureOr<graph::TransformerSizes> sizes = graph::readTransformer(module);
  if (failed(sizes))
    return failure();
  const cost::Transformer *model = &sizes->model;
  std::vector<std::string> words = {
      llvm::formatv("--transformer=layers={0},hidden={1},heads={2},kv-heads={3},ffn={4},vocabulary={5},sequence={6},"
                    "gated={7},tied={8}",
                    int64_t(model->layers), int64_t(model->hidden), int64_t(model->heads), int64_t(model->kvHeads),
                    int64_t(model->ffn), int64_t(model->vocabulary), int64_t(model->sequence), int(model->gated),
                    int(model->tied)),
      "--cluster=" + options.cluster, "--batch=" + std::to_string(sizes->batch)};
  auto give = [&](StringRef name, const std::string &value) {
    if (!value.empty())
      words.push_back(("--" + name + "=" + value).str());
  };
  give("mesh", options.mesh);
  give("zero", options.zero >= 0 ? std::to_string(options.zero) : "");
  give("microbatches", options.microbatches > 0 ? std::to_string(options.microbatches) : "");
  give("precision", options.precision);
  if (json)
    words.push_back("--json");
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  llvm::Expected<Arguments> parsed =
      Arguments::parse("search", arguments, searchTransformerValues(), searchTransformerFlags());
  llvm::Error error = parsed ? searchTransformer(*parsed, stream) : parsed.takeError();
  if (!error)
    return success();
  llvm::WithColor::error(llvm::errs(), "dtcc-plan") << llvm::toString(std::move(error)) << '\n';
  return failure();
}

LogicalResult dtcc::searchAndPrint(const Options &given, bool json, raw_ostream &stream) {
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
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  printDiagnostics(context);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = loadModel(context, options);
  if (!module || failed(makeStep(*module, options)))
    return failure();
  if (!isHere)
    return searchSizes(*module, options, json, stream);
  FailureOr<SearchResult> result = searchPlans(*module, options);
  if (failed(result))
    return failure();
  if (options.output != "-" &&
      failed(files.writeText([&](raw_ostream &out) { out << result->plans.front().plan.toJson(); })))
    return failure();
  plan::SearchReport report = reportOf(*module, *result, options);
  json ? printReportJson(report, stream) : printReport(report, stream);
  return success();
}
