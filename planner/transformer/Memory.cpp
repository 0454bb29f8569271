//===- Memory.cpp - Bytes of a transformer's training step on a device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/transformer/Memory.h"
#include "planner/parallelism/StateTable.h"
#include <algorithm>
#include <cmath>

namespace dtcc::cost {

/// Software that keeps 8 bytes a parameter whole has parameters and gradients in f32, with 4 or 6
/// parameters in 16 bits, and gradients in what is left; masters and moments are shared out.
StateBytes stateBytesOf(const Parallelism &plan, const Software &software) {
  double ranks = double(plan.shareGroup().ranks), parameters = software.wholeBytes >= 8 ? 4 : 2;
  double gradients = std::min(software.wholeBytes - parameters, plan::bytesOf(plan.gradients));
  double optimizer = software.sharedBytes;
  if (plan.offload.optimizer)
    optimizer = 0;
  const plan::StateRow &row = plan::stateRow(plan.zero);
  if (row.compute)
    return {parameters / ranks, gradients / ranks, optimizer / ranks};
  // Stage 2 keeps parameters in two bytes whole, and masters with the optimizer's state.
  if (row.gradient)
    return {2, gradients / ranks, plan.offload.optimizer ? 0 : (optimizer + parameters - 2) / ranks};
  return {parameters, gradients, row.slots ? optimizer / ranks : optimizer};
}

double stateBytesPerParameter(const Parallelism &plan, const Software &software) {
  return stateBytesOf(plan, software).total();
}

double stateBytes(const Layer &layer, const Parallelism &plan, const Software &software) {
  return stateBytesPerParameter(plan, software) * layer.parameters +
         (layer.expertParameters > 0 ? stateBytesPerParameter(plan.ofExperts(), software) * layer.expertParameters : 0);
}

double hostBytes(const HeldParameters &held, const Parallelism &plan, const Software &software) {
  if (!plan.offload.optimizer)
    return 0;
  auto shares = [](const Parallelism &of) { return plan::stateRow(of.zero).slots ? double(of.shareGroup().ranks) : 1; };
  return software.sharedBytes * (held.shared / shares(plan) + held.experts / shares(plan.ofExperts()));
}

bool hasRoom(const HostSide &host, double optimizer, double kept) {
  double disk = host.nvmeBytesPerSecond > 0 ? host.nvmeBytes : 0;
  return optimizer <= host.memoryBytes + disk && std::min(optimizer, host.memoryBytes) + kept <= host.memoryBytes;
}

/// 34 bytes a value of the residual stream and 5 a score, of which 24 and the scores are
/// split by heads; sequence parallelism splits the other 10 too. The 34 hold for a feed-forward
/// part four times as wide: 19 of them are of it, 8 of 4 h values before and 8 after the
/// activation, and a byte a value of dropout. A row that goes to experts is kept as it arrives
/// and as it leaves, for each of them.
double keptBytes(const Transformer &model, const Parallelism &plan, const RunSetting &run, const Software &software) {
  double tp = double(plan.tp), values = run.samples * model.sequence * model.hidden / double(plan.cp);
  double rows = plan.sequenceParallel ? 10 / tp : 10;
  double ffn = model.experts > 0 ? model.chosen * model.expertFfn + model.sharedFfn : model.ffn;
  double heads = model.heads * model.headSize() / model.hidden;
  double inner = (8 * heads + 16 * (model.gated ? 1.5 : 1) * ffn / (4 * model.hidden)) / tp;
  if (model.experts > 0)
    inner += 4 * model.chosen / (plan.sequenceParallel ? tp : 1);
  double scores = 5 * model.heads * model.sequence / (model.hidden * tp);
  if (run.attention != AttentionKernel::Plain || plan.recompute == Recompute::Selective)
    scores = 0;
  double all = values * (rows + inner + scores);
  switch (plan.recompute) {
  case Recompute::Full:
    return 2 * values / (plan.sequenceParallel ? tp : 1);
  case Recompute::Partial:
    return 0.2 * all;
  case Recompute::Selective:
    return run.selectiveOps ? all * (software.host == HostMode::Compiled ? 0.42 : 0.47) : all;
  case Recompute::None:
    break;
  }
  return software.fused ? all * 0.9 : all;
}

/// Devices of a node, as far as channels go: NVLink's, or the network's.
static constexpr int64_t kDomain = 8;

double reserveBytes(const Parallelism &plan, const Software &software) {
  double alone = 0.4 * software.reserveBytes, bytes = alone;
  for (const Group &group : {plan.tensorGroup(), plan.contextGroup(), plan.dataGroup(), plan.expertGroup()})
    bytes += communicatorBytes(spreadOf(group, kDomain));
  bytes += communicatorBytes(spreadOf({plan.pp, plan.stageStride()}, kDomain));
  // The reserve of software counts those of common plans; more groups than these need more.
  return plan.dp > 1 ? std::max(software.reserveBytes, bytes) : std::max(alone, bytes);
}

MemoryBytes forecastMemory(const Transformer &model, const Parallelism &plan, const RunSetting &run,
                           const Software &software) {
  MemoryBytes worst;
  double tp = double(plan.tp),
         embedding = stateBytesPerParameter(plan, software) * model.vocabulary * model.hidden / tp;
  double layers = model.layers, stages = double(plan.pp);
  double most = std::ceil(layers / stages), first = most, last = most;
  if (std::fmod(layers, stages) != 0 && std::fmod(layers + 2, stages) == 0)
    first = last = (layers + 2) / stages - 1;
  // Layers with experts and dense ones, and the mean of them on all stages.
  struct Kind {
    double share, state, gathered, kept, whole;
  };
  std::vector<Kind> kinds;
  double withExperts = model.expertLayers() / layers;
  auto addKind = [&](const Transformer &of, double share) {
    Layer layer = makeBlock(of, plan, run);
    Parallelism none = plan;
    none.recompute = Recompute::None;
    kinds.push_back({share, stateBytes(layer, plan, software), layer.parameters + layer.expertParameters,
                     keptBytes(of, plan, run, software), keptBytes(of, none, run, software)});
  };
  if (withExperts < 1)
    addKind(model.dense(), 1 - withExperts);
  if (withExperts > 0)
    addKind(model, withExperts);
  double state = 0, gathered = 0, kept = 0, working = 0;
  for (const Kind &kind : kinds) {
    state += kind.share * kind.state;
    kept += kind.share * kind.kept;
    gathered = std::max(gathered, kind.gathered);
    // The layer at work has all of its values again.
    working = plan.recompute == Recompute::Full ? std::max(working, kind.whole) : 0;
  }
  double inFlight = microbatchesInFlight(plan.schedule, plan.pp, plan.virtualStages, plan.microbatches);
  for (int64_t s = 0; s < plan.pp; ++s) {
    MemoryBytes bytes;
    bool isFirst = s == 0, isLast = s == plan.pp - 1;
    double count = isFirst ? first : isLast ? last : most;
    bytes.state = count * state + (isFirst ? embedding : 0) + (isLast && (!model.tied || plan.pp > 1) ? embedding : 0);
    if (plan::stateRow(plan.zero).compute)
      bytes.gathered = 2 * 2 * gathered;
    // Later stages of 1F1B hold fewer; those of zero-bubble schedules as many as the first.
    double held = has(plan.schedule, ScheduleRow::FewerLater) ? std::max(1.0, inFlight - double(s)) : inFlight;
    bytes.activations = held * count * kept + working;
    if (isLast)
      bytes.logits = software.logitMemory * run.samples * model.sequence / double(plan.cp) * model.vocabulary / tp;
    bytes.reserve = reserveBytes(plan, software) + software.fragments * bytes.total();
    if (bytes.total() > worst.total())
      worst = bytes;
  }
  return worst;
}

double usableBytes(const Device &device) { return std::max(0.0, 0.97 * device.memoryBytes - device.headroomBytes); }

bool fitsIn(double bytes, const Device &device) { return bytes <= usableBytes(device); }

} // namespace dtcc::cost
