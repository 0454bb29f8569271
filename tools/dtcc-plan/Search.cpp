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
#include "dialects/graph/Shapes.h"
#include "passes/cost/ClusterFile.h"
#include "passes/graph/TransformerSizes.h"
#include "tools/dtcc-plan/SearchTransformer.h"
#include "tools/dtcc-plan/TextTable.h"
#include "tools/model/Diagnostics.h"
#include "tools/model/LoadModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
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

static std::string meshOf(const dist::PricedPlan &plan) {
  return llvm::formatv("dp={0} tp={1}", plan.dp, plan.tp).str();
}

/// Why it is not the best: too large by how much, or slower by how much.
static std::string verdict(const dist::PricedPlan &plan, const dist::PricedPlan &best, double memory) {
  if (!plan.fits)
    return "does not fit: " + formatBytes(plan.bytes() - memory) + " too much";
  if (&plan == &best)
    return "best";
  return llvm::formatv("{0:f2} x the time of the best", plan.seconds() / best.seconds()).str();
}

static void printTable(const SearchResult &result, raw_ostream &stream) {
  const auto &plans = result.plans;
  int64_t ranks = result.machine.ranks;
  printHeading(stream, llvm::formatv("{0} {1} for {2} {3}, forecast by the first cost model", plans.size(),
                                     plans.size() == 1 ? "plan" : "plans", ranks, ranks == 1 ? "rank" : "ranks")
                           .str());
  TextTable table({"mesh", ">ZeRO", ">ms a step", ">gradients' share", ">a rank", ">parameters", ">gradients",
                   ">optimizer", ">activations", ""});
  for (const dist::PricedPlan &plan : plans)
    table.add({meshOf(plan), std::to_string(plan.zero), llvm::formatv("{0:f3}", plan.seconds() * 1e3).str(),
               llvm::formatv("{0:f0} %", plan.seconds() > 0 ? 100 * plan.gradientSeconds / plan.seconds() : 0).str(),
               formatBytes(plan.bytes()), formatBytes(plan.parameterBytes), formatBytes(plan.gradientBytes),
               formatBytes(plan.slotBytes), formatBytes(plan.activationBytes),
               verdict(plan, plans.front(), result.machine.memoryBytes)});
  table.print(stream);
  stream << "memory for a rank: " << formatBytes(result.machine.memoryBytes)
         << "; gradients' share: of the time, to reduce gradients over dp\n";
  if (!plans.front().fits)
    stream << "no plan fits\n";
}

static void printJson(const SearchResult &result, raw_ostream &stream) {
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("ranks", result.machine.ranks);
    out.attribute("memory_bytes", result.machine.memoryBytes);
    out.attributeArray("plans", [&] {
      for (const dist::PricedPlan &plan : result.plans)
        out.object([&] {
          out.attributeObject("mesh", [&] {
            out.attribute("dp", plan.dp);
            out.attribute("tp", plan.tp);
          });
          out.attribute("microbatches", plan.plan.mesh.slots());
          out.attribute("zero", plan.zero);
          out.attribute("seconds", plan.seconds());
          out.attribute("gradient_seconds", plan.gradientSeconds);
          out.attributeObject("bytes", [&] {
            out.attribute("all", plan.bytes());
            out.attribute("parameters", plan.parameterBytes);
            out.attribute("gradients", plan.gradientBytes);
            out.attribute("optimizer", plan.slotBytes);
            out.attribute("activations", plan.activationBytes);
          });
          out.attribute("fits", plan.fits);
          out.attribute("excess_bytes", plan.fits ? 0.0 : plan.bytes() - result.machine.memoryBytes);
          out.attribute("times_best", plan.seconds() / result.plans.front().seconds());
        });
    });
  });
  stream << '\n';
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
  json ? printJson(*result, stream) : printTable(*result, stream);
  return success();
}
