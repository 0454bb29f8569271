//===- ClusterFuzz.cpp - Any bytes as the description of a cluster -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cluster/ClusterFile.h"
#include "planner/cluster/Machine.h"
#include "tests/fuzz/Target.h"
#include <cstdlib>

using namespace dtcc;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::Expected<cost::Cluster> cluster = cost::parseClusterFile(fuzz::textOf(data, size), "cluster.yaml");
  if (!cluster) {
    llvm::consumeError(cluster.takeError());
    return 0;
  }
  cost::Machine::of(*cluster);
  cost::Machine::eachOf(*cluster);
  std::string error;
  cost::parseCluster(fuzz::textOf(data, size), error);
  // The written file can be read again.
  llvm::Expected<cost::Cluster> again = cost::parseClusterFile(cost::toYaml(*cluster), "again.yaml");
  if (!again)
    std::abort();
  return 0;
}
