//===- GraphFacts.cpp - What a search knows of a step and of its devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/GraphFacts.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/StateUpdate.h"
#include "planner/cost/Kernels.h"
#include "planner/step/HeldStages.h"
#include "planner/transformer/Memory.h"
#include "runtime/abi/BlockCodes.h"
#include "runtime/abi/GpuMemory.h"
#include "runtime/abi/OrthogonalizeWorkspace.h"

using namespace mlir;

namespace dtcc::spmd {

using plan::Parallelism;

/// The habits of this compiler's programs, as the cost model describes software.
static cost::Software softwareFor(const cost::Machine &machine, bool narrow) {
  cost::Software software;
  software.host = cost::HostMode::Commands;
  software.fused = true;
  software.attention = cost::AttentionKernel::Tuned;
  software.gradientBytes = 4;
  software.gatherBytes = machine.isCpu() || !narrow ? 4 : 2;
  software.scatteredSends = false;
  software.keepsParameters = true;
  // Later micro-batches add to the sums of the first: products of GPUs in passing, as those of Megatron-LM, for whose
  // runs nothing was to be added.
  software.accumulateBytes = machine.isCpu() ? 8 : 0;
  software.fragments = 0;
  // Ranks of a processor share its cores: nothing is hidden there.
  software.dataWindow = machine.isCpu() ? 0 : 0.5;
  software.reducesByStage = !machine.isCpu();
  // exec-fill-exchanges; a few at the ends of a pass have nothing to run beside them.
  software.filledExchanges = machine.isCpu() ? 0 : 0.9;
  software.chunksExchanges = !machine.isCpu();
  // A message comes beside the action before the one that reads it (Device::expect), and each side copies it, which
  // takes about a tenth of its time: memory has some 20 times the bandwidth of a link between nodes. The simulation
  // knows which stages wait for messages none the less.
  software.sendsHidden = machine.isCpu() ? 0 : 0.9;
  return software;
}

static cost::Machine withStragglers(cost::Machine machine) {
  // No clock of its own slows one rank of a processor.
  if (machine.isCpu())
    machine.constants.straggling = 0;
  return machine;
}

static bool isNarrow(func::FuncOp step) {
  bool narrow = false;
  step.walk([&](graph::ContractOp op) {
    narrow |= cast<ShapedType>(op->getOperand(0).getType()).getElementTypeBitWidth() == 16;
  });
  return narrow;
}

/// No free search has shapes with more stages than the usual row has blocks, so a finer row gives no shape a second
/// price.
static size_t mostBlocksFor(func::FuncOp step, const GraphRequest &request) {
  if (StepBlocks(step, kMostBlocks, request.pins, request.given.get()).blocks().size() >= request.fewestBlocks)
    return kMostBlocks;
  return 8 * request.fewestBlocks;
}

/// How many f32 values the slots of a parameter take for each of its cells.
static double slotValues(graph::OptimizerAttrInterface optimizer) {
  double ofSlot = optimizer.getSlotCodes(0) != 0 ? codedBytes(codeBlock) / (4.0 * codeBlock) : 1;
  return ofSlot * double(optimizer.getSlotNames().size());
}

StepTables::StepTables(func::FuncOp step, const GraphRequest &request)
    : input(step, request.fewestBlocks ? mostBlocksFor(step, request) : kMostBlocks, request.pins, request.given.get()),
      values(input.blocks) {}

GraphFacts::GraphFacts(func::FuncOp step, const cost::Machine &kind, int64_t ranks, bool isMixed,
                       const GraphRequest &request, std::shared_ptr<const StepTables> known)
    : step(step), request(request), tables(known ? std::move(known) : std::make_shared<StepTables>(step, request)),
      input(tables->input), values(tables->values), machine(withStragglers(kind)), own(kind.ranks), isMixed(isMixed),
      software(softwareFor(machine, isNarrow(step))) {
  machine.ranks = ranks;
  for (Type type : step.getArgumentTypes())
    if (auto shaped = cast<ShapedType>(type); shaped.getRank() > 0) {
      samples = shaped.getDimSize(0);
      break;
    }
  matrices.resize(input.blocks.types());
  step.walk([&](graph::UpdateOp update) {
    // The mean over all cells: an optimizer may leave some states to another one.
    auto optimizer = cast<graph::OptimizerAttrInterface>(update.getOptimizer());
    SymbolTableCollection symbols;
    double cells = 0, values = 0;
    for (auto name : update.getStates().getAsRange<FlatSymbolRefAttr>())
      if (auto state = symbols.lookupNearestSymbolFrom<graph::StateOp>(update, name)) {
        auto own = double(llvm::product_of(state.getSavedShape()));
        values += own * slotValues(graph::updateOf(state, optimizer).optimizer);
        cells += own;
      }
    slots = cells > 0 ? values / cells : 0;
    slots += update.getAverage().convertToDouble() > 0;
    updatesEarly = update.getEarly();
    findMatrices(update);
  });
  step.walk([&](graph::BatchNormOp) { statistics = true; });
  step.walk([&](graph::RunningStatisticsOp) { statistics = true; });
  // A host is given the slots, and the masters if readers see something narrower, all in f32.
  software.sharedBytes = 4 * ((isNarrow(step) ? 1 : 0) + slots);
  begins = request.given ? blocksOfCuts(input.blocks, request.given->cuts)
                         : blocksOfStages(input.blocks, request.nodeStages);
  if (request.given)
    findGivenOnHost();
}

void GraphFacts::findMatrices(graph::UpdateOp update) {
  auto optimizer = cast<graph::OptimizerAttrInterface>(update.getOptimizer());
  llvm::DenseSet<StringRef> updated;
  for (auto name : update.getStates().getAsRange<FlatSymbolRefAttr>())
    updated.insert(name.getValue());
  const cost::Kernels kernels(machine.device, machine.constants, {software.fused, false, false});
  llvm::DenseSet<StringRef> seen; // a state counts in the block that reads it first
  for (auto read : step.getOps<graph::ReadOp>()) {
    std::optional<uint32_t> block = input.blocks.blockOf(read);
    auto state = input.states.lookup<graph::StateOp>(read.getState());
    if (!block || !state || !updated.contains(read.getState()) || !seen.insert(read.getState()).second)
      continue;
    const auto steps = double(graph::orthogonalSteps(graph::updateOf(state, optimizer).optimizer));
    if (steps == 0)
      continue;
    const int64_t rows = state.getSavedShape()[0], columns = state.getSavedShape()[1];
    const double flopsOfStep = orthogonalizeFlops(rows, columns), flops = steps * flopsOfStep;
    const uint32_t type = input.blocks.blocks()[*block].type;
    const double seconds = kernels.seconds(cost::Orthogonalized{double(rows), double(columns), steps, flopsOfStep});
    cost::OrthogonalMatrices &ofType = matrices[type];
    ofType.add({1, double(rows) * double(columns), flops, seconds, flops, 0}, 1 / double(input.blocks.countOf(type)));
    ofType.largestOfLayers = ofType.largest;
  }
}

void GraphFacts::findGivenOnHost() {
  givenOnHost.resize(input.blocks.types());
  llvm::DenseSet<int64_t> origins;
  for (const plan::OpPlan &op : request.given->ops)
    if (op.onHost && offloads())
      origins.insert(op.origin);
  for (Operation &op : step.front())
    if (std::optional<uint32_t> block = input.blocks.blockOf(&op))
      if (std::optional<int64_t> origin = graph::getOrigin(&op); origin && origins.contains(*origin))
        givenOnHost[input.blocks.blocks()[*block].type] = true;
}

llvm::ArrayRef<plan::Recompute> GraphFacts::modes() const {
  static constexpr plan::Recompute kAll[] = {plan::Recompute::None, plan::Recompute::Selective, plan::Recompute::Full};
  return request.recompute ? llvm::ArrayRef(*request.recompute) : llvm::ArrayRef(kAll);
}

bool GraphFacts::offloads() const { return request.mayOffloadActivations && machine.host.memoryBytes > 0; }

int64_t GraphFacts::stagesOf(const Parallelism &shape) const {
  return request.stages > 0 && shape.pp > 1 ? request.stages : shape.pp * shape.virtualStages;
}

int64_t GraphFacts::localSamples(const Parallelism &shape) const {
  return std::max<int64_t>(1, samples / (shape.dp * shape.microbatches));
}

plan::Plan GraphFacts::meshFor(const Parallelism &shape, int64_t local) const {
  plan::Parallelism rank;
  rank.dp = std::max<int64_t>(1, samples / (local * shape.ep)) * shape.ep;
  rank.tp = shape.tp;
  rank.cp = shape.cp;
  rank.ep = shape.ep;
  rank.sequenceParallel = shape.sequenceParallel;
  rank.stationaryWeights = shape.stationaryWeights;
  return plan::makeDefaultPlan(rank);
}

/// A mesh has an axis for the ranks of cp, for those of ep, and for the other copies. If parameters are shared over one
/// of them alone, that is the group over which keys and values, rows of experts or statistics of the batch go.
double GraphFacts::separateBytes(const Parallelism &shape) const {
  const int64_t copies = shape.meshDp(), experts = shape.dp / copies;
  const bool exchanges =
      copies == 1 ? (experts > 1) != (shape.cp > 1) : experts == 1 && shape.cp == 1 && shape.groups == 1 && statistics;
  if (!exchanges || machine.isCpu())
    return 0;
  return cost::communicatorBytes(cost::spreadOf({shape.dp * shape.cp, shape.tp}, machine.fabric.domain));
}

double GraphFacts::usableBytes(const Parallelism &shape, double separate) const {
  double all = machine.memoryBytes();
  if (all <= 0)
    return 0;
  if (machine.isCpu())
    return std::max(0.0, all - machine.device.headroomBytes);
  double reserve = double(gpu_memory::contextBytes) + separate;
  // Stages sum what they report.
  int64_t domain = machine.fabric.domain, axes = 0, stride = shape.tp * shape.cp * shape.dp;
  for (auto [ranks, step] : {std::pair(shape.tp, int64_t{1}), {shape.cp, 1}, {shape.dp, 1}, {shape.pp, stride}})
    if (ranks > 1) {
      reserve += cost::communicatorBytes(cost::spreadOf({ranks, step}, domain));
      ++axes;
    }
  // The norm of gradients is summed over all.
  if (axes > 1)
    reserve += cost::communicatorBytes(cost::spreadOf({shape.ranks(), 1}, domain));
  // Stages send to those before and behind, experts' ranks to each other.
  reserve += cost::messageBytes(cost::spreadOf({shape.pp, stride}, domain), std::min<int64_t>(shape.pp - 1, 2));
  reserve += cost::peerBytes(cost::spreadOf({shape.ep, shape.tp}, domain), shape.ep - 1);
  return std::max(0.0, cost::usableBytes(machine.device) - reserve);
}

LogicalResult refuseBatch(func::FuncOp step, int64_t batch, int64_t dp, int64_t ep, int64_t microbatches) {
  if (microbatches > batch)
    return step.emitError("a batch of ") << batch << " samples must have one for each micro-batch: give at most "
                                         << batch << ", got: " << microbatches << " micro-batches";
  InFlightDiagnostic error = step.emitError("a batch of ") << batch << " samples must divide";
  if (dp > 1)
    error << " into dp=" << dp << " parts";
  if (ep > 1)
    error << (dp > 1 ? " of ep=" : " into ep=") << ep << " parts";
  if (microbatches > 1)
    error << (dp * ep > 1 ? " of " : " into ") << microbatches << " micro-batches";
  error << ": bind a batch that is a multiple of " << dp * ep * microbatches << ", or choose another ";
  error << (microbatches == 1 ? "mesh" : dp * ep == 1 ? "number of them" : "mesh or number of micro-batches");
  return error;
}

} // namespace dtcc::spmd
