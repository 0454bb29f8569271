//===- PlanRequest.cpp - The parts of a plan that the options hold
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/options/PlanRequest.h"
#include "compiler/console/ErrorStream.h"

using namespace mlir;
using namespace dtcc;

FailureOr<PlanRequest> dtcc::resolvePlanRequest(const Options &options) {
  std::string error;
  std::optional<plan::MeshSizes> sizes = plan::parseMeshSizes(options.mesh, error, kMostRanks);
  // Programs have no experts that are folded into other axes.
  if (sizes && sizes->foldsExperts)
    error = "an axis must be one of " + plan::meshAxisNames() + ", got: folded-ep";
  if (!error.empty())
    return wrong("--mesh: " + error);
  PlanRequest request;
  request.mesh = *sizes;
  if (options.zero >= 0)
    request.zero = int(options.zero);
  if (options.microbatches > 0)
    request.microbatches = options.microbatches;
  request.schedule = options.schedule;
  if (!options.sequenceParallel.empty())
    request.sequenceParallel = options.sequenceParallel == "on";
  if (!options.stationaryWeights.empty())
    request.stationaryWeights = options.stationaryWeights == "on";
  request.exchange = *plan::parseSequenceExchange(options.cpAttention);
  // "auto" and no word leave it to the search.
  request.recompute = plan::parseRecompute(options.recompute);
  request.offload = plan::parseOffload(options.offload);
  request.gradients = plan::parseGradientType(options.gradients);
  request.pins = options.pin;
  return request;
}
