//===- ParallelismRequest.cpp - The parts of a Parallelism that a user holds
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/parallelism/ParallelismRequest.h"

namespace dtcc::plan {

void ParallelismRequest::hold(const Parallelism &parallelism) {
  mesh = parallelism.meshSizes();
  zero = parallelism.zero;
  microbatches = parallelism.microbatches;
  schedule = parallelism.scheduleName();
  auto overTensor = [&](bool on) { return parallelism.tp > 1 ? std::optional(on) : std::nullopt; };
  sequenceParallel = overTensor(parallelism.sequenceParallel);
  stationaryWeights = overTensor(parallelism.stationaryWeights);
  if (parallelism.exchange != SequenceExchange::Cheaper)
    exchange = parallelism.exchange;
  if (parallelism.gradients != GradientType::F32)
    gradients = parallelism.gradients;
  if (parallelism.offload.optimizer && !offload)
    offload = Offload{/*optimizer=*/true, /*activations=*/false};
}

std::vector<ParallelismRequest::FixedPart> ParallelismRequest::fixedParts() const {
  std::vector<FixedPart> parts;
  auto add = [&](const char *name, const std::string &value, bool decidesShapes,
                 void (*leaveOut)(ParallelismRequest &)) {
    if (!value.empty())
      parts.push_back({std::string("--") + name + "=" + value, decidesShapes, leaveOut});
  };
  add("mesh", mesh.str(), true, nullptr);
  add("zero", zero ? std::to_string(*zero) : "", true, [](ParallelismRequest &request) { request.zero.reset(); });
  add("microbatches", microbatches ? std::to_string(*microbatches) : "", true,
      [](ParallelismRequest &request) { request.microbatches.reset(); });
  add("schedule", schedule, true, [](ParallelismRequest &request) { request.schedule.clear(); });
  auto onOff = [](std::optional<bool> on) { return !on ? "" : *on ? "on" : "off"; };
  add("sequence-parallel", onOff(sequenceParallel), true,
      [](ParallelismRequest &request) { request.sequenceParallel.reset(); });
  add("stationary-weights", onOff(stationaryWeights), true,
      [](ParallelismRequest &request) { request.stationaryWeights.reset(); });
  add("cp-attention", exchange == SequenceExchange::Cheaper ? "" : std::string(toString(exchange)), false,
      [](ParallelismRequest &request) { request.exchange = SequenceExchange::Cheaper; });
  add("recompute", recompute ? std::string(toString(*recompute)) : "", false,
      [](ParallelismRequest &request) { request.recompute.reset(); });
  add("offload", offload ? offload->str() : "", false, [](ParallelismRequest &request) { request.offload.reset(); });
  add("gradients", gradients ? std::string(toString(*gradients)) : "", false,
      [](ParallelismRequest &request) { request.gradients.reset(); });
  return parts;
}

} // namespace dtcc::plan
