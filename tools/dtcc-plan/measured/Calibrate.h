//===- Calibrate.h - Descriptions of machines from measurements
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_MEASURED_CALIBRATE_H
#define DTCC_TOOLS_DTCC_PLAN_MEASURED_CALIBRATE_H

#include "mlir/Support/LLVM.h"
#include "planner/cluster/ClusterFile.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

struct CalibrateOptions {
  /// Path of the cluster file to write.
  std::string output;
  /// Measured runs, and the cluster they ran on; empty: this machine is measured.
  std::string runs, cluster;
  int64_t ranks = 0; // 0: one a core
  /// Rows and columns of the matrices that are multiplied.
  int64_t size = 2048;
};

/// Measures, says what was found and writes the file. Failure after one message; then nothing
/// is written.
mlir::LogicalResult calibrate(const CalibrateOptions &options, llvm::raw_ostream &stream);

/// Rates of one rank while all ranks work.
struct MeasuredRank {
  double flopsPerSecond = 0, memoryBytesPerSecond = 0;
  /// An all-reduce over all ranks: the rate at which a rank sends, and the least time that it takes.
  double linkBytesPerSecond = 0, latencySeconds = 0;
};

/// Compiles a step of large products by the `dtcc` beside this program, runs it on `ranks`
/// threads of this machine and reads its profile: kernels and collectives as they train.
/// `folder` is for its files.
llvm::Expected<MeasuredRank> measureRank(int64_t ranks, int64_t size, llvm::StringRef folder);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_MEASURED_CALIBRATE_H
