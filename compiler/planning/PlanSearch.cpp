//===- PlanSearch.cpp - From the command line to a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/planning/PlanSearch.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/console/StatusLine.h"
#include "compiler/options/PlanRequest.h"
#include "compiler/planning/PipelinePlanning.h"
#include "dialects/graph/Graph.h"
#include "passes/graph/NamedFunctions.h"
#include "planner/cluster/ClusterFile.h"
#include "planner/search/DeviceCounts.h"
#include "planner/step/ModelWork.h"
#include "planner/transformer/Memory.h"
#include "runtime/abi/console/AmountText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace dtcc;

/// Numbers of devices that are tried: each is a search.
static constexpr int64_t kMostDevices = 1 << 16, kNodesOneByOne = 8;
/// Number of plans that are compared to find the one that exceeds the memory least.
static constexpr size_t kNearest = 1000;

namespace {

class Search {
public:
  Search(ModuleOp module, const Options &options, const PlanRequest &held, const SearchLimits &limits)
      : module(module), options(options), held(held), limits(limits) {
    request.anyMemory = limits.anyMemory;
  }
  FailureOr<SearchResult> run();

private:
  /// The shapes of the search.
  FailureOr<plan::ShapeList> prepare();
  LogicalResult readAnnotations();
  LogicalResult readCluster();
  LogicalResult readRequest();
  LogicalResult readPins();
  /// Whether the schedule is a list of actions.
  bool hasActions() const { return !pipeline.actions.ranks.empty(); }
  std::optional<cost::NamedSchedule> givenSchedule() const;
  void holdAxes(plan::ShapeSpace &space) const;
  plan::ShapeSpace makeSpace() const;
  LogicalResult checkStages();
  plan::ShapeList enumerate(plan::ShapeSpace space) const;
  bool isAllowed(const plan::Parallelism &shape, int64_t virtualStages) const;
  /// The shapes of the space that keep what is given; failure after a message if there is none.
  FailureOr<plan::ShapeList> shapes();
  LogicalResult explainEmpty(const plan::ShapeSpace &space);
  LogicalResult noneFits(const plan::ShapeList &all);
  void report(SearchResult &result, const plan::ShapeResult &found);
  std::pair<std::shared_ptr<spmd::GraphPricer>, bool> findLike(PricerKey key) const;
  std::shared_ptr<spmd::GraphPricer> makePricer();

  ModuleOp module;
  const Options &options;
  PlanRequest held;
  PipelineRequest pipeline;
  spmd::GraphRequest request;
  const SearchLimits &limits;
  cost::Machine machine;
  /// One machine for each device kind of a cluster of heterogeneous devices.
  std::vector<cost::Machine> kinds;
  std::string kindsText;
  func::FuncOp step;
  std::shared_ptr<spmd::GraphPricer> pricer;
};

} // namespace

/// Holds the mesh and pins of an annotated model, unless the request holds another mesh or other pins, or there is
/// another number of devices.
LogicalResult Search::readAnnotations() {
  auto placement = module->getAttrOfType<DictionaryAttr>("dtcc.placement");
  if (!placement || held.annotated || limits.devices)
    return success();
  int64_t devices = placement.getAs<IntegerAttr>("devices").getInt(), ranks = ranksOfCluster(options).value_or(devices);
  StringRef mesh = placement.getAs<StringAttr>("mesh").getValue();
  std::string instead = held.mesh != plan::MeshSizes() ? "--mesh=" + held.mesh.str()
                        : !held.pins.empty()           ? "--pin=" + held.pins.front()
                        : ranks && ranks != devices    ? "--cluster=" + options.cluster
                                                       : "";
  if (!instead.empty()) {
    if (!limits.silent)
      module.emitRemark("the model's annotations for ")
          << devices << " devices (" << mesh << ") are ignored, because " << instead << " is given";
    return success();
  }
  std::string error;
  std::optional<plan::MeshSizes> sizes = plan::parseMeshSizes(mesh, error, kMostRanks);
  if (!sizes)
    return module.emitError("the model's annotations: ") << error;
  held.annotated = true;
  held.mesh = *sizes;
  for (Attribute pin : placement.getAs<ArrayAttr>("pins"))
    held.pins.push_back(cast<StringAttr>(pin).str());
  for (auto [node, stage] : llvm::zip_equal(placement.getAs<ArrayAttr>("stage_nodes"),
                                            placement.getAs<DenseI64ArrayAttr>("stages").asArrayRef()))
    held.nodeStages.try_emplace(cast<StringAttr>(node).getValue(), stage);
  return success();
}

LogicalResult Search::readCluster() {
  const plan::MeshSizes &mesh = held.mesh;
  int64_t product = mesh.product();
  if (std::optional<int64_t> ranks = ranksOfThisMachine(options)) {
    // Without a number of ranks, the mesh says it; without a mesh, one rank uses all cores.
    int64_t count = limits.devices ? limits.devices : *ranks ? *ranks : product;
    if (count > kMostRanks)
      return wrong("--mesh must have at most " + Twine(kMostRanks) + " ranks, got: " + Twine(count));
    machine = thisMachine(options, count);
    if (llvm::Error error = cost::leaveFree(options.headroom, machine.device))
      return wrong(llvm::toString(std::move(error)));
  } else {
    FailureOr<cost::Cluster> cluster = clusterOf(options);
    if (failed(cluster))
      return failure();
    machine = cost::Machine::of(*cluster);
    // Programs lock memory of their host; they spill to no disk.
    machine.host.nvmeBytes = 0;
    kinds = cost::Machine::eachOf(*cluster);
    if (kinds.size() > 1)
      kindsText = cost::kindsText(cost::kindsOf(*cluster));
    // A number of devices does not say which kinds are left out.
    if (limits.devices && kinds.size() > 1)
      return limits.silent ? failure() : wrong("a number of devices must be of one kind, got: " + kindsText);
    if (limits.devices)
      machine.ranks = limits.devices;
  }
  if (mesh.isWhole() ? product != machine.ranks : machine.ranks % product != 0) {
    if (limits.silent)
      return failure();
    return wrong(llvm::formatv("--mesh={0} must {1} the {2} ranks of --cluster={3}, got: {4}", mesh.str(),
                               mesh.isWhole() ? "take all of" : "divide", machine.ranks, options.cluster, product));
  }
  return success();
}

LogicalResult Search::readRequest() {
  FailureOr<PipelineRequest> given =
      readSchedule(held.schedule, held.mesh.pp, held.mesh.isWhole() || machine.ranks == 1);
  if (failed(given))
    return failure();
  pipeline = std::move(*given);
  request.recompute = held.recompute;
  const std::optional<plan::Offload> &offload = held.offload;
  if (offload && offload->any() && machine.isCpu())
    return wrong("--offload=" + offload->str() +
                 " moves state from devices to their hosts, and ranks of processors have no memory but their host's, "
                 "got: --cluster=" +
                 options.cluster);
  // If the cluster does not give the host memory and the user asks to offload, the host memory is taken to suffice.
  if (offload && offload->any() && machine.host.memoryBytes <= 0)
    machine.host.memoryBytes = std::numeric_limits<double>::max();
  request.mayOffloadActivations = !offload || offload->activations;
  // A given plan lists the activations that it offloads.
  request.mustOffloadActivations = offload && offload->activations && !limits.given;
  request.experts = *spmd::parseExpertExchange(options.moeDispatch);
  // Gathered rows have no bound.
  request.capacity = std::max(options.moeCapacity, 0.0);
  if (request.capacity > 0)
    request.experts = spmd::ExpertExchange::AllToAll;
  if (options.cpOrder != "auto")
    request.order = options.cpOrder == "zigzag" ? plan::SequenceOrder::ZigZag : plan::SequenceOrder::Contiguous;
  request.share = held.mesh.tp.has_value();
  request.actions = pipeline.actions;
  request.stages = pipeline.actions.ranks.empty() ? 0 : pipeline.actions.stages();
  request.nodeStages = held.nodeStages;
  request.given = limits.given;
  if (limits.given && limits.given->dispatches)
    request.experts = *limits.given->dispatches ? spmd::ExpertExchange::AllToAll : spmd::ExpertExchange::Gather;
  if (limits.given)
    request.capacity = limits.given->capacity.value_or(0);
  return success();
}

LogicalResult Search::readPins() {
  std::vector<spmd::Pin> pins;
  for (const std::string &text : held.pins) {
    llvm::Expected<spmd::Pin> pin = spmd::parsePin(text);
    if (!pin)
      return wrong(llvm::toString(pin.takeError()));
    pins.push_back(std::move(*pin));
  }
  FailureOr<spmd::Pins> found = spmd::Pins::resolve(step, std::move(pins));
  if (failed(found))
    return failure();
  request.pins = std::move(*found);
  const spmd::Pin *splitting = request.pins.splitting();
  if (!splitting || (held.mesh.tp ? *held.mesh.tp > 1 : !held.mesh.isWhole() && machine.ranks > held.mesh.product()))
    return success();
  return wrong("--pin=" + splitting->text + " and " +
               (held.mesh == plan::MeshSizes() ? "--cluster=" + options.cluster : "--mesh=" + held.mesh.str()) +
               " contradict each other: one rank of tp has nothing to split");
}

/// The axes whose sizes the options or a given schedule fix take no other size.
void Search::holdAxes(plan::ShapeSpace &space) const {
  const plan::MeshSizes &mesh = held.mesh;
  if (request.pins.splitting())
    llvm::erase(space.tp, 1);
  for (const plan::SearchedAxis &axis : plan::kSearchedAxes)
    if (std::optional<int64_t> given = mesh.*axis.size; given || mesh.isWhole())
      space.*axis.allowed = {given.value_or(1)};
  // Both mean ranks of tp, so tp=1 is no candidate.
  if (held.sequenceParallel.value_or(false) || held.stationaryWeights.value_or(false))
    llvm::erase(space.tp, 1);
  if (hasActions())
    space.pp = {int64_t(pipeline.actions.ranks.size())};
  if (!held.schedule.empty() && space.pp.size() > 1)
    llvm::erase(space.pp, 1);
}

/// The schedule that --schedule names; 1F1B for one that has only actions. Nothing if none is given.
std::optional<cost::NamedSchedule> Search::givenSchedule() const {
  constexpr cost::NamedSchedule usual{plan::PipelineKind::OneForwardOneBackward, 1};
  if (!pipeline.schedule.empty())
    return cost::parseSchedule(pipeline.schedule).value_or(usual);
  return hasActions() ? std::optional(usual) : std::nullopt;
}

/// The space of shapes that the model, the ranks and the options allow.
plan::ShapeSpace Search::makeSpace() const {
  plan::ShapeSpace space = pricer->space();
  space.groups = held.mesh.groups;
  holdAxes(space);
  space.gradients = held.gradients.value_or(plan::GradientType::F32);
  if (held.offload)
    space.hostOptimizer = {held.offload->optimizer};
  if (held.zero)
    space.zero = {*held.zero};
  if (hasActions())
    space.microbatches = pipeline.actions.microbatches();
  else if (held.microbatches)
    space.microbatches = held.microbatches;
  if (held.sequenceParallel)
    space.sequenceParallel = {*held.sequenceParallel};
  if (held.stationaryWeights)
    space.stationaryWeights = {*held.stationaryWeights};
  if (limits.given)
    space.exchanges = {limits.given->exchange()};
  else if (held.exchange != plan::SequenceExchange::Cheaper)
    space.exchanges = {held.exchange};
  if (std::optional<cost::NamedSchedule> schedule = givenSchedule())
    space.schedules = {schedule->kind};
  return space;
}

/// Fails if the options ask for more stages than the model can be cut into.
LogicalResult Search::checkStages() {
  const auto most = int64_t(pricer->facts().input.blocks.blocks().size());
  const int64_t stages =
      request.stages ? request.stages : held.mesh.pp.value_or(1) * plan::stagesPerRank(pipeline.schedule).value_or(1);
  if (stages <= most)
    return success();
  return step.emitError("can be cut into at most ")
         << most << " stages that each train a parameter: give a smaller pp, or fewer of them a rank, got: " << stages;
}

/// The shapes of the space. A stage of ZeRO that is given holds, though nobody may be there to share with.
plan::ShapeList Search::enumerate(plan::ShapeSpace space) const {
  plan::ShapeList all = plan::enumerateShapes(space);
  if (held.zero.value_or(0) == 0 || !all.empty())
    return all;
  space.zero = {0};
  for (plan::Parallelism shape : plan::enumerateShapes(space))
    if (shape.dp * shape.cp == 1) {
      shape.zero = *held.zero;
      all.push_back(shape);
    }
  return all;
}

/// Whether a shape of the space keeps what is given: a space cannot say that --mesh counts dp without the ranks of ep,
/// nor how many stages a rank has (`virtualStages`; 1: any number).
bool Search::isAllowed(const plan::Parallelism &shape, int64_t virtualStages) const {
  if (shape.dp % shape.ep || (held.mesh.dp && *held.mesh.dp * shape.ep != shape.dp))
    return false;
  if (virtualStages > 1 && shape.pp > 1 && shape.virtualStages != virtualStages)
    return false;
  return !limits.allows || limits.allows(shape);
}

FailureOr<plan::ShapeList> Search::shapes() {
  if (failed(checkStages()))
    return failure();
  const plan::ShapeSpace space = makeSpace();
  plan::ShapeList all = enumerate(space);
  // If the user fixed the stage boundaries, the number of stages is fixed too.
  auto hasFixedStages = [&](const plan::Parallelism &shape) {
    return pricer->facts().stagesOf(shape) == int64_t(pricer->facts().begins.size());
  };
  if (llvm::any_of(all, hasFixedStages))
    all.eraseIf([&](const plan::Parallelism &shape) { return !hasFixedStages(shape); });
  const int64_t virtualStages = givenSchedule().value_or(cost::NamedSchedule()).virtualStages;
  all.eraseIf([&](const plan::Parallelism &shape) { return !isAllowed(shape, virtualStages); });
  if (all.empty())
    return explainEmpty(space);
  return all;
}

/// Emits an error that names the options which contradict each other.
LogicalResult Search::explainEmpty(const plan::ShapeSpace &space) {
  if (limits.silent)
    return failure();
  const plan::MeshSizes &mesh = held.mesh;
  int64_t batch = space.batch, microbatches = space.microbatches.value_or(1), ep = mesh.ep.value_or(1);
  if (microbatches > batch)
    return spmd::refuseBatch(step, batch, 1, 1, microbatches);
  int64_t model = mesh.tp.value_or(1) * mesh.cp.value_or(1) * mesh.pp.value_or(1) * ep;
  int64_t dp = mesh.dp.value_or(mesh.tp ? machine.ranks / model : 1);
  if (batch % (dp * ep * microbatches) != 0)
    return spmd::refuseBatch(step, batch, dp, ep, microbatches);
  // Find the options without which there is a plan.
  std::string all, one;
  for (const plan::ParallelismRequest::FixedPart &part : held.fixedParts()) {
    if (!part.decidesShapes)
      continue;
    all += " " + part.option;
    if (!part.leaveOut)
      continue;
    PlanRequest fewer = held;
    part.leaveOut(fewer);
    SearchLimits silent = limits;
    silent.silent = true;
    Search search(module, options, fewer, silent);
    ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) { return success(); });
    FailureOr<plan::ShapeList> shapes = search.prepare();
    if (succeeded(shapes))
      one += (one.empty() ? "leave " : ", or ") + part.option + " out, which allows " + shapes->front().str();
  }
  return wrong(
      llvm::formatv("no plan for {0} ranks and a batch of {1} keeps{2}: {3}", machine.ranks, batch,
                    all.empty() ? " all ranks at work" : all,
                    one.empty() ? "choose another number of ranks, or bind a batch that more of them divide" : one));
}

/// The plan that lacks least, and what it lacks; how many devices would do.
LogicalResult Search::noneFits(const plan::ShapeList &all) {
  if (limits.silent)
    return failure();
  // The smallest micro-batches with full recomputation and state that is shared out as far as it goes need the least
  // memory.
  std::map<int64_t, int64_t> most;
  std::map<int64_t, int> sharedOut;
  for (const plan::Parallelism &shape : all) {
    most[shape.dp] = std::max(most[shape.dp], shape.microbatches);
    int &zero = sharedOut[shape.dp * shape.cp];
    zero = std::max(zero, int(shape.zero));
  }
  SearchLimits any = limits;
  any.anyMemory = any.silent = true;
  any.keep = kNearest;
  any.allows = [&](const plan::Parallelism &shape) {
    return shape.microbatches == most[shape.dp] && int(shape.zero) == sharedOut[shape.dp * shape.cp] &&
           (!limits.allows || limits.allows(shape));
  };
  PlanRequest least = held;
  if (!least.recompute)
    least.recompute = plan::Recompute::Full;
  FailureOr<SearchResult> found = searchPlans(module, options, least, any);
  if (failed(found))
    return pricer->placements().hasRefusal() ? pricer->placements().emitRefusal()
                                             : step.emitError("cannot be placed on ")
                                                   << machine.ranks << " ranks by any of " << all.size()
                                                   << " plans: choose another mesh";
  auto smaller = [](const plan::PlanReport &a, const plan::PlanReport &b) {
    return a.memory.total() + a.hostLack < b.memory.total() + b.hostLack;
  };
  const std::vector<plan::PlanReport> &plans = found->report.plans;
  const plan::PlanReport &nearest = *std::min_element(plans.begin(), plans.end(), smaller);
  std::string more = "ranks share the memory of one machine";
  if (!kindsText.empty()) {
    more = "more devices of either kind may hold it";
  } else if (!isThisMachine(options)) {
    std::optional<FewestDevices> fewest = fewestDevices(module, options, held, machine.ranks + 1);
    more = fewest ? llvm::formatv("{0} x {1} would hold it, as {2}", fewest->devices, found->report.device,
                                  fewest->plan.shape.str())
                        .str()
                  : "nor do more of them with this batch";
  }
  return wrong(llvm::formatv("no plan fits: {0} shapes were tried on {1} x {2}; {3}; {4}; take a smaller batch{5}",
                             all.size(), machine.ranks, found->report.device,
                             plan::whatIsLacking(nearest, found->report.memoryBytes), more,
                             machine.isCpu() ? ", or give --mesh to compile all the same" : ""));
}

/// The first dimension of the inputs, and the second of tokens.
static void readBatch(func::FuncOp step, plan::SearchReport &report) {
  for (BlockArgument argument : step.getArguments()) {
    auto type = cast<ShapedType>(argument.getType());
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
    if (type.getRank() > 0 && report.batch == 0)
      report.batch = type.getDimSize(0);
    if (type.getRank() == 2 && role && role.getValue() == "tokens")
      report.sequence = double(type.getDimSize(1));
  }
}

void Search::report(SearchResult &result, const plan::ShapeResult &found) {
  plan::SearchReport &report = result.report;
  report.model = llvm::sys::path::filename(options.input).str();
  for (auto state : module.getOps<graph::StateOp>())
    if (state.getRole() == graph::StateRole::parameter)
      report.parameters += double(llvm::product_of(state.getSavedShape()));
  report.cluster = options.cluster;
  report.device = isThisMachine(options) ? "rank of this machine" : kindsText.empty() ? machine.device.name : kindsText;
  report.devices = machine.ranks;
  report.domain = std::min(machine.ranks, machine.fabric.domain);
  // Plans count their communicators.
  report.memoryBytes = machine.isCpu() ? std::max(0.0, machine.memoryBytes() - machine.device.headroomBytes)
                                       : cost::usableBytes(machine.device);
  readBatch(step, report);
  // Devices of several kinds have no peak in common.
  if (report.sequence > 0 && kinds.size() <= 1) {
    report.flops = spmd::modelFlops(step);
    if (!machine.isCpu())
      report.devicePeak = machine.device.peak(options.precision == "f32" ? cost::Width::F32 : cost::Width::B16);
  }
  for (const plan::ParallelismRequest::FixedPart &part : held.fixedParts())
    report.given.push_back(part.option);
  if (held.annotated)
    report.given.push_back("annotations of the model");
  else
    for (const std::string &pin : held.pins)
      report.given.push_back("--pin=" + pin);
  for (const plan::ShapePlan &each : found.plans)
    report.plans.push_back(result.pricer->describe(each));
  if (result.pricer->isMixed() && !found.plans.empty())
    report.note = plan::noteOfMixedDevices(result.pricer->stagesText(found.plans.front().stages));
  report.lowerBound = found.lowerBound;
  report.placements = result.pricer->placements().counts().all;
  report.unproven = result.pricer->placements().counts().unproven;
  report.shapes = found.shapes;
  report.placed = found.solved;
  report.infeasible = found.infeasible;
  explainPlans(report);
}

/// A pricer of a search before that knows the same of the step, and whether it has the same placements too: memory
/// decides nothing of these.
std::pair<std::shared_ptr<spmd::GraphPricer>, bool> Search::findLike(PricerKey key) const {
  if (!limits.pricers)
    return {};
  key.anyMemory = !key.anyMemory;
  if (auto twin = limits.pricers->find(key); twin != limits.pricers->end() && twin->second)
    return {twin->second, true};
  for (const auto &[other, pricer] : *limits.pricers)
    if (pricer && pricer->facts().request.fewestBlocks == request.fewestBlocks)
      return {pricer, false};
  return {};
}

/// A new one, or that of a search before for as many ranks with as much given.
std::shared_ptr<spmd::GraphPricer> Search::makePricer() {
  PricerKey key{machine.ranks,  request.anyMemory, held.mesh,     held.schedule,
                held.recompute, held.offload,      held.gradients};
  std::shared_ptr<spmd::GraphPricer> none, &made = limits.pricers ? (*limits.pricers)[key] : none;
  int64_t stages = held.mesh.pp.value_or(1) * plan::stagesPerRank(pipeline.schedule).value_or(1);
  request.fewestBlocks = stages > 1 ? size_t(stages) : 0;
  if (made)
    return made;
  auto [like, sharesPlacements] = findLike(key);
  llvm::ArrayRef<cost::Machine> machines = kinds.size() > 1 ? llvm::ArrayRef(kinds) : machine;
  made = std::make_shared<spmd::GraphPricer>(step, machines, request, like, sharesPlacements);
  return made;
}

FailureOr<plan::ShapeList> Search::prepare() {
  step = graph::findStep(module);
  if (!step || failed(readAnnotations()) || failed(readCluster()) || failed(readRequest()) || failed(readPins()))
    return failure();
  pricer = makePricer();
  return shapes();
}

FailureOr<SearchResult> Search::run() {
  std::optional<Status> status;
  if (!limits.silent)
    status.emplace("search plans");
  FailureOr<plan::ShapeList> all = prepare();
  if (failed(all))
    return failure();
  auto search = limits.bestOnly ? plan::searchBest : plan::searchShapes;
  plan::ShapeResult found = search(std::move(*all), *pricer, limits.keep);
  SearchResult result;
  result.meshGiven = held.mesh != plan::MeshSizes() && held.mesh.product() == machine.ranks;
  if (found.plans.empty()) {
    if (limits.silent && !result.meshGiven)
      return failure();
    all = shapes();
    // A mesh that is given whole is the user's choice: the warning is Driver's, which knows the planned memory.
    if (!result.meshGiven)
      return noneFits(*all);
    if (pricer->placements().hasRefusal() && !limits.silent)
      return pricer->placements().emitRefusal();
    request.anyMemory = true;
    pricer = makePricer();
    found = search(*all, *pricer, limits.keep);
    if (found.plans.empty())
      return noneFits(*all);
  }
  result.anyMemory = request.anyMemory;
  result.machine = machine;
  result.pricer = std::move(pricer);
  report(result, found);
  // Some plans are compiled next, which takes memory too. Other searches may use prices that are kept for them.
  if (!limits.pricers)
    result.pricer->forgetPrices();
  result.shapes = std::move(found.plans);
  return result;
}

FailureOr<SearchResult> dtcc::searchPlans(ModuleOp module, const Options &options, const PlanRequest &request,
                                          const SearchLimits &limits) {
  return Search(module, options, request, limits).run();
}

void dtcc::recordBest(SearchResult &result) {
  const plan::ShapePlan &best = result.shapes.front();
  if (std::optional<cost::StepTimeline> timeline = result.pricer->timeline(best.shape, best.stages))
    result.report.plans.front().timeline = std::move(*timeline);
}

PlanRequest dtcc::requestFor(const PlanRequest &request, int64_t devices) {
  PlanRequest fewer = request;
  fewer.mesh = {};
  int64_t rest = devices;
  for (const plan::SearchedAxis &axis : plan::kSearchedAxes)
    if (std::optional<int64_t> given = request.mesh.*axis.size; given && rest % *given == 0) {
      fewer.mesh.*axis.size = given;
      rest /= *given;
    }
  // Ranks that share with none do as in stage 0, whatever the stage, and one stage has no schedule.
  if (devices == 1) {
    fewer.zero.reset();
    fewer.schedule.clear();
  }
  return fewer;
}

std::optional<FewestDevices> dtcc::fewestDevices(ModuleOp module, const Options &options, const PlanRequest &request,
                                                 int64_t from, PricerCache *pricers) {
  FailureOr<cost::Cluster> cluster = clusterOf(options);
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (failed(cluster) || !step)
    return std::nullopt;
  // Nothing shares more than stage 3 over all devices.
  cost::Machine machine = cost::Machine::of(*cluster);
  machine.ranks = 1;
  spmd::GraphPricer alone(step, machine, {});
  plan::Parallelism shared;
  shared.zero = 3;
  plan::StageProblem problem = alone.problem(shared);
  double state = 0;
  for (uint32_t block : problem.blocks)
    state += problem.types[block].stateBytes;
  double least = std::max(double(from), state / cost::usableBytes(machine.device));
  for (int64_t devices : plan::deviceCounts(least, machine.fabric.domain, kMostDevices, kNodesOneByOne)) {
    SearchLimits limits;
    limits.silent = true;
    limits.devices = devices;
    limits.keep = 1;
    limits.bestOnly = true;
    limits.pricers = pricers;
    ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) { return success(); });
    FailureOr<SearchResult> found = searchPlans(module, options, requestFor(request, devices), limits);
    if (succeeded(found) && found->report.plans.front().fits)
      return FewestDevices{devices, std::move(found->report.plans.front())};
  }
  return std::nullopt;
}

FailureOr<SearchResult> dtcc::searchBest(ModuleOp module, const Options &options, const PlanRequest &request) {
  FailureOr<SearchResult> result = searchPlans(module, options, request);
  if (succeeded(result) && options.verbose)
    for (const plan::PlanReport &plan : result->report.plans)
      messageStream() << llvm::formatv("plan {0}: {1:f3} s a step, {2} a rank by the estimate{3}\n", plan.shape.str(),
                                       plan.seconds, formatBytes(plan.memory.total()),
                                       plan.fits ? "" : ", does not fit");
  return result;
}
