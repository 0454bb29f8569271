//===- Step.cpp - Seconds of a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/cost/Step.h"
#include "passes/cost/Kernels.h"
#include <algorithm>
#include <cmath>

namespace dtcc::cost {

namespace {
/// Of a pass of a layer, or of a sum of them: what stands in the time of a rank.
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
      : problem(problem), plan(problem.parallel), constants(constants), calibration(calibration),
        kernels(problem.device, constants,
                {problem.software.fused, problem.parallel.zero == 3, problem.software.autocast}),
        collectives(problem.fabric, constants) {}
  StepSeconds run();
  LayerParts price(const Layer &layer) const;
  double endOfStep(double parameters, StepSeconds &step, double backward) const;
  double sendSeconds() const;

private:
  PassSeconds pass(const Work &work, bool backward = false) const;
  void gatherUnits(const Layer &layer, LayerParts &seconds) const;

  const StepProblem &problem;
  const Parallel &plan;
  const Constants &constants;
  const Calibration &calibration;
  Kernels kernels;
  Collectives collectives;
};
} // namespace

PassSeconds Pricer::pass(const Work &work, bool backward) const {
  PassSeconds seconds;
  seconds.compute = kernels.seconds(work, backward) * calibration.device;
  for (const Transfer &transfer : work.transfers)
    seconds.tensor += collectives.seconds(transfer) * (1 - transfer.hidden);
  return seconds;
}

/// Parameters that lie in shares are gathered for a pass and gradients scattered, beside the
/// computation if the software looks ahead.
void Pricer::gatherUnits(const Layer &layer, LayerParts &seconds) const {
  Group shares = plan.shareGroupOf();
  double pieces = problem.software.gatherPieces;
  double gather = pieces * collectives.seconds({CollectiveKind::AllGather, 2 * layer.parameters / pieces, shares});
  double gradients = problem.software.gradientBytes * layer.parameters / pieces;
  double scatter = pieces * collectives.seconds({CollectiveKind::ReduceScatter, gradients, shares});
  bool ahead = problem.software.dataWindow > 0;
  auto hide = [&](PassSeconds &pass, double beside, double communication) {
    double exposed = ahead ? std::max(0.0, communication - beside) : communication;
    pass.data += exposed + constants.contended * (communication - exposed);
  };
  hide(seconds.forward, seconds.forward.total(), plan.zero == 3 || plan.zero == 2 ? gather : 0);
  double backward = seconds.input.total() + seconds.weight.total() + seconds.recompute.total();
  hide(seconds.input, backward, (plan.zero == 3 ? gather : 0) + scatter);
}

LayerParts Pricer::price(const Layer &layer) const {
  LayerParts seconds;
  seconds.forward = pass(layer.forward);
  seconds.input = pass(layer.inputGradient, /*backward=*/true);
  seconds.weight = pass(layer.weightGradient);
  seconds.recompute = pass(layer.recompute);
  double host = layer.passes * calibration.host * hostSeconds(problem.software, constants, plan.tp);
  auto wait = [&](PassSeconds &first, double sum, double least) { first.host += std::max(0.0, least - sum); };
  wait(seconds.forward, seconds.forward.total(), host);
  if (double sum = seconds.recompute.total())
    wait(seconds.recompute, sum, plan.recompute == Recomputation::Full ? host : 0);
  wait(seconds.input, seconds.input.total() + seconds.weight.total(), host);
  if (plan.zero >= 2 && plan.dataGroup().ranks > 1)
    gatherUnits(layer, seconds);
  return seconds;
}

double Pricer::sendSeconds() const {
  if (plan.pp == 1)
    return 0;
  double one = collectives.secondsToSend(problem.boundaryBytes, plan.stageStride());
  return 2 * one * double(std::max<int64_t>(plan.virtualStages, 1)) * (1 - problem.software.sendsHidden);
}

/// Gradients of what a rank holds are reduced, shares updated and gathered.
double Pricer::endOfStep(double parameters, StepSeconds &step, double backward) const {
  Group data = plan.dataGroup();
  double communication = 0, gradients = problem.software.gradientBytes * parameters;
  if (plan.zero <= 0)
    communication = collectives.seconds({CollectiveKind::AllReduce, gradients, data});
  else if (plan.zero == 1)
    communication = collectives.seconds({CollectiveKind::ReduceScatter, gradients, data}) +
                    collectives.seconds({CollectiveKind::AllGather, 2 * parameters, data});
  else if (plan.shareGroupOf().ranks < data.ranks)
    communication =
        collectives.seconds({CollectiveKind::AllReduce,
                             gradients / double(plan.shareGroupOf().ranks),
                             {data.ranks / plan.shareGroupOf().ranks, data.stride * plan.shareGroupOf().ranks}});
  step.data += std::max(0.0, communication - problem.software.dataWindow * backward);
  double shares = plan.zero >= 1 ? double(plan.shareGroupOf().ranks) : 1;
  double held = plan.zero == 3 ? parameters / shares : parameters;
  double bytes = constants.updateBytesShard * parameters / shares + constants.updateBytes * held;
  // Sums over micro-batches that products do not take along.
  bytes += double(plan.microbatches) * problem.software.accumulateBytes * parameters;
  return kernels.secondsForStream(bytes) * calibration.device;
}

StepSeconds Pricer::run() {
  std::vector<LayerParts> layers;
  for (const Layer &layer : problem.layers)
    layers.push_back(price(layer));
  LayerParts slowest, sum;
  double parameters = 0;
  for (const auto &stage : problem.stages) {
    LayerParts seconds;
    double held = 0;
    for (const StageLayer &part : stage) {
      seconds.add(layers[part.layer], part.count);
      held += part.count * problem.layers[part.layer].parameters;
    }
    parameters = std::max(parameters, held);
    sum.add(seconds, 1 / double(problem.stages.size()));
    if (seconds.total() > slowest.total())
      slowest = seconds;
  }
  double m = double(plan.microbatches);
  StepSeconds step;
  for (const PassSeconds *pass : {&slowest.forward, &slowest.input, &slowest.weight, &slowest.recompute}) {
    step.compute += m * pass->compute;
    step.tensor += m * pass->tensor;
    step.data += m * pass->data;
    step.host += m * pass->host;
  }
  step.recompute = m * slowest.recompute.compute;
  step.stages = m * sendSeconds();
  step.bubble = bubbleSeconds(plan.schedule, plan.pp, plan.virtualStages, sum.forward.total(),
                              sum.input.total() + sum.recompute.total(), sum.weight.total());
  double backward = slowest.input.total() + slowest.weight.total() + slowest.recompute.total();
  step.compute += endOfStep(parameters, step, backward);
  step.host += calibration.host * (constants.hostStep + m * constants.hostMicrobatch);
  // Others wait for the slowest rank.
  double slower = 1 + constants.straggling * std::max(0.0, std::log2(double(plan.ranks()) / 8));
  for (double StepSeconds::*part : {&StepSeconds::compute, &StepSeconds::recompute, &StepSeconds::tensor,
                                    &StepSeconds::data, &StepSeconds::stages, &StepSeconds::bubble, &StepSeconds::host})
    step.*part *= slower;
  return step;
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

double secondsAtEnd(const StepProblem &problem, const Constants &constants, double parameters, double backward) {
  Calibration none;
  StepSeconds step;
  double update = Pricer(problem, constants, none).endOfStep(parameters, step, backward);
  return update + step.data;
}

double secondsToSendOn(const StepProblem &problem, const Constants &constants) {
  Calibration none;
  return Pricer(problem, constants, none).sendSeconds();
}

} // namespace dtcc::cost
