//===- SearchTransformer.cpp - Plans of a model that is given by its sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/queries/SearchTransformer.h"
#include "planner/transformer/Memory.h"
#include "planner/transformer/MemoryTable.h"
#include "planner/transformer/TransformerAdvisor.h"
#include "tools/dtcc-plan/arguments/HubConfig.h"
#include "tools/dtcc-plan/arguments/TransformerOptions.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;
using llvm::StringRef;

static constexpr StringRef kValues[] = {"transformer",  "cluster",     "batch",     "mesh",     "zero",
                                        "microbatches", "micro-batch", "precision", "software", "top",
                                        "html",         "trace",       "offload",   "write",    "gradients",
                                        "recompute",    "schedule",    "tokens",    "price",    "headroom"};
static constexpr StringRef kFlags[] = {"json"};
llvm::ArrayRef<StringRef> dtcc::searchTransformerValues() { return kValues; }
llvm::ArrayRef<StringRef> dtcc::searchTransformerFlags() { return kFlags; }

/// Reads --mesh: each axis that it names has only the given size.
static llvm::Error readMesh(const Arguments &arguments, plan::ShapeSpace &space) {
  llvm::Expected<plan::MeshSizes> mesh = readMeshSizes(arguments);
  if (!mesh)
    return mesh.takeError();
  auto part = [](std::string_view name, int64_t size) { return std::string(name) + "=" + std::to_string(size); };
  for (const plan::MeshSizeRow &axis : plan::kMeshSizes)
    if (std::optional<int64_t> size = *mesh.*axis.size; size && space.devices % *size)
      return llvm::createStringError("--mesh must divide the " + llvm::Twine(space.devices) +
                                     " devices, got: " + part(axis.name, *size));
  for (const plan::SearchedAxis &axis : plan::kSearchedAxes) {
    std::optional<int64_t> size = *mesh.*axis.size;
    if (!size)
      continue;
    if (std::vector<int64_t> &allowed = space.*axis.allowed; !llvm::is_contained(allowed, *size))
      return llvm::createStringError(
          "the model does not allow " + part(axis.name, *size) + "; " + StringRef(axis.name) + " may be " +
          llvm::join(llvm::map_range(allowed, [](int64_t each) { return std::to_string(each); }), ", "));
    space.*axis.allowed = {*size};
  }
  space.dp = mesh->dp;
  space.groups = mesh->groups;
  return llvm::Error::success();
}

/// Reads --offload, which says what may be moved to the host. A host of unknown memory then counts as large enough.
static llvm::Error readOffload(const Arguments &arguments, plan::TransformerProblem &problem, plan::ShapeSpace &space,
                               std::optional<plan::Offload> &offload) {
  StringRef text = arguments.value("offload");
  if (text.empty())
    return llvm::Error::success();
  offload = plan::parseOffload(text);
  if (!offload)
    return llvm::createStringError("--offload must be none, optimizer, activations or all, got: " + text);
  if (offload->any() && problem.device.architecture == cost::Architecture::Cpu)
    return llvm::createStringError("--offload=" + text +
                                   " moves state from devices to their hosts, and ranks of processors have no memory "
                                   "but their host's, got: --cluster=" +
                                   arguments.value("cluster"));
  if (offload->any() && problem.host.memoryBytes <= 0)
    problem.host.memoryBytes = std::numeric_limits<double>::max();
  problem.mayOffloadActivations = offload->activations;
  space.hostOptimizer = {offload->optimizer};
  return llvm::Error::success();
}

llvm::Error dtcc::readGradientType(const Arguments &arguments, plan::GradientType &type) {
  if (!arguments.has("gradients"))
    return llvm::Error::success();
  std::optional<plan::GradientType> given = plan::parseGradientType(arguments.value("gradients").str());
  if (!given)
    return llvm::createStringError("--gradients must be f32 or bf16, got: " + arguments.value("gradients"));
  type = *given;
  return llvm::Error::success();
}

/// Reads --schedule, which shapes of one stage do not have.
static llvm::Error readSchedule(const Arguments &arguments, plan::ShapeSpace &space) {
  if (!arguments.has("schedule"))
    return llvm::Error::success();
  llvm::Expected<cost::NamedSchedule> named = readScheduleName(arguments.value("schedule"));
  if (!named)
    return named.takeError();
  if (space.pp == std::vector<int64_t>{1})
    return llvm::createStringError("--schedule orders the stages of a pipeline, and the plan has one: leave it out or "
                                   "give pp, got: --schedule=" +
                                   arguments.value("schedule"));
  if (space.pp.size() > 1)
    llvm::erase(space.pp, 1);
  space.schedules = {named->kind};
  if (cost::has(named->kind, cost::ScheduleRow::SeveralStages))
    space.virtualStages = named->virtualStages;
  return llvm::Error::success();
}

llvm::Error dtcc::refuseTwoCuts(const Arguments &arguments) {
  if (!arguments.has("microbatches") || !arguments.has("micro-batch"))
    return llvm::Error::success();
  return llvm::createStringError("--microbatches and --micro-batch cut one batch: give one of them, got: "
                                 "--microbatches=" +
                                 arguments.value("microbatches") +
                                 " and --micro-batch=" + arguments.value("micro-batch"));
}

/// Reads --microbatches or --micro-batch, of which the mesh makes the other.
static llvm::Error readMicrobatches(const Arguments &arguments, plan::ShapeSpace &space) {
  if (llvm::Error error = refuseTwoCuts(arguments))
    return error;
  for (auto [name, place] :
       {std::pair("microbatches", &space.microbatches), {"micro-batch", &space.microbatchSamples}}) {
    llvm::Expected<int64_t> count = arguments.count(name, 0);
    if (!count)
      return count.takeError();
    if (*count)
      *place = *count;
  }
  return llvm::Error::success();
}

static llvm::Error readSpace(const Arguments &arguments, plan::TransformerProblem &problem, plan::ShapeSpace &space,
                             std::optional<plan::Offload> &offload) {
  space = plan::shapeSpaceOf(problem);
  if (llvm::Error error = readOffload(arguments, problem, space, offload))
    return error;
  if (llvm::Error error = readMesh(arguments, space))
    return error;
  if (llvm::Error error = readGradientType(arguments, space.gradients))
    return error;
  if (arguments.has("zero")) {
    int zero;
    if (arguments.value("zero").getAsInteger(10, zero) || zero < 0 || zero > 3)
      return llvm::createStringError("--zero must be 0, 1, 2 or 3, got: " + arguments.value("zero"));
    space.zero = {zero};
  }
  if (arguments.has("recompute"))
    if (llvm::Error error = choose(arguments, "recompute", kRecomputations, problem.recompute.emplace()))
      return error;
  if (llvm::Error error = readSchedule(arguments, space))
    return error;
  return readMicrobatches(arguments, space);
}

/// Describes the fewest devices of a kind that hold the model under the given options, and their plan; nothing if no
/// number does.
static std::optional<std::string> holders(const plan::TransformerProblem &problem, const plan::ShapeSpace &space) {
  std::optional<plan::FewestDevices> fewest = plan::fewestDevices(problem, space);
  if (!fewest)
    return std::nullopt;
  return llvm::formatv("{0} x {1} would hold it, as {2}", fewest->devices, problem.device.name,
                       fewest->plan.shape.str())
      .str();
}

/// Error that says how many bytes the nearest plan lacks, and which devices would hold the model.
static llvm::Error noneFits(const TransformerSearch &search, size_t tried) {
  const plan::TransformerProblem &problem = search.problem;
  if (!problem.kinds.empty()) {
    std::string alone;
    for (const plan::DeviceKind &kind : problem.kinds) {
      plan::TransformerProblem one = problem;
      one.kinds.clear();
      one.device = kind.device;
      one.fabric = kind.fabric;
      one.host = kind.host;
      if (std::optional<std::string> text = holders(one, search.space))
        alone += "; " + *text;
    }
    return llvm::createStringError("no plan fits: " + llvm::Twine(tried) + " shapes were tried on " +
                                   cost::kindsText(problem.kinds) +
                                   (alone.empty() ? "; nor would tens of thousands of either kind" : alone));
  }
  std::string message =
      llvm::formatv("no plan fits: {0} shapes were tried on {1} x {2}", tried, problem.devices, problem.device.name);
  if (std::optional<plan::PlanReport> nearest = plan::TransformerAdvisor(problem, search.space).best({}))
    message += "; " + plan::whatIsLacking(*nearest, cost::usableBytes(problem.device));
  return llvm::createStringError(message + "; " +
                                 holders(problem, search.space).value_or("nor would tens of thousands"));
}

llvm::Expected<TransformerSearch> TransformerSearch::read(const Arguments &arguments, bool mayMix) {
  TransformerSearch search;
  if (llvm::Error error = readTransformerOnCluster(arguments, search.given, mayMix))
    return std::move(error);
  const TransformerOnCluster &given = search.given;
  search.problem = {
      given.model, given.device(),      given.cluster.fabric(), given.software, given.run, given.cluster.devices(),
      1,           given.cluster.host()};
  if (!given.cluster.isUniform())
    search.problem.kinds = cost::kindsOf(given.cluster);
  llvm::Expected<int64_t> batch = arguments.count("batch", search.problem.devices);
  if (!batch)
    return batch.takeError();
  search.problem.batch = *batch;
  if (llvm::Error error = readSpace(arguments, search.problem, search.space, search.offload))
    return std::move(error);
  StringRef name = arguments.value("transformer");
  search.model = name.contains('=') && !isHubConfig(name) ? "" : name.split(',').first.str();
  for (StringRef option : {"mesh", "zero", "microbatches", "micro-batch", "recompute", "schedule", "precision",
                           "software", "offload", "gradients", "headroom"})
    if (arguments.has(option))
      search.options.push_back(("--" + option + "=" + arguments.value(option)).str());
  return search;
}

void TransformerSearch::describe(plan::SearchReport &report) const {
  report.model = model;
  report.cluster = given.cluster.name;
  report.software = given.softwareName;
  report.given = options;
}

llvm::Expected<plan::SearchReport> TransformerSearch::run(size_t top, bool record) const {
  auto find = [&](plan::ShapeList shapes, plan::ShapePricer &pricer) {
    return plan::searchShapes(std::move(shapes), pricer, std::max<size_t>(100, top));
  };
  return run(find, top, record);
}

llvm::Expected<plan::SearchReport> TransformerSearch::runBest() const {
  auto find = [](plan::ShapeList shapes, plan::ShapePricer &pricer) {
    return plan::searchBest(std::move(shapes), pricer);
  };
  return run(find, 1, /*record=*/false);
}

llvm::Expected<plan::SearchReport> TransformerSearch::run(Find find, size_t top, bool record) const {
  plan::ShapeList shapes = plan::enumerateShapes(space);
  if (shapes.empty() && !problem.kinds.empty())
    return llvm::createStringError(
        "no sizes of axes put every stage on devices of one kind: dp x tp x cp must fit into " +
        cost::kindsText(problem.kinds) + ", as given");
  if (shapes.empty())
    return llvm::createStringError("no sizes of axes take all " + llvm::Twine(problem.devices) +
                                   " devices and divide the batch of " + llvm::Twine(problem.batch) + " as given");
  plan::TransformerPricer pricer(problem);
  plan::ShapeResult result = find(shapes, pricer);
  if (result.plans.empty())
    return noneFits(*this, shapes.size());
  plan::SearchReport report = plan::reportOf(problem, pricer, result, top, record);
  describe(report);
  if (!problem.kinds.empty()) {
    report.device = cost::kindsText(problem.kinds);
    std::string stages;
    for (const plan::StageSolution::Stage &stage : result.plans[0].stages.stages)
      stages += (stages.empty() ? "" : ", ") + problem.kinds[stage.deviceClass].device.name;
    report.note = plan::noteOfMixedDevices(stages);
  }
  return report;
}
