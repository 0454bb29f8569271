//===- GraphSpace.cpp - Which shapes a graph allows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "planner/model/GraphPricer.h"

using namespace mlir;

namespace dtcc::spmd {

/// Positions a rank of cp has at least: fewer are all latency.
static constexpr int64_t kPositions = 1024, kPositionsOfCpu = 64;
/// More ranks of tp than this share nothing out well in any model of use.
static constexpr int64_t kMostTensorParallel = 64;

plan::ShapeSpace GraphPricer::space() const {
  func::FuncOp step = facts().step;
  const cost::Machine &machine = facts().machine;
  plan::ShapeSpace space;
  space.devices = machine.ranks;
  space.batch = facts().samples;
  space.layers = int64_t(facts().input.blocks.blocks().size());
  space.unevenStages = true;
  int64_t positions = 0, experts = 0;
  for (BlockArgument argument : step.getArguments()) {
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
    auto type = cast<ShapedType>(argument.getType());
    if (role && role.getValue() == "tokens" && type.getRank() == 2)
      positions = type.getDimSize(1);
  }
  // Forward changes a buffer once a micro-batch, so another number of them trains another model.
  if (!step.getOps<graph::WriteOp>().empty())
    space.microbatches = 1;
  bool attends = false, computesGroups = false;
  for (Operation *op : facts().input.blocks.uniqueOps()) {
    attends |= isa<graph::AttentionOp>(op);
    // Batch norm takes its statistics from a micro-batch, so another number of micro-batches is another model. Its
    // groups may be ranks, those of a loss's terms are micro-batches.
    if (isa<graph::BatchNormOp>(op) && !computesGroups)
      space.microbatches = 1;
    if (auto sum = dyn_cast<graph::GroupSumOp>(op)) {
      computesGroups = true;
      space.microbatches = static_cast<int64_t>(sum.getGroups());
    }
    if (auto layer = dyn_cast<graph::ExpertsOp>(op))
      experts = cast<ShapedType>(layer.getWIn().getType()).getDimSize(0);
  }
  space.tp.clear();
  space.cp.clear();
  space.ep.clear();
  space.pp.clear();
  int64_t fewest = machine.isCpu() ? kPositionsOfCpu : kPositions;
  if (isMixed())
    for (const std::unique_ptr<DeviceKind> &kind : kinds.all())
      space.kinds.push_back(kind->facts.own);
  if (llvm::all_of(kinds.all(), [](const auto &kind) { return kind->facts.machine.host.memoryBytes > 0; }))
    space.hostOptimizer = {false, true};
  for (int64_t size = 1; size <= space.devices; ++size) {
    if (space.devices % size && llvm::none_of(space.kinds, [&](int64_t devices) { return devices % size == 0; }))
      continue;
    if (size <= kMostTensorParallel)
      space.tp.push_back(size);
    if (size == 1 || (attends && positions % size == 0 && positions / size >= fewest))
      space.cp.push_back(size);
    if (size == 1 || (experts > 0 && experts % size == 0))
      space.ep.push_back(size);
    if (size <= space.layers)
      space.pp.push_back(size);
  }
  if (attends)
    space.exchanges = {SequenceExchange::Cheaper, SequenceExchange::Gather, SequenceExchange::AllToAll,
                       SequenceExchange::Ring};
  if (positions > 0) {
    space.sequenceParallel = {false, true};
    space.stationaryWeights = {false, true};
  }
  return space;
}

} // namespace dtcc::spmd
