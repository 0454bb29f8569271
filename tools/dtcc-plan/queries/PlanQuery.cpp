//===- PlanQuery.cpp - A model on a cluster, as commands are asked about it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/queries/PlanQuery.h"
#include "compiler/planning/ConfirmPlans.h"
#include "planner/cluster/ClusterFile.h"
#include "tools/dtcc-plan/arguments/HubConfig.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace dtcc;
using llvm::StringRef;

char ToldError::ID = 0;

bool dtcc::tell(llvm::Error error) {
  if (!error)
    return true;
  llvm::handleAllErrors(
      std::move(error), [](const ToldError &) {},
      [](const llvm::ErrorInfoBase &info) {
        llvm::WithColor::error(llvm::errs(), "dtcc-plan") << info.message() << '\n';
      });
  return false;
}

/// Options of dtcc that go with a file: what model it holds, and parts of the plan that sizes do not know.
static constexpr StringRef kFileValues[] = {
    "bind",         "loss",          "loss-output",       "optimizer",          "batch-norm",
    "batch-losses", "external-root", "sequence-parallel", "stationary-weights", "cp-attention",
    "moe-dispatch", "moe-capacity",  "cp-order",          "schedule",           "recompute",
    "pin"};
/// The options of a plan that both searches know.
static constexpr StringRef kPlanValues[] = {"cluster",   "mesh",    "zero",      "microbatches",
                                            "precision", "offload", "gradients", "headroom"};
/// Options of sizes that a file has otherwise, and what to do instead.
static constexpr std::pair<StringRef, StringRef> kSizeValues[] = {
    {"batch", "bind the batch of a model file: --bind=batch=N"},
    {"micro-batch", "--microbatches=N says how many a model file's batch is cut into"},
    {"software", "a model file is priced as the programs of dtcc run it"}};

std::vector<StringRef> dtcc::queryValues(llvm::ArrayRef<StringRef> more) {
  std::vector<StringRef> values = searchTransformerValues();
  llvm::erase_if(values, [](StringRef value) {
    return value == "html" || value == "trace" || value == "write" || value == "micro-batch" || value == "tokens" ||
           value == "price" || llvm::is_contained(kFileValues, value);
  });
  values.insert(values.end(), std::begin(kFileValues), std::end(kFileValues));
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

std::vector<StringRef> dtcc::sizesOrFileValues() {
  std::vector<StringRef> values = searchTransformerValues();
  llvm::copy_if(kFileValues, std::back_inserter(values),
                [](StringRef value) { return !llvm::is_contained(searchTransformerValues(), value); });
  return values;
}

llvm::Error dtcc::refuseFileValues(const Arguments &arguments, llvm::ArrayRef<StringRef> known) {
  for (StringRef name : kFileValues)
    if (arguments.has(name) && !llvm::is_contained(known, name))
      return llvm::createStringError("--" + name +
                                     " goes with programs of dtcc, got: --software=" + arguments.value("software"));
  return llvm::Error::success();
}

llvm::Error dtcc::refuseSizeValue(StringRef name) {
  for (auto [known, instead] : kSizeValues)
    if (name == known)
      return llvm::createStringError("--" + name + " goes with --transformer: " + instead);
  return llvm::Error::success();
}

/// Options of a file that a model by its sizes does not have.
static constexpr StringRef kFileOnly[] = {"bind", "loss", "loss-output", "external-root"};

/// Puts the sizes of --transformer, and the batch of --batch, in the place of a file.
static llvm::Error setSizes(const Arguments &arguments, Options &options) {
  for (StringRef name : kFileOnly)
    if (arguments.has(name))
      return llvm::createStringError("--" + name +
                                     " goes with a model file, got: --transformer=" + arguments.value("transformer"));
  if (arguments.has("micro-batch"))
    return llvm::createStringError("--micro-batch goes with the programs of other software: --microbatches=N says how "
                                   "many a batch is cut into, got: --micro-batch=" +
                                   arguments.value("micro-batch"));
  llvm::Expected<cost::Transformer> sizes = readTransformer(arguments);
  if (!sizes)
    return sizes.takeError();
  llvm::Expected<cost::Cluster> cluster = cost::readCluster(arguments.value("cluster"));
  if (!cluster)
    return cluster.takeError();
  llvm::Expected<int64_t> batch = arguments.count("batch", cluster->devices());
  if (!batch)
    return batch.takeError();
  options.sizes = *sizes;
  options.bind = "batch=" + std::to_string(*batch);
  return llvm::Error::success();
}

/// The name of the model of --transformer: that of the table, or of the folder of a config.json.
static std::string nameOfSizes(StringRef text) {
  StringRef first = text.split(',').first;
  if (!isHubConfig(text))
    return first.contains('=') ? "transformer" : first.str();
  StringRef folder = llvm::sys::path::parent_path(first), file = llvm::sys::path::filename(first);
  return file != "config.json" || folder.empty() ? file.str() : llvm::sys::path::filename(folder).str();
}

llvm::Expected<Options> dtcc::readGraphOptions(StringRef model, const Arguments &arguments) {
  if (!model.empty())
    for (const auto &row : kSizeValues)
      if (arguments.has(row.first))
        return refuseSizeValue(row.first);
  std::vector<std::string> words = {"--emit=plan",
                                    model.empty() ? nameOfSizes(arguments.value("transformer")) : model.str()};
  for (llvm::ArrayRef<StringRef> names : {llvm::ArrayRef(kFileValues), llvm::ArrayRef(kPlanValues)})
    for (StringRef name : names)
      if (arguments.has(name))
        words.push_back(("--" + name + "=" + arguments.value(name)).str());
  std::vector<const char *> line = {"dtcc"};
  for (const std::string &word : words)
    line.push_back(word.c_str());
  Options options;
  if (failed(parseOptions(int(line.size()), line.data(), options)))
    return llvm::make_error<ToldError>();
  if (model.empty())
    if (llvm::Error error = setSizes(arguments, options))
      return std::move(error);
  return options;
}

/// The options of dtcc for the model, and its training step.
static llvm::Error readGraph(StringRef model, const Arguments &arguments, bool silent, PlanQuery &query) {
  llvm::Expected<Options> options = readGraphOptions(model, arguments);
  if (!options)
    return options.takeError();
  query.options = std::move(*options);
  if (failed(resolveCluster(query.options, /*mayMix=*/true)))
    return llvm::make_error<ToldError>();
  mlir::FailureOr<PlanRequest> request = resolvePlanRequest(query.options);
  if (failed(request))
    return llvm::make_error<ToldError>();
  query.request = std::move(*request);
  if (!isThisMachine(query.options)) {
    llvm::Expected<cost::Cluster> cluster = cost::readCluster(query.options.cluster);
    if (!cluster)
      return cluster.takeError();
    query.pricePerHour = cluster->pricePerHour() / double(cluster->devices());
    query.setKinds(*cluster);
  }
  query.graph = LoadedStep::load(query.options, silent);
  return query.graph ? llvm::Error::success() : llvm::make_error<ToldError>();
}

void PlanQuery::setKinds(const cost::Cluster &cluster) {
  std::vector<cost::DeviceKind> all = cost::kindsOf(cluster);
  for (const cost::DeviceKind &kind : all)
    if (all.size() > 1)
      kinds.push_back(kind.devices);
}

llvm::Error PlanQuery::checkRanks(StringRef plan, int64_t ranks, const plan::SearchReport &report) const {
  if (ranks == report.devices || llvm::is_contained(kinds, ranks))
    return llvm::Error::success();
  return llvm::createStringError(plan + ": the plan must take all " + llvm::Twine(report.devices) + " devices of " +
                                 report.cluster + (kinds.empty() ? "" : ", or all of a kind") +
                                 ", got: " + llvm::Twine(ranks));
}

llvm::Expected<PlanQuery> PlanQuery::read(StringRef model, const Arguments &arguments, bool silent) {
  PlanQuery query;
  if (model.empty() == !arguments.has("transformer"))
    return llvm::createStringError(
        "a model must be given once, as a file or by --transformer, got: " +
        (model.empty() ? "none" : model + " and --transformer=" + arguments.value("transformer")));
  if (!arguments.has("cluster"))
    return llvm::createStringError("--cluster must be given: 8xh100, cpu:4, or a file");
  if (!model.empty() || isOwnSoftware(arguments)) {
    if (llvm::Error error = readGraph(model, arguments, silent, query))
      return std::move(error);
    return query;
  }
  if (llvm::Error error = refuseFileValues(arguments))
    return std::move(error);
  llvm::Expected<TransformerSearch> search = TransformerSearch::read(arguments);
  if (!search)
    return search.takeError();
  query.sizes = std::move(*search);
  const cost::Cluster &cluster = query.sizes->given.cluster;
  query.pricePerHour = cluster.pricePerHour() / double(cluster.devices());
  query.setKinds(cluster);
  return query;
}

llvm::Expected<plan::SearchReport> PlanQuery::search(size_t top, bool record, bool anyMemory) const {
  if (sizes)
    return sizes->run(top, record);
  SearchLimits limits;
  limits.pricers = &pricers;
  limits.anyMemory = anyMemory;
  mlir::FailureOr<SearchResult> result = searchPlans(graph->module(), options, request, limits);
  if (failed(result) || (!anyMemory && failed(confirmPlans(graph->module(), options, *result))))
    return llvm::make_error<ToldError>();
  if (record)
    recordBest(*result);
  plan::SearchReport report = std::move(result->report);
  report.plans.resize(std::min(top, report.plans.size()));
  return report;
}

llvm::Expected<plan::SearchReport> PlanQuery::searchBest() const {
  if (sizes)
    return sizes->runBest();
  SearchLimits limits;
  limits.pricers = &pricers;
  limits.silent = true;
  mlir::FailureOr<SearchResult> result = searchPlans(graph->module(), options, request, limits);
  if (failed(result) || failed(confirmPlans(graph->module(), options, *result, /*silent=*/true)))
    return llvm::createStringError("no plan fits; search --cluster=" + options.cluster + " says what is lacking");
  plan::SearchReport report = std::move(result->report);
  report.plans.resize(1);
  return report;
}
