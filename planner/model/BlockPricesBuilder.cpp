//===- BlockPricesBuilder.cpp - The layouts of placed blocks, and what is added up of them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/Bytes.h"
#include "passes/spmd/layout/PartialFlow.h"
#include "passes/spmd/layout/Projection.h"
#include "planner/model/KernelTraffic.h"
#include "planner/model/PriceBlocks.h"
#include "planner/step/ProductWidth.h"
#include "planner/step/ViewOps.h"
#include "planner/step/WaitingValues.h"
#include "llvm/ADT/IntEqClasses.h"
#include <map>

using namespace mlir;

namespace dtcc::spmd {

class BlockPrices::Builder {
public:
  Builder(BlockPrices &prices, const plan::Plan &plan)
      : prices(prices), table(prices.table), traffic(prices.table), row(table.input.blocks), values(table.step),
        plan(plan), waiting(
                        row, values, [this](Operation *op) -> const OpLayouts & { return placedOf(op).layouts; },
                        [this](Value value) { return layoutOf(value); }) {
    for (const plan::OpPlan &op : plan.ops)
      entries[op.origin] = &op;
    for (const plan::StatePlan &state : plan.states)
      states[state.name] = &state;
  }
  void run();

private:
  /// An op with its layouts over model axes; of its factors, which axes they have.
  struct Placed {
    OpLayouts layouts;
    SmallVector<uint32_t> axes;
  };
  const Placed &placedOf(Operation *op);
  Axes modelAxes(const Axes &axes) const;
  uint32_t numberOf(const Axes &axes);
  Layout layoutOf(Value value);
  Extents addExtents(std::vector<Extent> list);
  Extents extentsOf(Value value, const Layout &layout);
  Bytes bytesOf(Value value, const Layout &layout);
  Bytes ofGroup(Bytes bytes, double packed);
  Bytes bytesOf(Value value) { return bytesOf(value, layoutOf(value)); }
  Read readOf(const BlockTable::Op &op, unsigned operand);
  std::optional<uint32_t> typeOf(Operation *op) const {
    std::optional<uint32_t> number = row.blockOf(op);
    return number ? std::optional(row.blocks()[*number].type) : std::nullopt;
  }

  void addOp(const BlockTable::Op &op, uint32_t type);
  void addWork(OpWork &work, const BlockTable::Op &op);
  void addKernels();
  void addMoves();
  void addState(graph::ReadOp read, uint32_t type);
  Bytes bytesOf(const WaitingValues::Waiting &waiting, double share) {
    Bytes bytes = bytesOf(waiting.value, waiting.layout);
    bytes.each = share * bytes.each;
    return bytes;
  }
  void addWaiting(StoredValue &stored, Value root, plan::Recompute mode, double share);
  void addLeft(StoredValue &stored, Value value, plan::Recompute mode, double share);
  Logits logitsOf(Value logits);
  std::optional<std::array<Bytes, 2>> expertRowsOf(Operation *op);
  Bytes sentTo(graph::ExpertsOp layer);
  void addSentRows(ExpertRows &rows, graph::ExpertsOp layer);
  void addGathered(StoredValue &stored, Value value, plan::Recompute mode, double share);
  void addMemory();

  BlockPrices &prices;
  const BlockTable &table;
  KernelTraffic traffic;
  const StepBlocks &row;
  const StepValues &values;
  const plan::Plan &plan;
  llvm::DenseMap<int64_t, const plan::OpPlan *> entries;
  llvm::StringMap<const plan::StatePlan *> states;
  std::map<Operation *, Placed> known; // references to its elements stay
  llvm::DenseMap<Operation *, uint32_t> numbers;
  std::map<std::vector<Extent>, Extents> lists; // what addExtents gave
  WaitingValues waiting;
};

/// The axes among `axes` that split neither samples nor positions nor experts.
Axes BlockPrices::Builder::modelAxes(const Axes &axes) const {
  Axes result;
  for (const std::string &axis : plan.withoutUnitAxes(axes))
    if (!contains(plan.batchAxes, axis) && !contains(plan.sequenceAxes, axis))
      result.push_back(axis);
  return result;
}

uint32_t BlockPrices::Builder::numberOf(const Axes &axes) {
  auto at = llvm::find(prices.axes, axes);
  if (at == prices.axes.end())
    at = prices.axes.insert(at, axes);
  return at - prices.axes.begin();
}

const BlockPrices::Builder::Placed &BlockPrices::Builder::placedOf(Operation *op) {
  if (auto at = known.find(op); at != known.end())
    return at->second;
  const BlockTable::Op &entryOfOp = *table.find(op);
  const FactorMap &map = entryOfOp.map;
  const plan::OpPlan *entry = entries.lookup(entryOfOp.origin);
  Placement placement = entryOfOp.place([&](int64_t factor) { return modelAxes(plan.axesOf(entry, factor)); });
  Placed placed;
  for (const Axes &axes : placement.factors)
    placed.axes.push_back(numberOf(axes));
  // As the plan will be applied: gradients of what several products read are reduced once.
  auto layoutOf = [&](Value value) { return this->layoutOf(value); };
  auto ofStep = [](const std::string &) { return false; };
  bool isGiven = entryOfOp.phase == graph::Phase::Forward && entry && entry->partial;
  PartialFlow{layoutOf, ofStep, isGiven}.choose(op, map, placement);
  llvm::Expected<OpLayouts> layouts = project(map, placement);
  if (!layouts) {
    llvm::consumeError(layouts.takeError());
    placement = Placement();
    placement.factors.assign(map.factors.size(), {});
    layouts = project(map, placement);
  }
  placed.layouts = std::move(*layouts);
  return known[op] = std::move(placed);
}

Layout BlockPrices::Builder::layoutOf(Value value) {
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
  if (!op || !table.find(op))
    return Layout::replicated(rank);
  return placedOf(op).layouts.results[cast<OpResult>(value).getResultNumber()];
}

BlockPrices::Extents BlockPrices::Builder::addExtents(std::vector<Extent> list) {
  auto [known, isNew] = lists.try_emplace(std::move(list), Extents{uint32_t(prices.extents.size())});
  if (isNew)
    prices.extents.push_back(known->first);
  return known->second;
}

BlockPrices::Extents BlockPrices::Builder::extentsOf(Value value, const Layout &layout) {
  std::vector<Extent> list;
  for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape()))
    list.push_back({size, table.sharedDim(value, dim), numberOf(layout.dims[dim])});
  return addExtents(std::move(list));
}

static double elementBytes(Value value) { return double(getElementBytes(getElementTypeOrSelf(value))); }

BlockPrices::Bytes BlockPrices::Builder::bytesOf(Value value, const Layout &layout) {
  return {extentsOf(value, layout), elementBytes(value)};
}

/// Bytes for the samples of all ranks of a group that splits experts: there is room for all of them to pick the experts
/// of one rank. Where a capacity bounds the rows (--moe-capacity), the evaluation reduces them: see Bytes::packed.
BlockPrices::Bytes BlockPrices::Builder::ofGroup(Bytes bytes, double packed) {
  std::vector<Extent> list = prices.extents[bytes.extents.list];
  for (Extent &extent : list)
    extent.shared = extent.shared == SharedBy::Batch ? SharedBy::Group : extent.shared;
  return {addExtents(std::move(list)), bytes.each, packed};
}

/// Rows of picks for each cell of a result of an expert layer: rows of tokens have one for each pick, `hidden` and its
/// gradient one, and the gradients of weights are not packed.
static double packedRowsOf(Value value) {
  auto picks = [](Value ids) { return double(cast<ShapedType>(ids.getType()).getShape().back()); };
  if (auto layer = value.getDefiningOp<graph::ExpertsOp>())
    return value == layer.getHidden() ? 1 : picks(layer.getIds());
  auto grad = value.getDefiningOp<graph::ExpertsGradOp>();
  if (!grad || value == grad.getDweights())
    return 0;
  return value == grad.getDhidden() ? 1 : picks(grad.getIds());
}

BlockPrices::Read BlockPrices::Builder::readOf(const BlockTable::Op &op, unsigned operand) {
  Value value = op.op->getOperand(operand);
  Read read{bytesOf(value, placedOf(op.op).layouts.operands[operand]), {}, std::nullopt};
  if (Value from = traffic.readFor(op.op, operand); from != value)
    read.moved = from ? bytesOf(from) : Bytes();
  for (int64_t factor : op.map.operands[operand]) {
    if (factor == kNoFactor || op.map.factors[factor].kind != FactorKind::Index)
      continue;
    bool walked = llvm::any_of(op.map.results, [&](const auto &dims) { return llvm::is_contained(dims, factor); });
    if (!walked && op.op->getNumResults() > 0)
      read.most = bytesOf(op.op->getResult(0));
  }
  return read;
}

void BlockPrices::Builder::addWork(OpWork &work, const BlockTable::Op &op) {
  if (takesNoKernel(op.op) || values.isStored(op.op))
    return;
  work.works = true;
  const Placed &placed = placedOf(op.op);
  std::vector<Extent> sizes;
  for (auto [number, factor] : llvm::enumerate(op.map.factors))
    sizes.push_back({factor.size, op.shared[number], placed.axes[number]});
  work.sizes = addExtents(std::move(sizes));
  work.passes = double(KernelTraffic::passesOf(op.op));
  for (OpResult result : op.op->getResults())
    work.results.push_back(
        {bytesOf(result, placed.layouts.results[result.getResultNumber()]), traffic.isWritten(result)});
  for (unsigned operand = 0; operand < op.op->getNumOperands(); ++operand)
    work.reads.push_back(readOf(op, operand));
  if (std::optional<std::array<Bytes, 2>> rows = expertRowsOf(op.op))
    work.between = {(*rows)[0], (*rows)[0], (*rows)[1]};
  work.width = productWidth(op.op);
  work.picks = isa<graph::ExpertsOp, graph::ExpertsGradOp, graph::ExpertsWeightGradOp>(op.op);
  if (op.map.multiplies())
    for (int64_t number = 0; number < int64_t(op.map.factors.size()); ++number) {
      auto has = [&](ArrayRef<int64_t> dims) { return llvm::is_contained(dims, number); };
      bool a = has(op.map.operands[0]), b = has(op.map.operands[1]), y = has(op.map.results[0]);
      work.roles.push_back(a && b && y ? Role::Count : a && b ? Role::Inner : a ? Role::Row : Role::Column);
    }
  auto attend = [&](Value queries, Value keys, bool causal, bool backward) {
    work.attention = {extentsOf(queries, placed.layouts.operands[0]),
                      double(cast<ShapedType>(queries.getType()).getShape().back()),
                      double(cast<ShapedType>(keys.getType()).getDimSize(1)), causal, backward};
  };
  if (auto attention = dyn_cast<graph::AttentionOp>(op.op))
    attend(attention.getQ(), attention.getK(), attention.getMask().getCausal(), false);
  if (auto gradient = dyn_cast<graph::AttentionGradOp>(op.op))
    attend(gradient.getQ(), gradient.getK(), gradient.getMask().getCausal(), true);
}

void BlockPrices::Builder::addOp(const BlockTable::Op &op, uint32_t type) {
  OpWork work{op.op, type, &BlockWork::forward};
  bool isOnce = op.op->getNumResults() > 0 && values.constants().contains(op.op->getResult(0));
  work.phase = op.phase == graph::Phase::InputGradient    ? &BlockWork::inputGradient
               : op.phase == graph::Phase::WeightGradient ? &BlockWork::weightGradient
               : isOnce                                   ? &BlockWork::once
                                                          : &BlockWork::forward;
  for (size_t mode = 1; mode < kRecomputeModes; ++mode)
    work.again[mode] = llvm::any_of(op.op->getResults(),
                                    [&](Value result) { return values.again(plan::Recompute(mode)).contains(result); });
  work.attends = isa<graph::AttentionOp>(op.op);
  work.dispatches = isa<graph::ExpertsOp>(op.op);
  addWork(work, op);
  numbers[op.op] = prices.ops.size();
  prices.ops.push_back(std::move(work));
}

/// Numbers the kernels that compute the ops.
void BlockPrices::Builder::addKernels() {
  llvm::IntEqClasses kernels(prices.ops.size());
  for (auto [number, op] : llvm::enumerate(prices.ops))
    for (Operation *maker : traffic.makersInKernel(op.op))
      if (auto at = numbers.find(maker); at != numbers.end())
        kernels.join(number, at->second);
  kernels.compress();
  for (auto [number, op] : llvm::enumerate(prices.ops))
    op.kernel = kernels[number];
}

/// Adds the reshards of values for the ops that read them, and of gradients for their states, each to a layout once.
/// Blocks that are alike have the mean, because the first may read a value that lies otherwise.
void BlockPrices::Builder::addMoves() {
  for (const StepBlocks::Flow &flow : row.flows()) {
    Layout made = layoutOf(flow.value);
    // A value that is broadcast to the samples is made, and moved, in every micro-batch.
    const bool isOfBatch = llvm::any_of(llvm::seq(cast<ShapedType>(flow.value.getType()).getRank()), [&](int64_t dim) {
      return table.sharedDim(flow.value, dim) == SharedBy::Batch;
    });
    Brought brought{
        {}, int64_t(elementBytes(flow.value)), flow.times, table.input.fixed.contains(flow.value) && !isOfBatch};
    if (auto maker = numbers.find(flow.value.getDefiningOp()); maker != numbers.end())
      brought.maker = maker->second;
    if (flow.value.getDefiningOp())
      brought.stored = table.numberOf(flow.value);
    for (auto [reader, operand] : flow.readers) {
      auto read = dyn_cast<graph::ReadOp>(reader);
      if (!read && !table.find(reader))
        continue;
      Layout to = read ? layoutOf(read.getY()) : placedOf(reader).layouts.operands[operand];
      if (to == made || llvm::any_of(brought.forms, [&](const auto &form) { return form.layout == to; }))
        continue;
      // Weight gradients are moved by the block that makes them.
      Operation *by = read ? flow.value.getDefiningOp() : reader;
      auto number = numbers.find(by);
      if (number == numbers.end())
        continue;
      if (brought.forms.empty())
        brought.forms.push_back({made, extentsOf(flow.value, made), 0, false, 1});
      std::optional<uint32_t> type = typeOf(by);
      brought.forms.push_back(
          {to, extentsOf(flow.value, to), number->second, bool(read), type ? double(row.countOf(*type)) : 1});
    }
    if (!brought.forms.empty())
      prices.brought.push_back(std::move(brought));
  }
}

void BlockPrices::Builder::addState(graph::ReadOp read, uint32_t type) {
  auto state = table.input.states.lookup<graph::StateOp>(read.getState());
  Value value = read.getY();
  bool ofExperts = read.getY().getType().getRank() > 0 && table.sharedDim(value, 0) == SharedBy::Experts;
  prices.states.push_back({type, extentsOf(value, layoutOf(value)), elementBytes(value),
                           double(values.copyBytes(read.getState())), state && state.getTrainable(), ofExperts});
}

/// Adds the bytes that the forward pass leaves; `share` is the part of blocks alike that leave them. What another block
/// brought to the layout in which it waits counts there.
void BlockPrices::Builder::addWaiting(StoredValue &stored, Value root, plan::Recompute mode, double share) {
  for (const WaitingValues::Waiting &each : waiting.find(root, mode, WaitingValues::Work::Forward)) {
    StoredValue *holder = &stored;
    double part = share;
    const std::optional<uint32_t> reader = each.reader ? typeOf(each.reader) : std::nullopt;
    if (reader && *reader != stored.type && stored.type != kNoBlock) {
      holder = &prices.gathered.emplace_back(StoredValue{*reader, {}});
      part *= double(row.countOf(stored.type)) / double(row.countOf(*reader));
    }
    holder->waiting[size_t(mode)].push_back(bytesOf(each, part));
    if (each.ofWeights)
      holder->ofWeights[size_t(mode)].push_back(bytesOf(each, part));
  }
}

/// Adds the bytes that input gradients leave for weight gradients, in the `share` of blocks alike that leave them.
void BlockPrices::Builder::addLeft(StoredValue &stored, Value value, plan::Recompute mode, double share) {
  if (waiting.workOf(value.getDefiningOp(), mode) != WaitingValues::Work::InputGradient)
    return;
  for (const WaitingValues::Waiting &each : waiting.find(value, mode, WaitingValues::Work::InputGradient))
    stored.left[size_t(mode)].push_back(bytesOf(each, share));
}

BlockPrices::Logits BlockPrices::Builder::logitsOf(Value logits) {
  double narrow = 0;
  for (Operation *user : logits.getUsers())
    for (Value result : user->getResults())
      for (Operation *reader : result.getUsers())
        if (isa<graph::CastOp>(reader) && cast<ShapedType>(reader->getResult(0).getType()).getShape() ==
                                              cast<ShapedType>(logits.getType()).getShape())
          narrow = elementBytes(reader->getResult(0));
  return {extentsOf(logits, layoutOf(logits)), elementBytes(logits), narrow};
}

/// Besides results of the op: rows on both sides of a product, sorted by expert
/// (passes/exec/bufferize/ExpertRules.cpp), and what the activation gives, or its gradient, half as wide as gate and up
/// (passes/exec/local/ExpandExperts.cpp).
std::optional<std::array<BlockPrices::Bytes, 2>> BlockPrices::Builder::expertRowsOf(Operation *op) {
  auto rows = [&](unsigned ids, Value x, Value hidden) {
    Bytes narrow = ofGroup(bytesOf(op->getOperand(ids), placedOf(op).layouts.operands[ids]), 1),
          wide = ofGroup(bytesOf(hidden), 1);
    narrow.each = elementBytes(x) * double(cast<ShapedType>(x.getType()).getShape().back());
    wide.each *= 1.5;
    return std::array<Bytes, 2>{narrow, wide};
  };
  if (auto layer = dyn_cast<graph::ExpertsOp>(op))
    return rows(layer.getIdsMutable().getOperandNumber(), layer.getX(), layer.getHidden());
  if (auto grad = dyn_cast<graph::ExpertsGradOp>(op))
    return rows(grad.getIdsMutable().getOperandNumber(), grad.getDx(), grad.getDhidden());
  return std::nullopt;
}

/// The rows that experts are sent, in the layout in which they read them.
BlockPrices::Bytes BlockPrices::Builder::sentTo(graph::ExpertsOp layer) {
  OpOperand &x = layer.getXMutable();
  const Layout &layout = placedOf(row.representative(layer)).layouts.operands[x.getOperandNumber()];
  return ofGroup(bytesOf(x.get(), layout), double(cast<ShapedType>(layer.getIds().getType()).getShape().back()));
}

/// The rows that experts were sent wait for the gradients of weights where the value waits that they are rows of.
/// Others are sent again, and lie there beside the rows of the gradients.
void BlockPrices::Builder::addSentRows(ExpertRows &rows, graph::ExpertsOp layer) {
  Operation *maker = layer.getX().getDefiningOp();
  Value typical =
      maker ? row.representative(maker)->getResult(cast<OpResult>(layer.getX()).getResultNumber()) : Value();
  for (size_t mode = 0; mode < kRecomputeModes; ++mode) {
    if (values.saved(plan::Recompute(mode)).contains(typical))
      rows.waiting[mode] = sentTo(layer);
    if (values.again(plan::Recompute(mode)).contains(layer.getX()))
      rows.again[mode] = sentTo(layer);
  }
}

/// Keys and values that were gathered for the forward pass wait so, in the place of a rank's part of them.
void BlockPrices::Builder::addGathered(StoredValue &stored, Value value, plan::Recompute mode, double share) {
  for (Operation *user : value.getUsers()) {
    if (isa<graph::ReshapeOp>(user) && graph::getPhase(user) == graph::Phase::Forward)
      addGathered(stored, user->getResult(0), mode, share);
    auto attention = dyn_cast<graph::AttentionOp>(user);
    if (!attention || attention.getQ() == value || values.gone(mode).contains(attention->getResult(0)))
      continue;
    unsigned operand = attention.getK() == value ? 1 : 2;
    Bytes part = bytesOf(value, placedOf(row.representative(user)).layouts.operands[operand]);
    part.each *= share;
    std::vector<Extent> list = prices.extents[part.extents.list];
    for (Extent &extent : list)
      extent.shared = extent.shared == SharedBy::Positions ? SharedBy::Nothing : extent.shared;
    Bytes whole{addExtents(std::move(list)), part.each};
    part.each = -part.each;
    llvm::append_values(stored.waiting[size_t(mode)], whole, part);
  }
}

void BlockPrices::Builder::addMemory() {
  for (Operation *op : row.uniqueOps())
    if (std::optional<uint32_t> type = typeOf(op); type && isa<graph::ReadOp>(op)) {
      StoredValue stored{*type, {}};
      for (size_t mode = 0; mode < kRecomputeModes; ++mode)
        addWaiting(stored, op->getResult(0), plan::Recompute(mode), 1);
      for (const WaitingValues::Waiting &each : waiting.findBrought(op->getResult(0)))
        stored.brought.push_back(bytesOf(each, 1));
      prices.parameters.push_back(std::move(stored));
    }
  for (Value value : table.owned()) {
    std::optional<uint32_t> type = typeOf(value.getDefiningOp());
    bool ofExperts = isa<graph::ExpertsOp, graph::ExpertsGradOp>(value.getDefiningOp());
    StoredValue stored{type.value_or(kNoBlock),
                       ofExperts ? ofGroup(bytesOf(value), packedRowsOf(value)) : bytesOf(value)};
    stored.once = values.constants().contains(value);
    bool isLogits = values.logits().contains(value);
    for (size_t mode = 0; type && !isLogits && mode < kRecomputeModes; ++mode) {
      auto waits = values.saved(plan::Recompute(mode)).find(value);
      if (waits != values.saved(plan::Recompute(mode)).end()) {
        addWaiting(stored, waits->second.value, plan::Recompute(mode), waits->second.share);
        // The result of an attention whose heads are split in the place of positions is read in both forms.
        if (prices.exchange == SequenceExchange::AllToAll && isa<graph::AttentionOp>(value.getDefiningOp()) &&
            cast<OpResult>(value).getResultNumber() == 0)
          addWaiting(stored, waits->second.value, plan::Recompute(mode), waits->second.share);
        if (prices.exchange == SequenceExchange::Gather)
          addGathered(stored, waits->second.value, plan::Recompute(mode), waits->second.share);
        if (waits->second.again)
          addLeft(stored, waits->second.again, plan::Recompute(mode), 1 - waits->second.share);
      } else {
        Operation *op = row.typical(value.getDefiningOp());
        addLeft(stored, op->getResult(cast<OpResult>(value).getResultNumber()), plan::Recompute(mode), 1);
      }
    }
    if (ofExperts)
      for (auto *waiting : {&stored.waiting, &stored.ofWeights, &stored.left})
        for (std::vector<Bytes> &bytes : *waiting)
          llvm::for_each(bytes, [&](Bytes &each) { each = ofGroup(each, packedRowsOf(value)); });
    if (isLogits && values.saved(plan::Recompute::None).contains(value))
      stored.logits = logitsOf(value);
    prices.values.push_back(std::move(stored));
  }
}

void BlockPrices::Builder::run() {
  for (Operation *op : row.uniqueOps()) {
    std::optional<uint32_t> type = typeOf(op);
    if (!type)
      continue;
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      addState(read, *type);
    } else if (const BlockTable::Op *each = table.find(op)) {
      addOp(*each, *type);
      if (std::optional<std::array<Bytes, 2>> rows = expertRowsOf(op))
        prices.rows.push_back({*type, *rows});
      if (auto layer = dyn_cast<graph::ExpertsOp>(op))
        addSentRows(prices.rows.back(), layer);
    }
  }
  addKernels();
  addMoves();
  for (const BlockTable::Tied &tied : table.tied())
    prices.copies.push_back({&tied, extentsOf(tied.value, layoutOf(tied.value))});
  for (const StepBlocks::Block &each : row.blocks()) {
    std::vector<Bytes> bytes;
    for (Value value : each.entering) {
      Operation *op = row.representative(value.getDefiningOp());
      bytes.push_back(bytesOf(op->getResult(cast<OpResult>(value).getResultNumber())));
    }
    prices.entering.push_back(std::move(bytes));
  }
  addMemory();
}

BlockPrices::BlockPrices(const BlockTable &table, const plan::Plan &plan, KernelSizes sizes, SequenceExchange exchange,
                         double capacity)
    : table(table), sizes(sizes), exchange(exchange), capacity(capacity) {
  Builder(*this, plan).run();
}

} // namespace dtcc::spmd
