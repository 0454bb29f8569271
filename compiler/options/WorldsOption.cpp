//===- WorldsOption.cpp - The numbers of ranks of --worlds
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/options/WorldsOption.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/options/ClusterOption.h"
#include "compiler/options/PlanRequest.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;
using namespace dtcc;

/// The numbers of --worlds=2,4,8.
static FailureOr<std::set<int64_t>> parseWorlds(StringRef text) {
  std::set<int64_t> worlds;
  for (StringRef word : llvm::split(text, ',')) {
    int64_t ranks = 0;
    if (word.getAsInteger(10, ranks) || ranks < 1 || ranks > kMostRanks)
      return wrong("--worlds must be numbers of ranks from 1 to " + Twine(kMostRanks) +
                   ", separated by commas, got: " + text);
    if (!worlds.insert(ranks).second)
      return wrong("--worlds must name each number of ranks once, got: " + text);
  }
  return worlds;
}

/// The part of --cluster that has `ranks` devices. Nodes stay whole: "4x8xh100" has 2x8xh100 and 4xh100.
static FailureOr<std::string> partOfCluster(const Options &options, int64_t ranks) {
  StringRef text = options.cluster;
  if (text == "cpu")
    return options.target == "cuda" ? std::to_string(ranks) + "xh100" : "cpu:" + std::to_string(ranks);
  std::optional<int64_t> all = ranksOfCluster(options);
  if (all && ranks > *all)
    return wrong("--cluster=" + text + " has " + Twine(*all) + " devices, and --worlds asks for " + Twine(ranks));
  if (isThisMachine(options))
    return "cpu:" + std::to_string(ranks);
  SmallVector<int64_t> sizes;
  for (int64_t size; !text.consumeInteger(10, size) && text.consume_front("x");)
    sizes.push_back(size);
  if (sizes.empty() || sizes.size() > 2)
    return wrong("--worlds takes parts of --cluster=cpu, cpu:8, 8xh100 or 4x8xh100, got: " + options.cluster);
  if (sizes.size() == 1 || ranks <= sizes[1])
    return (Twine(ranks) + "x" + text).str();
  if (ranks % sizes[1] != 0)
    return wrong("--worlds must be whole nodes of the " + Twine(sizes[1]) + " devices of --cluster=" + options.cluster +
                 ", got: " + Twine(ranks));
  return (Twine(ranks / sizes[1]) + "x" + Twine(sizes[1]) + "x" + text).str();
}

FailureOr<std::vector<Options>> dtcc::optionsOfWorlds(const Options &options) {
  if (options.worlds.empty())
    return std::vector{options};
  FailureOr<std::set<int64_t>> worlds = parseWorlds(options.worlds);
  if (failed(worlds))
    return failure();
  if (options.emit != "program")
    return wrong("--worlds makes a program of several plans, and --emit=" + options.emit +
                 " writes one: leave one out");
  if (options.batchNorm == "rank")
    return wrong("--batch-norm=rank trains another model for each number of ranks: leave it out, or --worlds");
  std::vector<Options> all;
  for (int64_t ranks : *worlds) {
    FailureOr<std::string> cluster = partOfCluster(options, ranks);
    if (failed(cluster))
      return failure();
    all.push_back(options);
    all.back().cluster = *cluster;
  }
  return all;
}
