//===- ClusterFile.h - Clusters as YAML
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/cluster-format.md is the reference. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_CLUSTER_CLUSTERFILE_H
#define DTCC_PLANNER_CLUSTER_CLUSTERFILE_H

#include "planner/cluster/Cluster.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace dtcc::cost {

/// An error is one line, "FILE:LINE:COLUMN: what must be, got: what is".
llvm::Expected<Cluster> parseClusterFile(llvm::StringRef text, llvm::StringRef file);
/// A name of parseCluster(), or else a file to read.
llvm::Expected<Cluster> readCluster(llvm::StringRef nameOrPath);

/// Reads --headroom ("5GiB"; empty: none) as memory that plans leave free on a device, or on each device of a cluster.
llvm::Error leaveFree(llvm::StringRef headroom, Device &device);
llvm::Error leaveFree(llvm::StringRef headroom, Cluster &cluster);

/// A quantity with its unit: "80 GB", "3.35 TB/s", "400 Gb/s", "989 TFLOP/s", "5 us", "3.5 $/h".
/// `unit` is what it must measure: "B", "B/s", "FLOP/s", "s" or "$/h"; the result is in it.
llvm::Expected<double> parseQuantity(llvm::StringRef text, llvm::StringRef unit);

/// The file that parseClusterFile reads as `cluster`.
std::string toYaml(const Cluster &cluster);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_CLUSTER_CLUSTERFILE_H
