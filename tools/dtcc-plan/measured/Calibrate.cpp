//===- Calibrate.cpp - Descriptions of machines from measurements
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/measured/Calibrate.h"
#include "compiler/console/OutputFiles.h"
#include "planner/validation/Validation.h"
#include "runtime/abi/Cores.h"
#include "tools/dtcc-plan/measured/Validate.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include <unistd.h>

using namespace dtcc;

static double memoryOfThisMachine() { return double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGE_SIZE)); }

/// A cluster of one node whose devices do in the cost model what was measured: figures are over
/// the shares that the model takes of data sheets.
static cost::Cluster makeCluster(const MeasuredRank &rank, int64_t ranks) {
  cost::Constants constants;
  cost::Device core = *cost::findDevice("cpu-core");
  core.name = "this-core";
  for (cost::Width width : {cost::Width::F32, cost::Width::B16})
    core.flopsPerSecond[int(width)] = rank.flopsPerSecond / constants.gemmCpu;
  core.memoryBytesPerSecond = rank.memoryBytesPerSecond / constants.stream;
  core.memoryBytes = memoryOfThisMachine() / double(ranks);
  cost::NodeGroup node;
  node.name = "this-machine";
  node.devices = {{core, ranks}};
  node.link = {"this-memory", rank.linkBytesPerSecond / constants.nvlink, rank.latencySeconds};
  node.port = core.network;
  node.ports = 1;
  node.hostMemoryBytes = memoryOfThisMachine();
  cost::Cluster cluster;
  cluster.name = "this machine";
  cluster.nodes = {node};
  return cluster;
}

static llvm::Expected<cost::Cluster> measure(const CalibrateOptions &options, llvm::StringRef folder,
                                             llvm::raw_ostream &stream) {
  // Collectives need two ranks, even on one core.
  int64_t ranks = options.ranks ? options.ranks : std::max<int64_t>(availableCores(), 2);
  llvm::Expected<MeasuredRank> rank = measureRank(ranks, options.size, folder);
  if (!rank)
    return rank.takeError();
  printHeading(stream, llvm::Twine(llvm::Twine(ranks) + " ranks of this machine, while all work").str());
  // The cost model takes a share of what a data sheet says, so the file has larger figures than were measured.
  const cost::Constants constants;
  auto line = [&](const char *what, double rate, const char *unit, double share) {
    stream << llvm::format("  %-16s %8.2f %-8s written as %.2f, of which forecasts reach %.0f %%\n", what, rate / 1e9,
                           unit, rate / share / 1e9, 100 * share);
  };
  line("products", rank->flopsPerSecond, "GFLOP/s", constants.gemmCpu);
  line("memory", rank->memoryBytesPerSecond, "GB/s", constants.stream);
  line("all-reduce", rank->linkBytesPerSecond, "GB/s", constants.nvlink);
  stream << llvm::format("  %-16s %8.2f us\n", "its latency", rank->latencySeconds * 1e6);
  return makeCluster(*rank, ranks);
}

/// Scales of device and host by which forecasts of the runs are least off.
static llvm::Expected<cost::Cluster> correct(const CalibrateOptions &options, llvm::raw_ostream &stream) {
  llvm::Expected<cost::Cluster> cluster = cost::readCluster(options.cluster);
  if (!cluster)
    return cluster.takeError();
  auto buffer = llvm::MemoryBuffer::getFile(options.runs, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), options.runs + ": cannot read: " + buffer.getError().message());
  std::string error;
  cost::Validation validation;
  std::optional<cost::RunTable> table = cost::RunTable::parse((*buffer)->getBuffer().str(), options.runs, error);
  if (!table || !validation.add(std::move(*table), error))
    return llvm::createStringError(error);
  cost::Constants constants;
  std::vector<cost::FitRow> rows = validation.fitRows();
  if (rows.empty())
    return llvm::createStringError(options.runs + ": no run that the cost model prices; dtcc-plan validate says why");
  std::set<std::string> sources = validation.sources();
  validation.price(constants);
  printErrors("before", validation.errors(sources), stream);
  cost::Calibration scales = cost::fitCalibration(rows, constants);
  validation.price(constants, scales);
  printErrors("corrected", validation.errors(sources), stream);
  stream << llvm::format("  devices take %.3f times what data sheets and constants say, the host %.3f\n", scales.device,
                         scales.host);
  for (cost::NodeGroup &node : cluster->nodes) {
    node.deviceScale = scales.device;
    node.hostScale = scales.host;
  }
  return cluster;
}

mlir::LogicalResult dtcc::calibrate(const CalibrateOptions &options, llvm::raw_ostream &stream) {
  OutputFiles files(options.output, "dtcc-plan");
  std::vector<llvm::StringRef> inputs;
  for (llvm::StringRef input : {llvm::StringRef(options.runs), llvm::StringRef(options.cluster)})
    if (!input.empty())
      inputs.push_back(input);
  if (failed(files.open(inputs)))
    return mlir::failure();
  llvm::Expected<cost::Cluster> cluster =
      options.runs.empty() ? measure(options, files.folder(), stream) : correct(options, stream);
  if (!cluster) {
    llvm::WithColor::error(llvm::errs(), "dtcc-plan") << llvm::toString(cluster.takeError()) << '\n';
    return mlir::failure();
  }
  if (failed(files.writeText([&](llvm::raw_ostream &out) { out << cost::toYaml(*cluster); })))
    return mlir::failure();
  stream << "wrote " << options.output << ", for --cluster=" << options.output << '\n';
  return mlir::success();
}
