//===- Planning.cpp - From the command line to a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Planning.h"
#include "llvm/ADT/StringExtras.h"
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

/// --mesh=dp=2,tp=2. Axes of later versions are known and refused unless their size is 1.
static LogicalResult parseMesh(StringRef text, dist::MeshRequest &request) {
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    int64_t size = 0;
    if (number.getAsInteger(10, size) || size < 1)
      return wrong("--mesh: the size of an axis must be at least 1, got: " + part);
    if (name == "dp")
      request.dp = size;
    else if (name == "tp")
      request.tp = size;
    else if (name != "cp" && name != "ep" && name != "pp")
      return wrong("--mesh: an axis must be one of dp, tp, cp, ep, pp, got: " + name);
    else if (size != 1)
      return wrong("--mesh: axis " + name + " can only have size 1 in this version, got: " + number);
  }
  return success();
}

/// --cluster=cpu or cpu:4: the number of ranks, or 0 if it is not given.
static FailureOr<int64_t> parseCluster(StringRef text) {
  if (text == "cpu")
    return 0;
  int64_t ranks = 0;
  if (text.consume_front("cpu:") && !text.getAsInteger(10, ranks) && ranks >= 1 && ranks <= 4096)
    return ranks;
  return wrong("--cluster must be cpu or cpu:RANKS in this version, got: " + text);
}

FailureOr<SearchResult> dtcc::searchPlans(ModuleOp module, const Options &options) {
  dist::MeshRequest request;
  FailureOr<int64_t> ranks = parseCluster(options.cluster);
  if (failed(ranks) || failed(parseMesh(options.mesh, request)))
    return failure();
  if (options.zero >= 0)
    request.zero = options.zero;
  request.microbatches = std::max<int64_t>(1, options.microbatches);
  int64_t product = request.dp.value_or(1) * request.tp.value_or(1);
  // Without a number of ranks, the mesh says it; without a mesh, one rank uses all cores.
  if (*ranks == 0)
    *ranks = product;
  bool complete = request.dp && request.tp;
  if (complete ? product != *ranks : *ranks % product != 0)
    return wrong(llvm::formatv("--mesh={0} has {1} ranks, but the cluster {2} has {3}", options.mesh, product,
                               options.cluster, *ranks));
  double memory = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  cost::Machine machine = cost::Machine::cpu(*ranks, std::max(1u, std::thread::hardware_concurrency()), memory);
  FailureOr<std::vector<dist::PricedPlan>> plans = dist::searchMesh(module, request, machine);
  if (failed(plans))
    return failure();
  return SearchResult{machine, std::move(*plans)};
}

FailureOr<plan::Plan> dtcc::makePlan(ModuleOp module, const Options &options) {
  if (!options.plan.empty()) {
    llvm::Expected<plan::Plan> plan = plan::readPlan(options.plan);
    if (!plan)
      return wrong(llvm::toString(plan.takeError()));
    return std::move(*plan);
  }
  FailureOr<SearchResult> result = searchPlans(module, options);
  if (failed(result))
    return failure();
  if (options.verbose)
    for (const dist::PricedPlan &priced : result->plans)
      llvm::errs() << llvm::formatv("plan dp={0} tp={1} zero={2}: {3:f3} s a step, {4:f2} GiB a rank{5}\n", priced.dp,
                                    priced.tp, priced.zero, priced.seconds(), priced.bytes() / double(1 << 30),
                                    priced.fits ? "" : ", does not fit");
  return std::move(result->plans.front().plan);
}
