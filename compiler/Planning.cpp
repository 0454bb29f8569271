//===- Planning.cpp - From the command line to a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Planning.h"
#include "compiler/PipelinePlanning.h"
#include "compiler/PlanFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace dtcc;

static LogicalResult wrong(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "dtcc") << message << '\n';
  return failure();
}

double dtcc::machineMemory() { return double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE)); }

std::string dtcc::bytesText(double bytes) { return llvm::formatv("{0:f2} GiB", bytes / double(1 << 30)); }

/// What the search is made for.
static constexpr int64_t kMostRanks = 4096;

LogicalResult dtcc::parseMesh(StringRef text, dist::MeshRequest &request, int64_t &stages) {
  SmallVector<StringRef> parts;
  llvm::StringSet<> seen;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    int64_t size = 0, groups = 1;
    // dp=2x4: two groups of four ranks that share state.
    if (auto [outer, inner] = number.split('x'); name == "dp" && !inner.empty()) {
      if (outer.getAsInteger(10, groups) || groups < 1 || groups > kMostRanks)
        return wrong("--mesh: the number of groups must be from 1 to " + Twine(kMostRanks) + ", got: " + part);
      number = inner;
    }
    if (number.getAsInteger(10, size) || size < 1 || size > kMostRanks)
      return wrong("--mesh: the size of an axis must be from 1 to " + Twine(kMostRanks) + ", got: " + part);
    if (!seen.insert(name).second)
      return wrong("--mesh must name an axis once, got twice: " + name);
    if (name == "dp") {
      request.dp = size * groups;
      request.groups = groups;
    } else if (name == "tp")
      request.tp = size;
    else if (name == "ep")
      request.ep = size;
    else if (name == "cp")
      request.cp = size;
    else if (name == "pp")
      stages = size;
    else
      return wrong("--mesh: an axis must be one of dp, tp, cp, ep, pp, got: " + name);
  }
  return success();
}

/// --cluster=cpu or cpu:4: the number of ranks, or 0 if it is not given.
static FailureOr<int64_t> parseCluster(StringRef text) {
  if (text == "cpu")
    return 0;
  int64_t ranks = 0;
  if (text.consume_front("cpu:") && !text.getAsInteger(10, ranks) && ranks >= 1 && ranks <= kMostRanks)
    return ranks;
  return wrong("--cluster must be cpu or cpu:RANKS in this version, got: " + text);
}

FailureOr<SearchResult> dtcc::searchPlans(ModuleOp module, const Options &options) {
  dist::MeshRequest request;
  FailureOr<int64_t> ranks = parseCluster(options.cluster);
  int64_t stages = 1;
  if (failed(ranks) || failed(parseMesh(options.mesh, request, stages)))
    return failure();
  FailureOr<PipelineRequest> pipeline = parsePipeline(options, stages);
  if (failed(pipeline))
    return failure();
  if (options.zero >= 0)
    request.zero = options.zero;
  request.recompute = plan::parseRecompute(options.recompute);
  request.microbatches = options.microbatches > 0
                             ? options.microbatches
                             : defaultMicrobatches(*pipeline, module, request.dp.value_or(1) * request.ep * request.cp);
  request.exchange = *dist::parseSequenceExchange(options.cpAttention);
  request.sequenceParallel = options.sequenceParallel == "on";
  if (options.cpOrder != "auto")
    request.order = options.cpOrder == "zigzag" ? plan::SequenceOrder::ZigZag : plan::SequenceOrder::Contiguous;
  request.experts = *dist::parseExpertExchange(options.moeDispatch);
  int64_t product = stages * request.dp.value_or(1) * request.tp.value_or(1) * request.ep * request.cp;
  // Without a number of ranks, the mesh says it; without a mesh, one rank uses all cores.
  if (*ranks == 0)
    *ranks = product;
  if (*ranks > kMostRanks)
    return wrong("--mesh must have at most " + Twine(kMostRanks) + " ranks, got: " + Twine(*ranks));
  bool complete = request.dp && request.tp;
  if (complete ? product != *ranks : *ranks % product != 0)
    return wrong(llvm::formatv("--mesh={0} must {1} the {2} ranks of --cluster={3}, got: {4}", options.mesh,
                               complete ? "take all of" : "divide", *ranks, options.cluster, product));
  cost::Machine machine =
      cost::Machine::cpu(*ranks, std::max(1u, std::thread::hardware_concurrency()), machineMemory());
  // The search places what a stage has.
  machine.ranks = *ranks / stages;
  FailureOr<std::vector<dist::PricedPlan>> plans = dist::searchMesh(module, request, machine);
  if (failed(plans) || (stages > 1 && failed(addPipeline(module, *pipeline, machine, *plans))))
    return failure();
  machine.ranks = *ranks;
  return SearchResult{machine, std::move(*plans), !options.mesh.empty() && product == *ranks};
}

/// A search that finds nothing that fits has failed. A mesh that is given whole is the user's
/// choice: the warning is Driver's, which knows the planned memory.
static LogicalResult checkFit(const SearchResult &result, const Options &options) {
  if (result.plans.front().fits || result.meshGiven)
    return success();
  const dist::PricedPlan &least = *llvm::min_element(
      result.plans, [](const dist::PricedPlan &a, const dist::PricedPlan &b) { return a.bytes() < b.bytes(); });
  return wrong(
      llvm::formatv("no plan fits: a rank needs at least {0} (with --mesh=dp={1},tp={2} --zero={3}) and has {4}; "
                    "bind a smaller batch, or give --mesh to compile all the same",
                    bytesText(least.bytes()), least.dp, least.tp, least.zero, bytesText(result.machine.memoryBytes)));
}

FailureOr<SearchResult> dtcc::searchBest(ModuleOp module, const Options &options) {
  FailureOr<SearchResult> result = searchPlans(module, options);
  if (failed(result) || failed(checkFit(*result, options)))
    return failure();
  if (options.verbose)
    for (const dist::PricedPlan &priced : result->plans)
      llvm::errs() << llvm::formatv("plan dp={0} tp={1} zero={2}: {3:f3} s a step, {4:f2} GiB a rank{5}\n", priced.dp,
                                    priced.tp, priced.zero, priced.seconds(), priced.bytes() / double(1 << 30),
                                    priced.fits ? "" : ", does not fit");
  return result;
}

FailureOr<plan::Plan> dtcc::makePlan(ModuleOp module, const Options &options) {
  if (!options.plan.empty()) {
    FailureOr<int64_t> ranks = parseCluster(options.cluster);
    if (failed(ranks))
      return failure();
    FailureOr<plan::Plan> plan = readPlanFile(module, options);
    if (succeeded(plan) && *ranks != 0 && *ranks != plan->mesh.ranks())
      return wrong(llvm::formatv("{0}: the plan must be for the {1} ranks of --cluster={2}, got: {3}", options.plan,
                                 *ranks, options.cluster, plan->mesh.ranks()));
    return plan;
  }
  FailureOr<SearchResult> result = searchBest(module, options);
  if (failed(result))
    return failure();
  return std::move(result->plans.front().plan);
}
