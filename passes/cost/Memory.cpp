//===- Memory.cpp - Bytes of a transformer's training step on a device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/cost/Memory.h"
#include <algorithm>
#include <cmath>

namespace dtcc::cost {

/// Software that keeps 8 bytes a parameter whole has parameters and gradients in f32, with 4 or 6
/// parameters in 16 bits, and gradients in what is left; masters and moments are shared out.
StateBytes stateBytesOf(const Parallel &plan, const Software &software) {
  double ranks = double(plan.shareGroupOf().ranks), parameters = software.wholeBytes >= 8 ? 4 : 2;
  double gradients = software.wholeBytes - parameters, optimizer = software.sharedBytes;
  if (plan.zero >= 3)
    return {parameters / ranks, gradients / ranks, optimizer / ranks};
  // Stage 2 keeps parameters in two bytes whole, and masters with the optimizer's state.
  if (plan.zero == 2)
    return {2, gradients / ranks, (optimizer + parameters - 2) / ranks};
  return {parameters, gradients, plan.zero == 1 ? optimizer / ranks : optimizer};
}

double stateBytesPerParameter(const Parallel &plan, const Software &software) {
  return stateBytesOf(plan, software).total();
}

/// 34 bytes a value of the residual stream and 5 a score, of which 24 and the scores are
/// split by heads; sequence parallelism splits the other 10 too. The 34 hold for a feed-forward
/// part four times as wide: 19 of them are of it, 8 of 4 h values before and 8 after the
/// activation, and a byte a value of dropout.
double keptBytes(const Transformer &model, const Parallel &plan, const RunSetting &run, const Software &software) {
  double tp = double(plan.tp), values = run.examples * model.sequence * model.hidden / double(plan.cp);
  double rows = plan.sequenceParallel ? 10 / tp : 10;
  double inner = (8 + 16 * (model.gated ? 1.5 : 1) * model.ffn / (4 * model.hidden)) / tp;
  double scores = 5 * model.heads * model.sequence / (model.hidden * tp);
  if (run.attention != AttentionKernel::Plain || plan.recompute == Recomputation::Selective)
    scores = 0;
  double all = values * (rows + inner + scores);
  switch (plan.recompute) {
  case Recomputation::Full:
    return 2 * values / (plan.sequenceParallel ? tp : 1);
  case Recomputation::Partial:
    return 0.2 * all;
  case Recomputation::Selective:
    return run.selectiveOps ? all * (software.host == HostMode::Compiled ? 0.42 : 0.47) : all;
  case Recomputation::None:
    break;
  }
  return software.fused ? all * 0.9 : all;
}

double reserveBytes(const Parallel &plan, const Software &software) {
  return software.reserveBytes * (plan.dp > 1 ? 1 : 0.4);
}

MemoryBytes forecastMemory(const Transformer &model, const Parallel &plan, const RunSetting &run,
                           const Software &software) {
  MemoryBytes worst;
  double tp = double(plan.tp), layer = model.layerParameters() / tp;
  double embedding = model.vocabulary * model.hidden / tp, perParameter = stateBytesPerParameter(plan, software);
  double layers = model.layers, stages = double(plan.pp);
  double most = std::ceil(layers / stages), first = most, last = most;
  if (std::fmod(layers, stages) != 0 && std::fmod(layers + 2, stages) == 0)
    first = last = (layers + 2) / stages - 1;
  double kept = keptBytes(model, plan, run, software);
  // The layer at work has all of its values again.
  Parallel whole = plan;
  whole.recompute = Recomputation::None;
  double working = plan.recompute == Recomputation::Full ? keptBytes(model, whole, run, software) : 0;
  double inFlight = microbatchesInFlight(plan.schedule, plan.pp, plan.virtualStages, plan.microbatches);
  for (int64_t s = 0; s < plan.pp; ++s) {
    MemoryBytes bytes;
    bool isFirst = s == 0, isLast = s == plan.pp - 1;
    double count = isFirst ? first : isLast ? last : most;
    double parameters = count * layer + (isFirst ? embedding : 0);
    parameters += isLast && (!model.tied || plan.pp > 1) ? embedding : 0;
    bytes.state = perParameter * parameters;
    if (plan.zero == 3)
      bytes.gathered = 2 * 2 * layer;
    // Later stages of 1F1B hold fewer; those of zero-bubble schedules as many as the first.
    double held = plan.schedule == PipelineKind::OneForwardOneBackward || plan.schedule == PipelineKind::Interleaved
                      ? std::max(1.0, inFlight - double(s))
                      : inFlight;
    bytes.activations = held * count * kept + working;
    if (isLast)
      bytes.logits = software.logitMemory * run.examples * model.sequence / double(plan.cp) * model.vocabulary / tp;
    bytes.reserve = reserveBytes(plan, software) + software.fragments * bytes.total();
    if (bytes.total() > worst.total())
      worst = bytes;
  }
  return worst;
}

double usableBytes(double capacity) { return 0.97 * capacity; }

bool fitsIn(double bytes, double capacity) { return bytes <= usableBytes(capacity); }

} // namespace dtcc::cost
