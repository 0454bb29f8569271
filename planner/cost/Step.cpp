//===- Step.cpp - Seconds of a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/Step.h"
#include "planner/cost/BucketSize.h"
#include "planner/cost/ExchangeChunks.h"
#include "planner/cost/Kernels.h"
#include "planner/parallelism/StateTable.h"
#include <algorithm>
#include <cmath>

namespace dtcc::cost {

namespace {
/// Parts of a rank's time for one pass of a layer, or for a sum of passes.
struct PassSeconds {
  double compute = 0, tensor = 0, data = 0, host = 0;
  double total() const { return compute + tensor + data + host; }
  void add(const PassSeconds &other, double count) {
    compute += count * other.compute;
    tensor += count * other.tensor;
    data += count * other.data;
    host += count * other.host;
  }
};
struct LayerParts {
  PassSeconds forward, input, weight, recompute;
  /// Part of `input.tensor` that may be hidden behind weight gradients.
  double fillable = 0;
  void add(const LayerParts &other, double count) {
    forward.add(other.forward, count);
    input.add(other.input, count);
    weight.add(other.weight, count);
    recompute.add(other.recompute, count);
  }
  double total() const { return forward.total() + input.total() + weight.total() + recompute.total(); }
};

class Pricer {
public:
  Pricer(const StepProblem &problem, const Constants &constants, const Calibration &calibration)
      : problem(problem), plan(problem.parallel), row(plan::stateRow(plan.zero)), constants(constants),
        calibration(calibration),
        kernels(problem.device, constants, {problem.software.fused, row.compute, problem.software.autocast}),
        collectives(problem.fabric, constants) {}
  StepSeconds run();
  LayerParts price(const Layer &layer) const;
  /// The passes of a layer, without gathers and reductions of units.
  LayerParts passes(const Layer &layer) const;
  /// The pass that computes `work` of a layer again.
  PassSeconds recomputed(const Layer &layer, const Work &work) const;
  /// Runs parts of products beside exchanges of the forward pass, gradients of weights beside those of the backward
  /// pass.
  void fillExchanges(LayerParts &seconds) const;
  bool hasUnits() const { return row.gradient && plan.dataGroup().ranks > 1; }
  UnitSeconds units(const Layer &layer) const;
  void gatherUnits(const UnitSeconds &unit, LayerParts &seconds) const;
  EndSeconds end(const HeldParameters &parameters) const;
  double endOfStep(const HeldParameters &parameters, StepSeconds &step, double backward) const;
  /// `bytes`: of one message.
  double sendSeconds(double bytes) const;

private:
  double bubbleBeside(const LayerParts &sum, const LayerParts &stage) const;
  PassSeconds pass(const Work &work, bool backward = false) const;
  void addUnits(UnitSeconds &seconds, double parameters, const Group &shares) const;
  void addEnd(EndSeconds &seconds, double parameters, const Parallelism &holders) const;
  double shareOfMatrices(const HeldParameters &held) const;
  void addMatrices(EndSeconds &seconds, const HeldParameters &held) const;
  double hostUpdate(double parameters) const;
  /// Seconds that exchanges in parts save a pass.
  double savedByParts(const Work &work) const;
  double hostSecondsOf(const Layer &layer) const {
    return layer.passes * calibration.host * hostSeconds(problem.software, constants, plan.tp);
  }
  /// Bytes in which the gradient of a parameter is reduced: those of the software, or less if the plan says so.
  double gradientBytes() const { return std::min(problem.software.gradientBytes, plan::bytesOf(plan.gradients)); }

  const StepProblem &problem;
  const Parallelism &plan;
  const plan::StateRow &row;
  const Constants &constants;
  const Calibration &calibration;
  Kernels kernels;
  Collectives collectives;
};
} // namespace

PassSeconds Pricer::pass(const Work &work, bool backward) const {
  PassSeconds seconds;
  seconds.compute = kernels.seconds(work, backward) * calibration.device;
  for (const Transfer &transfer : work.transfers) {
    // Sums in pieces beside products go by loads and stores of other devices' memory, which no network has.
    bool leaves =
        transfer.kind == CollectiveKind::AllReduce && spreadOf(transfer.group, problem.fabric.domain).nodes > 1;
    seconds.tensor += collectives.seconds(transfer) * (1 - (leaves ? 0 : transfer.hidden));
  }
  seconds.tensor += work.exchangeSeconds;
  // Copies run beside the kernels.
  double copies = work.hostBytes / (problem.device.hostLink.bytesPerSecond * constants.hostLink);
  seconds.data += std::max(0.0, copies - seconds.total());
  return seconds;
}

void Pricer::addUnits(UnitSeconds &seconds, double parameters, const Group &shares) const {
  double pieces = problem.software.gatherPieces;
  double gather = pieces * collectives.seconds(
                               {CollectiveKind::AllGather, problem.software.gatherBytes * parameters / pieces, shares});
  double gradients = gradientBytes() * parameters / pieces;
  seconds.gatherForward += row.compute || (row.gradient && !problem.software.keepsParameters) ? gather : 0;
  seconds.gatherBackward += row.compute ? gather : 0;
  seconds.scatter += pieces * collectives.seconds({CollectiveKind::ReduceScatter, gradients, shares});
}

UnitSeconds Pricer::units(const Layer &layer) const {
  UnitSeconds seconds;
  addUnits(seconds, layer.parameters, plan.shareGroup());
  if (layer.expertParameters > 0)
    addUnits(seconds, layer.expertParameters, plan.ofExperts().shareGroup());
  return seconds;
}

/// Parameters that lie in shares are gathered for a pass and gradients scattered, beside the
/// computation if the software looks ahead.
void Pricer::gatherUnits(const UnitSeconds &unit, LayerParts &seconds) const {
  bool ahead = problem.software.dataWindow > 0;
  auto hide = [&](PassSeconds &pass, double beside, double communication) {
    double exposed = ahead ? std::max(0.0, communication - beside) : communication;
    pass.data += exposed + constants.contended * (communication - exposed);
  };
  hide(seconds.forward, seconds.forward.total(), unit.gatherForward);
  double backward = seconds.input.total() + seconds.weight.total() + seconds.recompute.total();
  hide(seconds.input, backward, unit.gatherBackward + unit.scatter);
}

double Pricer::savedByParts(const Work &work) const {
  double sum = 0;
  if (problem.software.chunksExchanges)
    for (const ChunkedExchange &each : work.chunked)
      sum += savedByChunks(each, kernels, constants);
  return sum;
}

/// A host that takes `least` for a pass of `sum` seconds lets the device wait.
static void waitForHost(PassSeconds &first, double sum, double least) { first.host += std::max(0.0, least - sum); }

PassSeconds Pricer::recomputed(const Layer &layer, const Work &work) const {
  PassSeconds seconds = pass(work);
  seconds.tensor -= savedByParts(work);
  if (double sum = seconds.total())
    waitForHost(seconds, sum, plan.recompute == Recompute::Full ? hostSecondsOf(layer) : 0);
  return seconds;
}

LayerParts Pricer::passes(const Layer &layer) const {
  LayerParts seconds;
  seconds.forward = pass(layer.forward);
  seconds.input = pass(layer.inputGradient, /*backward=*/true);
  seconds.weight = pass(layer.weightGradient);
  seconds.recompute = recomputed(layer, layer.recompute);
  seconds.forward.tensor -= savedByParts(layer.forward);
  // Exchanges that were priced when they were planned say themselves what may be hidden.
  double planned = layer.inputGradient.exchangeSeconds - layer.inputGradient.fillableSeconds;
  seconds.fillable = seconds.input.tensor - planned;
  const double host = hostSecondsOf(layer);
  waitForHost(seconds.forward, seconds.forward.total(), host);
  waitForHost(seconds.input, seconds.input.total() + seconds.weight.total(), host);
  return seconds;
}

void Pricer::fillExchanges(LayerParts &seconds) const {
  if (has(plan.schedule, ScheduleRow::WeightsApart))
    return;
  double hidden = std::min(problem.software.filledExchanges * seconds.fillable, seconds.weight.compute);
  seconds.input.tensor -= hidden;
  seconds.input.compute += constants.contended * hidden;
}

LayerParts Pricer::price(const Layer &layer) const {
  LayerParts seconds = passes(layer);
  fillExchanges(seconds);
  if (hasUnits())
    gatherUnits(units(layer), seconds);
  return seconds;
}

double Pricer::sendSeconds(double bytes) const {
  if (plan.pp == 1)
    return 0;
  double one = collectives.secondsToSend(bytes, plan.stageStride());
  if (problem.software.serialSends)
    one = 2 * one + collectives.seconds({CollectiveKind::AllGather, bytes * double(plan.tp), plan.tensorGroup()});
  return 2 * one * double(std::max<int64_t>(plan.virtualStages, 1)) * (1 - problem.software.sendsHidden);
}

/// Seconds of an update whose optimizer state is offloaded: the device reads and writes the state over the link in both
/// directions at once. State that exceeds the host memory is read from and written to NVMe.
double Pricer::hostUpdate(double parameters) const {
  double link = problem.device.hostLink.bytesPerSecond * constants.hostLink * constants.hostLinkBoth;
  double seconds = problem.software.sharedBytes * parameters / link;
  double beyond = std::max(0.0, problem.software.sharedBytes * parameters - problem.host.memoryBytes);
  // Without NVMe it fits nowhere, which is not a matter of time.
  if (beyond > 0 && problem.host.nvmeBytesPerSecond > 0)
    seconds += 2 * beyond / problem.host.nvmeBytesPerSecond;
  return seconds;
}

void Pricer::addEnd(EndSeconds &seconds, double parameters, const Parallelism &holders) const {
  Group data = holders.dataGroup(), shared = holders.shareGroup();
  double gradients = gradientBytes() * parameters;
  if (!row.slots) {
    seconds.reduce += collectives.seconds({CollectiveKind::AllReduce, gradients, data});
  } else if (!row.gradient) {
    seconds.reduce += collectives.seconds({CollectiveKind::ReduceScatter, gradients, data});
    seconds.gather += collectives.seconds({CollectiveKind::AllGather, problem.software.gatherBytes * parameters, data});
  } else if (shared.ranks < data.ranks) {
    seconds.reduce += collectives.seconds({CollectiveKind::AllReduce,
                                           gradients / double(shared.ranks),
                                           {data.ranks / shared.ranks, data.stride * shared.ranks}});
  }
  if (row.gradient && !row.compute && problem.software.keepsParameters)
    seconds.gather += collectives.seconds({CollectiveKind::AllGather, problem.software.gatherBytes * parameters, data});
  double shares = row.slots ? double(shared.ranks) : 1;
  double held = row.compute ? parameters / shares : parameters;
  double bytes = plan.offload.optimizer ? 0 : constants.updateBytesShard * parameters / shares;
  bytes += constants.updateBytes * held;
  // Sums over micro-batches that products do not take along.
  bytes += double(plan.microbatches) * problem.software.accumulateBytes * parameters;
  seconds.update += kernels.secondsForStream(bytes) * calibration.device;
  if (plan.offload.optimizer)
    seconds.update += hostUpdate(parameters / shares);
}

/// The part of the matrices that a rank orthogonalizes: all of which its share has cells (Liu et al. 2025, "Muon is
/// scalable for LLM training"), so of the gradients that are exchanged together one more than its part at most. These
/// are a layer's where ZeRO shards gradients, else what a bucket holds.
double Pricer::shareOfMatrices(const HeldParameters &held) const {
  const OrthogonalMatrices &matrices = held.matrices;
  const double shares = row.slots ? double(plan.shareGroup().ranks) : 1;
  if (shares == 1)
    return 1;
  double beside = matrices.largestOfLayers;
  if (!row.gradient && beside > 0) {
    const double total = 4 * (held.shared + held.experts);
    // As passes/spmd/partition/FormUnits.cpp has it. Programs for processors keep small buckets, which take less
    // memory.
    const bool isCpu = problem.device.architecture == Architecture::Cpu;
    const double besideBytes =
        isCpu ? 0 : collectives.gatherRate(plan.ranks()) * matrices.flops / matrices.count / kernels.orthogonalRate();
    const double most = bucketBytes(total, collectives.latencyBytes(plan.ranks()) + besideBytes);
    const double buckets = std::max(1.0, total / most);
    beside = std::min(beside, matrices.largest + buckets * matrices.flops / matrices.count);
  }
  return std::min(1.0, 1 / shares + beside / matrices.flops);
}

/// Directions are gathered over the ranks that share the update, and over tp, whose ranks each do the same matrices.
void Pricer::addMatrices(EndSeconds &seconds, const HeldParameters &held) const {
  const OrthogonalMatrices &matrices = held.matrices;
  seconds.update += shareOfMatrices(held) * matrices.seconds * calibration.device;
  const double bytes = 4 * matrices.cells;
  if (row.slots)
    seconds.update += collectives.seconds({CollectiveKind::AllGather, bytes / double(plan.tp), plan.shareGroup()});
  seconds.update += collectives.seconds({CollectiveKind::AllGather, bytes, plan.tensorGroup()});
}

EndSeconds Pricer::end(const HeldParameters &parameters) const {
  EndSeconds seconds;
  addEnd(seconds, parameters.shared, plan);
  if (parameters.experts > 0)
    addEnd(seconds, parameters.experts, plan.ofExperts());
  if (parameters.matrices.flops > 0)
    addMatrices(seconds, parameters);
  return seconds;
}

/// Gradients of what a rank holds are reduced, shares updated and gathered.
double Pricer::endOfStep(const HeldParameters &parameters, StepSeconds &step, double backward) const {
  EndSeconds seconds = end(parameters);
  double last = problem.software.reducesByStage ? 1 / double(plan.virtualStages) : 1;
  step.data += std::max(0.0, last * seconds.reduce + seconds.gather - problem.software.dataWindow * last * backward);
  return seconds.update;
}

/// The wait of a stage that is counted by its micro-batches: the first and the last ones of the other stages.
double Pricer::bubbleBeside(const LayerParts &sum, const LayerParts &stage) const {
  LayerParts others;
  others.add(sum, 1);
  others.add(stage, -1);
  double mean = 1 / double(std::max<int64_t>(plan.pp - 1, 1));
  return bubbleSeconds(plan.schedule, plan.pp, plan.virtualStages, mean * others.forward.total(),
                       mean * (others.input.total() + others.recompute.total()), mean * others.weight.total());
}

StepSeconds Pricer::run() {
  std::vector<LayerParts> layers;
  for (const Layer &layer : problem.layers)
    layers.push_back(price(layer));
  std::vector<LayerParts> stages;
  LayerParts sum;
  HeldParameters parameters;
  for (const auto &stage : problem.stages) {
    LayerParts &seconds = stages.emplace_back();
    HeldParameters held;
    for (const StageLayer &part : stage) {
      seconds.add(layers[part.layer], part.count);
      held.add(problem.layers[part.layer], part.count);
    }
    if (held.shared + held.experts > parameters.shared + parameters.experts)
      parameters = held;
    sum.add(seconds, 1);
  }
  double m = double(plan.microbatches);
  StepSeconds step;
  LayerParts slowest;
  for (const LayerParts &stage : stages)
    if (double bubble = bubbleBeside(sum, stage);
        &stage == stages.data() || m * stage.total() + bubble > m * slowest.total() + step.bubble) {
      slowest = stage;
      step.bubble = bubble;
    }
  for (const PassSeconds *pass : {&slowest.forward, &slowest.input, &slowest.weight, &slowest.recompute}) {
    step.compute += m * pass->compute;
    step.tensor += m * pass->tensor;
    step.data += m * pass->data;
    step.host += m * pass->host;
  }
  step.recompute = m * slowest.recompute.compute;
  double sent = 0;
  for (const Layer &layer : problem.layers)
    sent = std::max(sent, layer.leavingBytes);
  step.stages = m * sendSeconds(sent);
  double backward = slowest.input.total() + slowest.weight.total() + slowest.recompute.total();
  step.compute += endOfStep(parameters, step, backward);
  step.host += calibration.host * (hostSecondsOfStep(problem.software, constants) +
                                   m * hostSecondsOfMicrobatch(problem.software, constants));
  // All ranks wait for the slowest one.
  double slower = straggling(plan, constants);
  for (double StepSeconds::*part : {&StepSeconds::compute, &StepSeconds::recompute, &StepSeconds::tensor,
                                    &StepSeconds::data, &StepSeconds::stages, &StepSeconds::bubble, &StepSeconds::host})
    step.*part *= slower;
  return step;
}

double straggling(const Parallelism &plan, const Constants &constants) {
  return 1 + constants.straggling * std::max(0.0, std::log2(double(plan.ranks()) / 8));
}

StepSeconds priceStep(const StepProblem &problem, const Constants &constants, const Calibration &calibration) {
  return Pricer(problem, constants, calibration).run();
}

std::vector<LayerSeconds> priceLayers(const StepProblem &problem, const Constants &constants) {
  Calibration none;
  Pricer pricer(problem, constants, none);
  std::vector<LayerSeconds> seconds;
  for (const Layer &layer : problem.layers) {
    LayerParts parts = pricer.price(layer);
    seconds.push_back({parts.forward.total(), parts.input.total(), parts.weight.total(), parts.recompute.total()});
  }
  return seconds;
}

PricedLayers::PricedLayers(const StepProblem &problem, const std::vector<LayerInModes> &inModes,
                           const Constants &constants) {
  Calibration none;
  Pricer pricer(problem, constants, none);
  auto keep = [](const PassSeconds &pass) { return Pass{pass.compute, pass.tensor, pass.data, pass.host}; };
  layers.reserve(inModes.size());
  modes.reserve(inModes.empty() ? 0 : inModes.size() * inModes.front().modes.size());
  for (const LayerInModes &each : inModes) {
    cost::Layer layer = each.layer;
    for (const LayerInModes::Mode &mode : each.modes) {
      if (&mode == each.modes.data() || mode.hostBytes != layer.forward.hostBytes) {
        layer.forward.hostBytes = layer.inputGradient.hostBytes = mode.hostBytes;
        LayerParts parts = pricer.passes(layer);
        layers.push_back({keep(parts.forward), keep(parts.input), parts.weight.compute, parts.weight.tensor,
                          parts.fillable, layer.parameters, layer.expertParameters});
      }
      modes.push_back({uint32_t(layers.size() - 1), pricer.recomputed(layer, mode.recompute).total()});
    }
  }
}

std::vector<LayerSeconds> PricedLayers::price(const StepProblem &problem, const Constants &constants) const {
  Calibration none;
  Pricer pricer(problem, constants, none);
  std::vector<LayerSeconds> seconds;
  seconds.reserve(modes.size());
  UnitSeconds unit;
  const Layer *before = nullptr;
  auto put = [](const Pass &pass) { return PassSeconds{pass.compute, pass.tensor, pass.data, pass.host}; };
  for (const Mode &mode : modes) {
    const Layer &each = layers[mode.layer];
    LayerParts parts{
        put(each.forward), put(each.input), {each.weightCompute, each.weightTensor}, {mode.recompute}, each.fillable};
    pricer.fillExchanges(parts);
    if (pricer.hasUnits()) {
      if (!before || before->parameters != each.parameters || before->expertParameters != each.expertParameters) {
        cost::Layer layer;
        layer.parameters = each.parameters;
        layer.expertParameters = each.expertParameters;
        unit = pricer.units(layer);
      }
      before = &each;
      pricer.gatherUnits(unit, parts);
    }
    seconds.push_back({parts.forward.total(), parts.input.total(), parts.weight.total(), parts.recompute.total()});
  }
  return seconds;
}

std::vector<UnitSeconds> priceUnits(const StepProblem &problem, const Constants &constants,
                                    const Calibration &calibration) {
  Pricer pricer(problem, constants, calibration);
  std::vector<UnitSeconds> seconds;
  for (const Layer &layer : problem.layers) {
    UnitSeconds unit = pricer.hasUnits() ? pricer.units(layer) : UnitSeconds();
    LayerParts parts = pricer.passes(layer);
    pricer.fillExchanges(parts);
    unit.passes = {parts.forward.total(), parts.input.total(), parts.weight.total(), parts.recompute.total()};
    seconds.push_back(unit);
  }
  return seconds;
}

EndSeconds priceEnd(const StepProblem &problem, const Constants &constants, const HeldParameters &parameters,
                    const Calibration &calibration) {
  return Pricer(problem, constants, calibration).end(parameters);
}

double secondsAtEnd(const StepProblem &problem, const Constants &constants, const HeldParameters &parameters,
                    double backward) {
  Calibration none;
  StepSeconds step;
  double update = Pricer(problem, constants, none).endOfStep(parameters, step, backward);
  return update + step.data;
}

double secondsToSendOn(const StepProblem &problem, double bytes, const Constants &constants) {
  Calibration none;
  return Pricer(problem, constants, none).sendSeconds(bytes);
}

} // namespace dtcc::cost
