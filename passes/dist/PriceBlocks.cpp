//===- PriceBlocks.cpp - What a rank computes, sends and keeps of each block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/PriceBlocks.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "passes/cost/LogitChunks.h"
#include "passes/dist/PartialFlow.h"
#include "passes/dist/PlaceExperts.h"
#include "passes/dist/PriceMoves.h"
#include "passes/dist/Projection.h"
#include "passes/exec/Target.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>
#include <functional>
#include <map>

using namespace mlir;

namespace dtcc::dist {

namespace {

/// Operations a cell of the result: above this an op is no chain of cells but some product.
constexpr double kDear = 48;

class BlockPricer {
public:
  BlockPricer(const PlacementInput &input, const StepValues &values, const plan::Plan &plan,
              const cost::Machine &machine)
      : input(input), values(values), plan(plan), classes(input.classes),
        planner(plan.mesh, secondsOfMoves(plan.mesh, machine)),
        logitsBytes(exec::findTarget(machine.isCpu() ? "cpu" : "cuda")->logitsBytes) {}
  std::vector<BlockCost> run();

private:
  /// An op with its layouts over model axes and its local sizes.
  struct Placed {
    FactorMap map;
    OpLayouts layouts;
    SmallVector<int64_t> sizes; // of factors
  };
  const Placed &placedOf(Operation *op);
  Axes modelAxes(const Axes &axes) const;
  int64_t localSize(unsigned id, int64_t size) const;
  Layout layoutOf(Value value);
  double cellsOf(Value value, const Layout &layout) const;
  double bytesOf(Value value);
  double bytesOfOperand(Operation *op, unsigned operand);

  cost::Work &phaseOf(BlockCost &block, Operation *op);
  void addWork(cost::Work &work, Operation *op);
  std::optional<cost::Gemm> productOf(Operation *op, const Placed &placed, double flops) const;
  double secondsBetween(Value value, const Layout &from, const Layout &to);
  void findMoves();
  void addState(std::vector<BlockCost> &blocks, uint32_t number, graph::ReadOp read);
  void addCopies(std::vector<BlockCost> &blocks);
  double waitingBytes(Value root, plan::Recompute mode);
  void addLogits(BlockCost &block, Value logits);
  void addSegments(std::vector<BlockCost> &blocks, const llvm::MapVector<Value, double> &bytes);
  void addMemory(std::vector<BlockCost> &blocks);

  const PlacementInput &input;
  const StepValues &values;
  const plan::Plan &plan;
  const FactorClasses &classes;
  ReshardPlanner planner;
  /// Largest logits of a chunk of the target.
  int64_t logitsBytes;
  llvm::DenseSet<unsigned> batch, positions, experts;
  llvm::DenseMap<int64_t, const plan::OpPlan *> entries;
  llvm::StringMap<const plan::StatePlan *> states;
  llvm::DenseMap<Operation *, Placed> known;
  /// Per op, seconds of bringing its operands to it in a micro-batch, and its results to their states in a step.
  llvm::DenseMap<Operation *, double> moved, summed;
};

} // namespace

/// Those that split neither examples nor positions nor experts.
Axes BlockPricer::modelAxes(const Axes &axes) const {
  Axes result;
  for (const std::string &axis : plan.withoutUnitAxes(axes))
    if (!contains(plan.batchAxes, axis) && !contains(plan.sequenceAxes, axis))
      result.push_back(axis);
  return result;
}

int64_t BlockPricer::localSize(unsigned id, int64_t size) const {
  if (batch.contains(id))
    return std::max<int64_t>(1, size / plan.mesh.product(plan.batchAxes));
  if (experts.contains(id))
    return llvm::divideCeil(size, plan.mesh.product({kExpertAxis}));
  return positions.contains(id) ? llvm::divideCeil(size, plan.mesh.product(plan.sequenceAxes)) : size;
}

const BlockPricer::Placed &BlockPricer::placedOf(Operation *op) {
  auto [at, isNew] = known.try_emplace(op);
  if (!isNew)
    return at->second;
  Placed placed;
  placed.map = cast<FactorOpInterface>(op).getFactorMap();
  Placement placement;
  placement.factors.resize(placed.map.factors.size());
  SmallVector<int64_t> sources = graph::getOriginFactors(op);
  bool forward = graph::getPhase(op) == graph::Phase::Forward;
  const plan::OpPlan *entry = entries.lookup(graph::getOrigin(op).value_or(-1));
  Axes used;
  for (auto [number, factor] : llvm::enumerate(placed.map.factors)) {
    int64_t source = forward ? int64_t(number) : (number < sources.size() ? sources[number] : -1);
    // What an op wants whole of positions is gathered, exchanged or passed round for it.
    bool whole = factor.kind == FactorKind::Decompose && positions.contains(classes.ofFactor(op, number)) &&
                 whyNotAssignable(op, placed.map, number);
    int64_t size = whole ? factor.size : localSize(classes.ofFactor(op, number), factor.size);
    auto given = entry ? entry->factors.find(source) : decltype(entry->factors.end())();
    if (entry && given != entry->factors.end()) {
      Axes axes = modelAxes(given->second);
      if (!axes.empty() && llvm::none_of(axes, [&](const std::string &axis) { return contains(used, axis); }) &&
          !whyNotAssignable(op, placed.map, number)) {
        placement.factors[number] = axes;
        llvm::append_range(used, axes);
        size = llvm::divideCeil(size, plan.mesh.product(axes));
      }
    }
    placed.sizes.push_back(size);
  }
  // As the plan will be applied: gradients of what several products read are reduced once.
  auto partialOf = [&](Value value) {
    Layout layout = layoutOf(value);
    return layout.reduction == PartialKind::Sum ? layout.partial : Axes();
  };
  auto ofStep = [](const std::string &) { return false; };
  PartialFlow{partialOf, ofStep, forward && entry && entry->partial}.choose(op, placed.map, placement);
  llvm::Expected<OpLayouts> layouts = project(placed.map, placement);
  if (!layouts) {
    llvm::consumeError(layouts.takeError());
    placement = Placement();
    placement.factors.assign(placed.map.factors.size(), {});
    layouts = project(placed.map, placement);
  }
  placed.layouts = std::move(*layouts);
  return known[op] = std::move(placed);
}

Layout BlockPricer::layoutOf(Value value) {
  Operation *op = value.getDefiningOp();
  int64_t rank = cast<ShapedType>(value.getType()).getRank();
  if (auto read = dyn_cast_or_null<graph::ReadOp>(op)) {
    const plan::StatePlan *state = states.lookup(read.getState());
    Layout layout = Layout::replicated(rank);
    if (state && state->layout)
      for (auto [dim, axes] : llvm::enumerate(*state->layout))
        layout.dims[dim] = modelAxes(axes);
    return layout;
  }
  if (!op || !isa<FactorOpInterface>(op))
    return Layout::replicated(rank);
  return placedOf(op).layouts.results[cast<OpResult>(value).getResultNumber()];
}

double BlockPricer::cellsOf(Value value, const Layout &layout) const {
  double cells = 1;
  for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape()))
    cells *= double(llvm::divideCeil(localSize(classes.ofDim(value, dim), size), plan.mesh.product(layout.dims[dim])));
  return cells;
}

static double elementBytes(Value value) {
  return double(llvm::divideCeil(cast<ShapedType>(value.getType()).getElementTypeBitWidth(), 8));
}

double BlockPricer::bytesOf(Value value) { return cellsOf(value, layoutOf(value)) * elementBytes(value); }

/// Of a table whose rows are named by indices, the rows that are read.
double BlockPricer::bytesOfOperand(Operation *op, unsigned operand) {
  const Placed &placed = placedOf(op);
  Value value = op->getOperand(operand);
  double bytes = cellsOf(value, placed.layouts.operands[operand]) * elementBytes(value);
  for (int64_t factor : placed.map.operands[operand]) {
    if (factor == kNoFactor || placed.map.factors[factor].kind != FactorKind::Index)
      continue;
    bool walked = llvm::any_of(placed.map.results, [&](const auto &dims) { return llvm::is_contained(dims, factor); });
    if (!walked && op->getNumResults() > 0)
      bytes = std::min(bytes, bytesOf(op->getResult(0)));
  }
  return bytes;
}

cost::Work &BlockPricer::phaseOf(BlockCost &block, Operation *op) {
  switch (graph::getPhase(op)) {
  case graph::Phase::InputGradient:
    return block.inputGradient;
  case graph::Phase::WeightGradient:
    return block.weightGradient;
  default:
    break;
  }
  bool isOnce = op->getNumResults() > 0 && values.constants().contains(op->getResult(0));
  return isOnce ? block.once : block.forward;
}

/// A contraction of two operands: rows and columns are of one each, inner columns of both.
std::optional<cost::Gemm> BlockPricer::productOf(Operation *op, const Placed &placed, double flops) const {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return std::nullopt;
  double all = 2;
  for (int64_t size : placed.sizes)
    all *= double(size);
  bool linear = llvm::all_of(ArrayRef<unsigned>{0, 1}, [&](unsigned operand) {
    return llvm::any_of(placed.map.linear,
                        [&](ArrayRef<unsigned> set) { return set.size() == 1 && set[0] == operand; });
  });
  if (!linear || std::abs(flops - all) > 0.01 * all)
    return std::nullopt;
  cost::Gemm gemm{1, 1, 1, 1};
  for (auto [number, size] : llvm::enumerate(placed.sizes)) {
    auto has = [&, number = number](ArrayRef<int64_t> dims) { return llvm::is_contained(dims, int64_t(number)); };
    bool a = has(placed.map.operands[0]), b = has(placed.map.operands[1]), y = has(placed.map.results[0]);
    (a && b && y ? gemm.count : a && b ? gemm.k : a ? gemm.m : gemm.n) *= double(size);
  }
  return gemm;
}

void BlockPricer::addWork(cost::Work &work, Operation *op) {
  if (isa<graph::ReadOp, graph::ConstantOp, graph::ReshapeOp, graph::BroadcastOp>(op))
    return;
  const Placed &placed = placedOf(op);
  auto source = dyn_cast<WorkOpInterface>(op);
  double flops = source ? source.getFlops(placed.sizes) : 0, cells = 1, bytes = 0;
  bool narrow = true;
  for (Value result : op->getResults()) {
    double own = cellsOf(result, placed.layouts.results[cast<OpResult>(result).getResultNumber()]);
    cells = std::max(cells, own);
    bytes += own * elementBytes(result);
  }
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
    Type element = cast<ShapedType>(op->getOperand(operand).getType()).getElementType();
    narrow &= !isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 16;
    bytes += bytesOfOperand(op, operand);
  }
  cost::Width width = narrow ? cost::Width::B16 : cost::Width::F32;
  if (std::optional<cost::Gemm> gemm = productOf(op, placed, flops)) {
    gemm->width = width;
    work.gemms.push_back(*gemm);
    return;
  }
  auto attend = [&](Value queries, Value keys, bool causal, bool backward) {
    double size = double(cast<ShapedType>(queries.getType()).getShape().back());
    double rows = cellsOf(queries, placed.layouts.operands[0]) / size;
    double length = double(cast<ShapedType>(keys.getType()).getDimSize(1));
    work.attentions.push_back({rows, 1, length, size, causal, backward, cost::AttentionKernel::Tuned});
  };
  if (auto attention = dyn_cast<graph::AttentionOp>(op))
    return attend(attention.getQ(), attention.getK(), attention.getMask().getCausal(), false);
  if (auto gradient = dyn_cast<graph::AttentionGradOp>(op))
    return attend(gradient.getQ(), gradient.getK(), gradient.getMask().getCausal(), true);
  if (flops > kDear * cells) {
    // Products of some other shape: a cube of their operations, and what the op really reads and writes.
    double side = std::cbrt(flops / 2);
    work.gemms.push_back({side, side, side, 1, width});
  }
  work.streamBytes += bytes;
}

double BlockPricer::secondsBetween(Value value, const Layout &from, const Layout &to) {
  std::vector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape())) {
    int64_t parts = std::max(plan.mesh.product(from.dims[dim]), plan.mesh.product(to.dims[dim]));
    shape.push_back(llvm::divideCeil(localSize(classes.ofDim(value, dim), size), parts) * parts);
  }
  const auto &way = planner.plan(from, to, shape, int64_t(elementBytes(value)));
  return way ? way->cost : 0;
}

/// Of bringing values to where ops work and gradients to where states lie, each to a layout once. Of blocks alike each
/// has the mean: what comes from the block before may lie otherwise in the first of them.
void BlockPricer::findMoves() {
  const StepBlocks &row = input.blocks;
  auto countOf = [&](Operation *op) {
    std::optional<uint32_t> block = row.blockOf(op);
    return block ? double(row.countOf(row.blocks()[*block].type)) : 1;
  };
  for (const StepBlocks::Flow &flow : row.flows()) {
    SmallVector<Layout, 2> seen{layoutOf(flow.value)};
    for (auto [reader, operand] : flow.readers) {
      auto read = dyn_cast<graph::ReadOp>(reader);
      if (!read && !isa<FactorOpInterface>(reader))
        continue;
      Layout to = read ? layoutOf(read.getY()) : placedOf(reader).layouts.operands[operand];
      if (llvm::is_contained(seen, to))
        continue;
      seen.push_back(to);
      // Weight gradients are summed over model axes once a step, by the block that makes them.
      Operation *by = read ? flow.value.getDefiningOp() : reader;
      (read ? summed : moved)[by] += secondsBetween(flow.value, seen.front(), to) * double(flow.times) / countOf(by);
    }
  }
}

void BlockPricer::addState(std::vector<BlockCost> &blocks, uint32_t number, graph::ReadOp read) {
  BlockCost &block = blocks[input.blocks.blocks()[number].type];
  auto state = input.states.lookup<graph::StateOp>(read.getState());
  double cells = cellsOf(read.getY(), layoutOf(read.getY()));
  double copy = cells * double(values.copyBytes(read.getState()));
  if (!state || !state.getTrainable()) {
    block.frozenBytes += copy > 0 ? copy : cells * elementBytes(read.getY());
    return;
  }
  bool ofExperts = read.getY().getType().getRank() > 0 && experts.contains(classes.ofDim(read.getY(), 0));
  (ofExperts ? block.expertParameters : block.parameters) += cells;
  (ofExperts ? block.expertCopyBytes : block.copyBytes) += copy;
}

/// Tied: a stage that reads a state of a block before has a copy. Of blocks alike each has the mean.
void BlockPricer::addCopies(std::vector<BlockCost> &blocks) {
  const StepBlocks &row = input.blocks;
  func::FuncOp step = row.step();
  for (auto read : step.getOps<graph::ReadOp>()) {
    std::optional<uint32_t> number = row.blockOf(read);
    auto state = input.states.lookup<graph::StateOp>(read.getState());
    if (!number || !state || !state.getTrainable())
      continue;
    llvm::SetVector<uint32_t> others;
    double copy = double(values.copyBytes(read.getState()));
    std::function<void(Value)> look = [&](Value value) {
      for (Operation *user : value.getUsers()) {
        if (std::optional<uint32_t> other = row.blockOf(user); other && *other != *number)
          others.insert(*other);
        // A copy in another type stands where it is first read.
        if (copy > 0 && user->getNumResults() == 1 && values.isFree(user->getResult(0)))
          look(user->getResult(0));
      }
    };
    look(read.getY());
    Value first = row.representative(read)->getResult(0);
    double cells = cellsOf(first, layoutOf(first));
    if (!others.empty())
      blocks[row.blocks()[*number].type].tiedParameters += cells / double(row.countOf(row.blocks()[*number].type));
    for (uint32_t other : others) {
      uint32_t type = row.blocks()[other].type;
      blocks[type].sharedParameters += cells / double(row.countOf(type));
      blocks[type].sharedCopyBytes += cells * copy / double(row.countOf(type));
    }
  }
}

/// Layouts in which a value waits for the backward pass: as its readers want it, if the forward pass has brought it
/// there already, else as it was made. Of parameters what is brought waits, what is stored does not count.
double BlockPricer::waitingBytes(Value root, plan::Recompute mode) {
  const StepValues::Values &gone = values.gone(mode);
  auto isLate = [&](Operation *op) {
    graph::Phase phase = graph::getPhase(op);
    return phase == graph::Phase::InputGradient || phase == graph::Phase::WeightGradient ||
           (phase == graph::Phase::Forward &&
            llvm::any_of(op->getResults(), [&](Value result) { return gone.contains(result); }));
  };
  bool isRead = isa_and_present<graph::ReadOp>(root.getDefiningOp());
  std::map<std::pair<void *, std::string>, double> kept;
  std::function<void(Value, const Layout &, Value, Layout)> walk = [&](Value value, const Layout &has, Value holder,
                                                                       Layout held) {
    auto keep = [&](Value value, const Layout &layout, bool normal) {
      kept[{value.getAsOpaquePointer(), layout.str() + (normal ? " normal" : "")}] =
          cellsOf(value, layout) * (normal ? 4 : elementBytes(value));
    };
    for (OpOperand &use : value.getUses()) {
      Operation *user = input.blocks.representative(use.getOwner());
      if (!isa<FactorOpInterface>(user))
        continue;
      Layout want = placedOf(user).layouts.operands[use.getOperandNumber()];
      if (isa<graph::ReshapeOp>(user) || (isa<graph::CastOp>(user) && values.isFree(user->getResult(0)))) {
        Layout after = placedOf(user).layouts.results[0];
        Value view = use.getOwner()->getResult(0);
        want == has ? walk(view, after, holder, held) : walk(view, after, value, want);
        continue;
      }
      if (!isLate(use.getOwner()))
        continue;
      bool isThere = want != has && llvm::any_of(value.getUses(), [&](OpOperand &other) {
                       Operation *reader = input.blocks.representative(other.getOwner());
                       // Parameters are not read again for what is computed again.
                       bool isForward = isRead ? graph::getPhase(other.getOwner()) == graph::Phase::Forward
                                               : !isLate(other.getOwner());
                       return isa<FactorOpInterface>(reader) && isForward &&
                              placedOf(reader).layouts.operands[other.getOperandNumber()] == want;
                     });
      // Norms keep what they have normalised, in f32 (passes/exec/ExpandComposites.cpp), instead of what they read.
      auto again = [&](Operation *reader) {
        return isa<graph::LayerNormOp, graph::RmsNormOp>(reader) && isLate(reader);
      };
      bool normal =
          use.getOperandNumber() == 1 && llvm::none_of(value.getUsers(), again) &&
          isa<graph::LayerNormGradOp, graph::LayerNormParamGradOp, graph::RmsNormGradOp, graph::RmsNormParamGradOp>(
              use.getOwner());
      if (isThere)
        keep(value, want, normal);
      else if (holder != root || !isRead)
        keep(holder, held, normal);
    }
  };
  Layout own = layoutOf(root);
  walk(root, own, root, own);
  double bytes = 0;
  for (const auto &[value, size] : kept)
    bytes += size;
  return bytes;
}

/// Logits are made in chunks of rows (passes/exec/ChunkClassifier.cpp), in f32; their gradient lies in the same place
/// unless it is narrower.
void BlockPricer::addLogits(BlockCost &block, Value logits) {
  Layout layout = layoutOf(logits);
  std::vector<int64_t> shape;
  double cells = 1, narrow = 0;
  for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(logits.getType()).getShape())) {
    shape.push_back(llvm::divideCeil(localSize(classes.ofDim(logits, dim), size), plan.mesh.product(layout.dims[dim])));
    cells *= double(shape.back());
  }
  for (Operation *user : logits.getUsers())
    for (Value result : user->getResults())
      for (Operation *reader : result.getUsers())
        if (isa<graph::CastOp>(reader) && cast<ShapedType>(reader->getResult(0).getType()).getShape() ==
                                              cast<ShapedType>(logits.getType()).getShape())
          narrow = elementBytes(reader->getResult(0));
  std::optional<cost::LogitCut> cut = cost::cutLogits(shape, logitsBytes);
  cells /= double(cut ? cut->parts : 1);
  block.logitBytes += cells * (elementBytes(logits) + narrow);
  block.lateLogitBytes += cells * (cut ? elementBytes(logits) + narrow : narrow > 0 ? narrow : elementBytes(logits));
}

/// What is computed again together is there together.
void BlockPricer::addSegments(std::vector<BlockCost> &blocks, const llvm::MapVector<Value, double> &bytes) {
  const StepBlocks &row = input.blocks;
  for (plan::Recompute mode : {plan::Recompute::Selective, plan::Recompute::Full}) {
    llvm::DenseMap<int64_t, double> sums;
    for (auto &[value, segment] : values.segments(mode)) {
      Operation *op = row.representative(value.getDefiningOp());
      Value own = op->getResult(cast<OpResult>(value).getResultNumber());
      if (values.held(plan::Recompute::None).contains(own) && !values.held(mode).contains(own) &&
          !values.logits().contains(own))
        sums[segment] += bytes.lookup(own);
    }
    for (auto &[value, segment] : values.segments(mode))
      if (std::optional<uint32_t> number = row.blockOf(value.getDefiningOp())) {
        double &most = blocks[row.blocks()[*number].type].againBytes[size_t(mode)];
        most = std::max(most, sums[segment]);
      }
  }
}

/// Values that live for a while, over the step in its order, and what waits.
void BlockPricer::addMemory(std::vector<BlockCost> &blocks) {
  const StepBlocks &row = input.blocks;
  llvm::MapVector<Value, double> bytes;
  for (Operation *op : row.uniqueOps())
    if (isa<FactorOpInterface>(op))
      for (Value result : op->getResults())
        if (!values.isFree(result))
          bytes[result] = bytesOf(result);
  auto standIn = [&](Value value) {
    Operation *op = row.representative(value.getDefiningOp());
    return Value(op->getResult(cast<OpResult>(value).getResultNumber()));
  };
  for (Operation *op : row.uniqueOps())
    if (std::optional<uint32_t> number = row.blockOf(op); number && isa<graph::ReadOp>(op))
      for (size_t mode = 0; mode < kRecomputeModes; ++mode)
        blocks[row.blocks()[*number].type].heldBytes[mode] += waitingBytes(op->getResult(0), plan::Recompute(mode));
  for (auto [value, size] : bytes) {
    std::optional<uint32_t> number = row.blockOf(value.getDefiningOp());
    if (!number)
      continue;
    BlockCost &block = blocks[row.blocks()[*number].type];
    if (values.constants().contains(value))
      block.onceBytes += size;
    bool isLogits = values.logits().contains(value);
    for (size_t mode = 0; mode < kRecomputeModes; ++mode)
      if (values.held(plan::Recompute(mode)).contains(value) && !isLogits)
        block.heldBytes[mode] += waitingBytes(value, plan::Recompute(mode));
    if (isLogits && values.held(plan::Recompute::None).contains(value))
      addLogits(block, value);
  }
  // What is not computed again is kept, whatever the mode.
  for (BlockCost &block : blocks)
    for (size_t mode = 1; mode < kRecomputeModes; ++mode)
      if (const cost::Work &again = block.again[mode];
          again.streamBytes == 0 && again.gemms.empty() && again.attentions.empty())
        block.heldBytes[mode] = block.heldBytes[size_t(plan::Recompute::None)];
  addSegments(blocks, bytes);
  double live = 0;
  auto waits = [&](Value value) {
    return values.held(plan::Recompute::None).contains(value) || values.constants().contains(value) ||
           values.logits().contains(value);
  };
  for (Operation &op : row.step().front()) {
    if (!isa<FactorOpInterface>(op))
      continue;
    for (Value result : op.getResults())
      if (Value own = standIn(result); !waits(own))
        live += bytes.lookup(own);
    if (std::optional<uint32_t> number = row.blockOf(&op)) {
      double &most = blocks[row.blocks()[*number].type].workingBytes;
      most = std::max(most, live);
    }
    for (Value value : values.lastReadBy(&op))
      if (Value own = standIn(value); !waits(own))
        live -= bytes.lookup(own);
  }
}

std::vector<BlockCost> BlockPricer::run() {
  const StepBlocks &row = input.blocks;
  func::FuncOp step = row.step();
  for (BlockArgument argument : step.getArguments())
    if (cast<ShapedType>(argument.getType()).getRank() > 0)
      batch.insert(classes.ofDim(argument, 0));
  positions = positionClasses(step, classes);
  if (plan.mesh.find(kExpertAxis))
    for (Operation *op : row.uniqueOps())
      if (auto layer = dyn_cast<graph::ExpertsOp>(op))
        experts.insert(classes.ofDim(layer.getWIn(), 0));
  for (const plan::OpPlan &op : plan.ops)
    entries[op.origin] = &op;
  for (const plan::StatePlan &state : plan.states)
    states[state.name] = &state;

  findMoves();
  std::vector<BlockCost> blocks(row.types());
  for (Operation *op : row.uniqueOps()) {
    std::optional<uint32_t> number = row.blockOf(op);
    if (!number)
      continue;
    BlockCost &block = blocks[row.blocks()[*number].type];
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      addState(blocks, *number, read);
      continue;
    }
    if (!isa<FactorOpInterface>(op))
      continue;
    cost::Work &work = phaseOf(block, op);
    double seconds = moved.lookup(op);
    addWork(work, op);
    work.exchangeSeconds += seconds;
    block.attentions += isa<graph::AttentionOp>(op);
    block.expertLayers += isa<graph::ExpertsOp>(op);
    for (size_t mode = 1; mode < kRecomputeModes; ++mode)
      if (llvm::any_of(op->getResults(),
                       [&](Value result) { return values.again(plan::Recompute(mode)).contains(result); })) {
        addWork(block.again[mode], op);
        block.again[mode].exchangeSeconds += seconds;
      }
    block.once.exchangeSeconds += summed.lookup(op);
  }
  for (const StepBlocks::Block &each : row.blocks()) {
    double bytes = 0;
    for (Value value : each.entering) {
      Operation *op = row.representative(value.getDefiningOp());
      bytes += bytesOf(op->getResult(cast<OpResult>(value).getResultNumber()));
    }
    blocks[each.type].enteringBytes = std::max(blocks[each.type].enteringBytes, bytes);
  }
  addCopies(blocks);
  addMemory(blocks);
  return blocks;
}

std::vector<BlockCost> priceBlocks(const PlacementInput &input, const StepValues &values, const plan::Plan &plan,
                                   const cost::Machine &machine) {
  return BlockPricer(input, values, plan, machine).run();
}

} // namespace dtcc::dist
