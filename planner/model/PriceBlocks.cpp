//===- PriceBlocks.cpp - What a rank computes, sends and keeps of each block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/PriceBlocks.h"
#include "passes/exec/Target.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/cost/Kernels.h"
#include "planner/cost/LogitChunks.h"
#include "planner/placement/PlaceExperts.h"
#include "runtime/abi/GpuWorkspace.h"
#include <cmath>
#include <tuple>

using namespace mlir;

namespace dtcc::spmd {

/// Operations a cell of the result: above this an op is no chain of cells but some product.
static constexpr double kDear = 48;
/// Side of products of unknown shape, in multiples of which no tile is cut.
static constexpr double kWholeTiles = 256;

/// The numbers of one mesh and one number of samples.
class BlockPrices::Evaluation {
public:
  Evaluation(const BlockPrices &prices, const plan::Plan &plan, ReshardPrices &reshards)
      : prices(prices), plan(plan), row(prices.table.input.blocks), reshards(reshards), blocks(row.types()),
        hasExperts(plan.mesh.find(kExpertAxis)) {
    shares[size_t(SharedBy::Batch)] = plan.mesh.product(plan.batchAxes);
    shares[size_t(SharedBy::Experts)] = hasExperts ? plan.mesh.product({kExpertAxis}) : 1;
    shares[size_t(SharedBy::Group)] = shares[size_t(SharedBy::Batch)] / shares[size_t(SharedBy::Experts)];
    shares[size_t(SharedBy::Positions)] = plan.mesh.product(plan.sequenceAxes);
    for (const Axes &axes : prices.axes)
      products.push_back(plan.mesh.product(axes));
    for (const std::vector<Extent> &list : prices.extents) {
      double &product = cells.emplace_back(1);
      for (const Extent &extent : list)
        product *= double(sizeOf(extent));
    }
  }
  std::vector<BlockCost> run();
  std::vector<CollectiveRow> collectives();

private:
  int64_t sharedSize(const Extent &extent) const {
    switch (extent.shared) {
    case SharedBy::Nothing:
      return extent.size;
    case SharedBy::Batch:
    case SharedBy::Group:
      return std::max<int64_t>(1, extent.size / shares[size_t(extent.shared)]);
    default:
      return llvm::divideCeil(extent.size, shares[size_t(extent.shared)]);
    }
  }
  int64_t sizeOf(const Extent &extent) const { return llvm::divideCeil(sharedSize(extent), products[extent.axes]); }
  ArrayRef<Extent> of(Extents extents) const { return prices.extents[extents.list]; }
  double cellsOf(Extents extents) const { return cells[extents.list]; }
  double bytesOf(const Bytes &bytes) const {
    double members = double(shares[size_t(SharedBy::Experts)]), all = cellsOf(bytes.extents) * bytes.each;
    return isPacked(bytes) ? all * bytes.packed * std::min(1.0, prices.capacity / members) : all;
  }

  struct OpCost {
    std::optional<cost::Gemm> gemm;
    std::optional<cost::Attention> attention;
    double kernelBytes = 0, scratchBytes = 0;
    void addTo(cost::Work &work) const {
      if (gemm)
        work.gemms.push_back(*gemm);
      if (attention)
        work.attentions.push_back(*attention);
      work.kernelBytes += kernelBytes;
    }
  };
  OpCost costOf(const OpWork &op) const;
  OpCost againOf(const OpWork &layer, OpCost cost) const;
  double scratchOf(const OpWork &op) const;
  double scratchOfPicks(const OpWork &op, ArrayRef<int64_t> sizes) const;
  bool isPacked(const Bytes &bytes) const {
    return bytes.packed > 0 && prices.capacity > 0 && shares[size_t(SharedBy::Experts)] > 1;
  }
  std::optional<cost::Gemm> productOf(const OpWork &op, ArrayRef<int64_t> sizes, double flops) const;
  /// A value that is brought to one of its forms.
  struct Moved {
    const Brought *value = nullptr;
    const Brought::Form *form = nullptr;
    bool once = false;
    ReshardPrices::Price price = {};
    ReshardPrices::Ways *ways = nullptr;
    SmallVector<int64_t> shape = {};
  };
  void forMoves(llvm::function_ref<void(const Moved &)> handle);
  const OpWork *productBeside(const Moved &each) const;
  cost::ChunkedExchange chunksOf(const Moved &each, const cost::Gemm &product, double times) const;
  void addMoves();
  void addStates();
  void addStarts(std::vector<OpCost> &costs) const;
  void addWork();
  void addLeaving();
  void addLogits(BlockCost &block, const Logits &logits);
  void addBrought();
  void addSaved(const StoredValue &stored);
  void addSavedValues();
  void addLiveValues();
  void addExpertRows();

  const BlockPrices &prices;
  const plan::Plan &plan;
  const StepBlocks &row;
  ReshardPrices &reshards;
  std::vector<BlockCost> blocks;
  bool hasExperts;
  std::array<int64_t, kSharedBy> shares{1, 1, 1, 1, 1};
  std::vector<int64_t> products;
  /// The cells of each list of extents.
  std::vector<double> cells;
  /// Per op, seconds of bringing its operands to it in a micro-batch, and its results to their states in a step.
  std::vector<double> moved, summed;
  /// Per op, those exchanges of its operands in a forward pass that can be cut with a product.
  std::vector<std::vector<cost::ChunkedExchange>> chunked;
  /// Per value, bytes of a rank's shard of a weight gradient that each micro-batch reduces over axes of the model.
  std::vector<double> reduced;
};

/// A contraction of two operands: rows and columns are of one each, inner columns of both.
std::optional<cost::Gemm> BlockPrices::Evaluation::productOf(const OpWork &op, ArrayRef<int64_t> sizes,
                                                             double flops) const {
  if (op.roles.empty())
    return std::nullopt;
  double all = 2;
  for (int64_t size : sizes)
    all *= double(size);
  if (std::abs(flops - all) > 0.01 * all)
    return std::nullopt;
  cost::Gemm gemm{1, 1, 1, 1, op.width};
  double cost::Gemm::*const part[] = {&cost::Gemm::count, &cost::Gemm::k, &cost::Gemm::m, &cost::Gemm::n};
  for (auto [role, size] : llvm::zip_equal(op.roles, sizes))
    gemm.*part[size_t(role)] *= double(size);
  gemm.together = true;
  // Rows are those of the values as they are stored. Programs of GPUs keep wide rows apart.
  auto aligned = [&](const Bytes &value) {
    ArrayRef<Extent> extents = of(value.extents);
    int64_t bytes = extents.empty() ? 0 : sizeOf(extents.back()) * int64_t(value.each);
    return exec::rowBytes(bytes, exec::findTarget("cuda")->rowAlignment) % exec::kUnitOfProducts == 0;
  };
  gemm.alignedRows = llvm::all_of(op.results, [&](const Result &result) { return aligned(result.bytes); }) &&
                     llvm::all_of(op.reads, [&](const Read &read) { return aligned(read.bytes); });
  return gemm;
}

/// The products of an expert layer or of one of its gradients, as many as `flops` says. They have the shape of the
/// first one, whose columns are gate and up of all `rest` = {matrices, 2, width, in, out}. Programs start each once for
/// all matrices.
static cost::Gemm pickedProducts(double rows, ArrayRef<int64_t> rest, double flops, cost::Width width) {
  const double groups = double(rest[0]), columns = double(rest[1] * rest[2]), depth = double(rest[3]);
  rows = std::max(rows, groups);
  cost::Gemm gemm{rows, columns, depth, flops / (2 * rows * columns * depth), width, groups};
  gemm.together = true;
  return gemm;
}

/// Bytes that programs of GPUs reserve for the gradient of an attention of halves. Its first operands are q, k and v.
double BlockPrices::Evaluation::scratchOf(const OpWork &op) const {
  SmallVector<int64_t> q;
  for (const Extent &extent : of(op.attention->queries))
    q.push_back(sizeOf(extent));
  auto v = cast<ShapedType>(op.op->getOperand(2).getType());
  if (!op.attention->backward || v.getElementTypeBitWidth() != 16 || q.size() < 4)
    return 0;
  gpu_workspace::LibraryAttention sizes = {
      q[0], q[1], v.getShape()[1], q[2], q.size() > 4 ? q[3] : 1, q.back(), v.getShape().back()};
  return sizes.fits() ? double(sizes.backward()) : 0;
}

/// Bytes that programs of GPUs reserve for the products of an expert layer, whose last factors are those of
/// pickedProducts: the products of all picks of a token are added up in f32 behind the last of them.
double BlockPrices::Evaluation::scratchOfPicks(const OpWork &op, ArrayRef<int64_t> sizes) const {
  if (op.between.empty())
    return 0;
  const Bytes &each = op.between.front();
  const int64_t rows = int64_t(bytesOf(each) / each.each), groups = sizes.take_back(5).front();
  const bool isSummed = !isPacked(each) && sizes.drop_back(5).back() > 1;
  const int64_t channels = op.phase == &BlockWork::inputGradient ? sizes.drop_back(1).back() : sizes.back();
  return double(gpu_workspace::grouped(rows, groups, isSummed ? rows * channels : 0));
}

BlockPrices::Evaluation::OpCost BlockPrices::Evaluation::costOf(const OpWork &op) const {
  OpCost cost;
  SmallVector<int64_t> sizes;
  for (const Extent &extent : of(op.sizes))
    sizes.push_back(sizeOf(extent));
  auto source = dyn_cast<WorkOpInterface>(op.op);
  double flops = source ? source.getFlops(sizes) : 0;
  if ((cost.gemm = productOf(op, sizes, flops)))
    return cost;
  if (op.attention) {
    const Attends &attends = *op.attention;
    cost.attention = {cellsOf(attends.queries) / attends.size,
                      1,
                      attends.length,
                      attends.size,
                      attends.causal,
                      attends.backward,
                      cost::AttentionKernel::Tuned};
    cost.scratchBytes = scratchOf(op);
    return cost;
  }
  double cells = 1;
  for (const Result &result : op.results) {
    double own = cellsOf(result.bytes.extents);
    cells = std::max(cells, own);
    if (result.isWritten)
      cost.kernelBytes += own * result.bytes.each;
  }
  for (const Read &read : op.reads) {
    double bytes = bytesOf(read.moved ? *read.moved : read.bytes);
    cost.kernelBytes += op.passes * (read.most ? std::min(bytes, bytesOf(*read.most)) : bytes);
  }
  if (op.picks) {
    ArrayRef<int64_t> rows = ArrayRef(sizes).drop_back(5), rest = ArrayRef(sizes).take_back(5);
    cost.gemm = pickedProducts(llvm::product_of(rows), rest, flops, op.width);
    cost.kernelBytes = 0;
    for (const Bytes &between : op.between)
      cost.kernelBytes += bytesOf(between);
    cost.scratchBytes = scratchOfPicks(op, sizes);
    return cost;
  }
  if (flops > kDear * cells) {
    // Products of some other shape: cubes of their operations, which read and write what the op does beside them. Sides
    // are such that no tile is cut, since no dimension of the op is meant.
    double side = std::max(kWholeTiles, std::round(std::cbrt(flops / 2) / kWholeTiles) * kWholeTiles);
    double count = flops / (2 * side * side * side);
    cost.gemm = {side, side, side, count, op.width};
    cost.gemm->bytes = std::exchange(cost.kernelBytes, 0) / count;
    for (const Bytes &rows : op.between)
      cost.kernelBytes += bytesOf(rows);
  }
  return cost;
}

/// As programs will: to each layout from the nearest by bytes, parameters once a step; what is still a sum over ranks
/// is handed to the update, shares of sums are made in every micro-batch.
void BlockPrices::Evaluation::forMoves(llvm::function_ref<void(const Moved &)> handle) {
  SmallVector<int64_t> shape;
  for (const Brought &each : prices.brought) {
    // Forms that there is no way to are no sources either.
    SmallVector<const Brought::Form *, 2> sources{&each.forms.front()};
    for (const Brought::Form &form : ArrayRef(each.forms).drop_front()) {
      bool isLeft = form.ofState && isLeftToUpdate(sources.front()->layout, form.layout);
      Moved best;
      for (const Brought::Form *source : isLeft ? ArrayRef(sources).take_front() : ArrayRef(sources)) {
        shape.clear();
        for (auto [before, after] : llvm::zip_equal(of(source->extents), of(form.extents))) {
          int64_t parts = std::max(products[before.axes], products[after.axes]);
          shape.push_back(llvm::divideCeil(sharedSize(before), parts) * parts);
        }
        ReshardPrices::Ways &ways = reshards.between(source->layout, form.layout);
        std::optional<ReshardPrices::Price> price =
            reshards.price(ways, std::span<const int64_t>(shape.data(), shape.size()), each.elementBytes);
        if (price && (!best.ways || price->bytes < best.price.bytes))
          best = {&each, &form, isLeft || (each.once && !form.ofState), *price, &ways, shape};
      }
      if (!best.ways)
        continue;
      handle(best);
      sources.push_back(&form);
    }
  }
}

/// Whether a value only becomes whole along axes that split it: an all-gather. Other moves are not cut.
static bool isGather(const Layout &from, const Layout &to) {
  for (auto [before, after] : llvm::zip_equal(from.dims, to.dims))
    if (after.size() > before.size() || !std::equal(after.begin(), after.end(), before.begin()))
      return false;
  return from.partial == to.partial;
}

/// The product of a forward pass whose result a move sums, or for which it gathers an operand; else null.
const BlockPrices::OpWork *BlockPrices::Evaluation::productBeside(const Moved &each) const {
  const OpWork &reader = prices.ops[each.form->op];
  if (reader.phase != &BlockCost::forward)
    return nullptr;
  const Layout &from = each.value->forms.front().layout, &to = each.form->layout;
  const OpWork *product = nullptr;
  if (isGather(from, to))
    product = &reader;
  else if (!from.partial.empty() && to.partial.empty() && each.value->maker)
    product = &prices.ops[*each.value->maker];
  return product && !product->roles.empty() ? product : nullptr;
}

/// A move, made so many times, and the product beside it, in parts as passes/exec/local/ChunkExchanges.cpp cuts them.
cost::ChunkedExchange BlockPrices::Evaluation::chunksOf(const Moved &each, const cost::Gemm &product,
                                                        double times) const {
  const MoveTime &time = each.price.time;
  cost::ChunkedExchange result{product, times * time.seconds, times * time.start, times * time.copies};
  const auto rows = llvm::find_if(each.shape, [](int64_t size) { return size > 1; });
  if (rows == each.shape.end())
    return result;
  result.rows = *rows;
  const size_t dim = size_t(rows - each.shape.begin());
  const Layout &from = each.value->forms.front().layout, &to = each.form->layout;
  if (from.dims[dim] == to.dims[dim])
    return result;
  // Parts of exchanged rows have some of each rank.
  const int64_t here = plan.mesh.product(from.dims[dim]), there = plan.mesh.product(to.dims[dim]);
  result.rows = std::max<int64_t>(1, *rows / std::max(here, there));
  const double bytes = double(each.value->elementBytes) * product.count * product.m;
  result.apartBytes = 2 * bytes * (isGather(from, to) ? product.k + product.n : product.k);
  return result;
}

/// Adds the seconds of reshards for the ops that read values, and of gradients for their states.
void BlockPrices::Evaluation::addMoves() {
  moved.assign(prices.ops.size(), 0);
  summed.assign(prices.ops.size(), 0);
  chunked.assign(prices.ops.size(), {});
  reduced.assign(prices.values.size(), 0);
  forMoves([&](const Moved &each) {
    if (each.form->ofState && !each.once && each.value->stored)
      reduced[*each.value->stored] = cellsOf(each.form->extents) * double(each.value->elementBytes);
    const double times = double(each.value->times) / each.form->blocks;
    (each.once ? summed : moved)[each.form->op] += times * each.price.time.seconds;
    if (const OpWork *product = each.once ? nullptr : productBeside(each))
      if (std::optional<cost::Gemm> gemm = costOf(*product).gemm)
        chunked[each.form->op].push_back(chunksOf(each, *gemm, times));
  });
}

std::vector<CollectiveRow> BlockPrices::Evaluation::collectives() {
  std::vector<CollectiveRow> rows;
  forMoves([&](const Moved &each) {
    std::span<const int64_t> shape(each.shape.data(), each.shape.size());
    for (const ReshardPrices::Step &step : reshards.wayOf(*each.ways, shape, each.value->elementBytes)) {
      if (!step.move.collective())
        continue;
      CollectiveRow row{each.once ? "once" : "microbatch",
                        std::string(Move::name(step.move.kind)),
                        step.move.axes,
                        plan.mesh.product(step.move.axes),
                        0,
                        0};
      auto at = llvm::find_if(rows, [&](const CollectiveRow &other) {
        return std::tie(other.phase, other.kind, other.axes) == std::tie(row.phase, row.kind, row.axes);
      });
      if (at == rows.end())
        at = rows.insert(at, row);
      int64_t times = each.value->times * (each.once ? 1 : plan.mesh.slots());
      at->count += times;
      at->bytes += times * int64_t(std::max(step.sizes.before, step.sizes.after));
    }
  });
  return rows;
}

void BlockPrices::Evaluation::addStates() {
  for (const State &state : prices.states) {
    BlockCost &block = blocks[state.type];
    double cells = cellsOf(state.extents), copy = cells * state.copy;
    if (!state.trained) {
      block.frozenBytes += copy > 0 ? copy : cells * state.each;
      continue;
    }
    bool apart = state.ofExperts && hasExperts;
    (apart ? block.expertParameters : block.parameters) += cells;
    (apart ? block.expertCopyBytes : block.copyBytes) += copy;
  }
  // Blocks that are alike each have the mean.
  for (const Copies &each : prices.copies) {
    double cells = cellsOf(each.extents);
    blocks[each.tied->type].tiedParameters += cells / double(row.countOf(each.tied->type));
    for (uint32_t other : each.tied->others) {
      double count = double(row.countOf(other));
      blocks[other].sharedParameters += cells / count;
      blocks[other].sharedCopyBytes += cells * double(each.tied->copyBytes) / count;
    }
  }
}

/// A kernel that moves few bytes takes the time in which it starts. Products and attentions have that in their own
/// times, with what ends them.
void BlockPrices::Evaluation::addStarts(std::vector<OpCost> &costs) const {
  struct Kernel {
    double bytes = 0;
    bool isProduct = false;
  };
  std::vector<Kernel> kernels(prices.ops.size());
  for (auto [op, cost] : llvm::zip_equal(prices.ops, costs)) {
    kernels[op.kernel].bytes += cost.kernelBytes / op.passes;
    kernels[op.kernel].isProduct |= cost.gemm || cost.attention;
  }
  for (auto [op, cost] : llvm::zip_equal(prices.ops, costs)) {
    const Kernel &kernel = kernels[op.kernel];
    if (kernel.bytes > 0 && !kernel.isProduct)
      cost.kernelBytes *= std::max(1.0, prices.sizes.startBytes / kernel.bytes);
  }
}

/// The work of an expert layer that the backward pass needs again: that of its hidden values, not of its result.
BlockPrices::Evaluation::OpCost BlockPrices::Evaluation::againOf(const OpWork &layer, OpCost cost) const {
  SmallVector<double> rest;
  for (const Extent &extent : of(layer.sizes).take_back(5))
    rest.push_back(double(sizeOf(extent)));
  const double pair = rest[1], in = rest[3], out = rest[4];
  if (cost.gemm)
    cost.gemm->count *= pair * in / (pair * in + out);
  return cost;
}

void BlockPrices::Evaluation::addWork() {
  std::vector<OpCost> costs;
  for (const OpWork &op : prices.ops)
    costs.push_back(op.works ? costOf(op) : OpCost());
  addStarts(costs);
  for (auto [number, op] : llvm::enumerate(prices.ops)) {
    BlockCost &block = blocks[op.type];
    const OpCost &cost = costs[number];
    cost.addTo(block.*op.phase);
    (block.*op.phase).exchangeSeconds += moved[number];
    (block.*op.phase).fillableSeconds += moved[number];
    llvm::append_range((block.*op.phase).chunked, chunked[number]);
    block.scratchBytes = std::max(block.scratchBytes, cost.scratchBytes);
    block.attentions += op.attends;
    block.expertLayers += op.dispatches;
    for (size_t mode = 1; mode < kRecomputeModes; ++mode)
      if (op.again[mode]) {
        (op.dispatches ? againOf(op, cost) : cost).addTo(block.again[mode]);
        block.again[mode].exchangeSeconds += moved[number];
        llvm::append_range(block.again[mode].chunked, chunked[number]);
      }
    block.once.exchangeSeconds += summed[number];
  }
}

void BlockPrices::Evaluation::addLeaving() {
  for (size_t block = 1; block < prices.entering.size(); ++block) {
    double bytes = 0, largest = 0;
    for (const Bytes &value : prices.entering[block]) {
      bytes += bytesOf(value);
      largest = std::max(largest, bytesOf(value));
    }
    BlockCost &cost = blocks[row.blocks()[block - 1].type];
    cost.leavingBytes = std::max(cost.leavingBytes, bytes);
    cost.leavingRoomBytes = std::max(cost.leavingRoomBytes, largest * double(prices.entering[block].size()));
  }
}

/// Logits are made in chunks of rows (passes/exec/local/ChunkClassifier.cpp), in f32; their gradient lies in the same
/// place unless it is narrower.
void BlockPrices::Evaluation::addLogits(BlockCost &block, const Logits &logits) {
  std::vector<int64_t> shape;
  double cells = 1;
  for (const Extent &extent : of(logits.extents)) {
    shape.push_back(sizeOf(extent));
    cells *= double(shape.back());
  }
  std::optional<cost::LogitCut> cut = cost::cutLogits(shape, prices.sizes.logitsBytes);
  cells /= double(cut ? cut->parts : 1);
  block.logitBytes += cells * (logits.each + logits.narrow);
  block.lateLogitBytes += cells * (cut ? logits.each + logits.narrow : logits.narrow > 0 ? logits.narrow : logits.each);
}

void BlockPrices::Evaluation::addBrought() {
  for (const StoredValue &stored : prices.parameters) {
    BlockCost &block = blocks[stored.type];
    for (const Bytes &each : stored.brought)
      block.broughtBytes += bytesOf(each);
    for (size_t mode = 0; mode < kRecomputeModes; ++mode)
      for (const Bytes &each : stored.waiting[mode])
        block.broughtHeldBytes[mode] += bytesOf(each);
  }
}

void BlockPrices::Evaluation::addSaved(const StoredValue &stored) {
  BlockCost &block = blocks[stored.type];
  for (size_t mode = 0; mode < kRecomputeModes; ++mode)
    for (auto [values, sum] : {std::pair(&stored.waiting, &block.heldBytes),
                               {&stored.ofWeights, &block.weightBytes},
                               {&stored.left, &block.leftBytes}})
      for (const Bytes &each : (*values)[mode])
        (*sum)[mode] += bytesOf(each);
}

void BlockPrices::Evaluation::addSavedValues() {
  for (const StoredValue &stored : prices.values) {
    if (stored.type == kNoBlock)
      continue;
    if (stored.once)
      blocks[stored.type].onceBytes += bytesOf(stored.bytes);
    addSaved(stored);
    if (stored.logits)
      addLogits(blocks[stored.type], *stored.logits);
  }
  for (const StoredValue &stored : prices.gathered)
    addSaved(stored);
  for (const ExpertRows &each : prices.rows)
    for (size_t mode = 0; mode < kRecomputeModes; ++mode)
      if (each.waiting[mode])
        blocks[each.type].heldBytes[mode] += bytesOf(*each.waiting[mode]);
  // Values that are not computed again are kept, whatever the mode, besides what other blocks compute theirs from.
  for (BlockCost &block : blocks)
    for (size_t mode = 1; mode < kRecomputeModes; ++mode)
      if (!block.computesAgain(plan::Recompute(mode)))
        for (auto *bytes : {&block.heldBytes, &block.weightBytes, &block.leftBytes, &block.broughtHeldBytes})
          (*bytes)[mode] = std::max((*bytes)[mode], (*bytes)[size_t(plan::Recompute::None)]);
}

/// Values live for a while, over the step in its order.
void BlockPrices::Evaluation::addLiveValues() {
  std::vector<double> bytes;
  for (const StoredValue &stored : prices.values)
    bytes.push_back(bytesOf(stored.bytes));
  for (size_t mode = 0; mode < kRecomputeModes; ++mode) {
    // On GPUs a weight gradient is reduced beside the next one: both are there until then, whole and in shards.
    double live = 0, beside = 0;
    for (auto [kind, number] : prices.table.events(plan::Recompute(mode))) {
      if (kind == BlockTable::Event::BlockRuns) {
        blocks[number].workingBytes[mode] = std::max(blocks[number].workingBytes[mode], live);
        continue;
      }
      const bool isReduced = prices.sizes.plansWorkspace && reduced[number] > 0;
      const double all = bytes[number] + (isReduced ? reduced[number] : 0);
      if (kind == BlockTable::Event::Begins)
        live += all;
      else
        live -= isReduced ? std::exchange(beside, all) : all;
    }
  }
}

/// Rows of experts are sorted and sent beside all else that lives.
void BlockPrices::Evaluation::addExpertRows() {
  std::vector<double> rows(blocks.size());
  for (const ExpertRows &each : prices.rows) {
    // Products of GPUs read rows by their numbers, unless they were packed for other ranks.
    const bool sorts = !prices.sizes.plansWorkspace || isPacked(each.bytes[0]);
    rows[each.type] = std::max(rows[each.type], (sorts ? bytesOf(each.bytes[0]) : 0) + bytesOf(each.bytes[1]));
  }
  for (auto [block, bytes] : llvm::zip_equal(blocks, rows))
    for (double &working : block.workingBytes)
      working += bytes;
  for (const ExpertRows &each : prices.rows)
    for (size_t mode = 1; mode < kRecomputeModes; ++mode)
      if (each.again[mode]) {
        blocks[each.type].sendsAgain[mode] = true;
        blocks[each.type].workingBytes[mode] += bytesOf(*each.again[mode]);
      }
}

std::vector<BlockCost> BlockPrices::Evaluation::run() {
  addMoves();
  addWork();
  addStates();
  addLeaving();
  addBrought();
  addSavedValues();
  addLiveValues();
  addExpertRows();
  return std::move(blocks);
}

std::vector<BlockCost> BlockPrices::price(const plan::Plan &plan, ReshardPrices &reshards) const {
  return Evaluation(*this, plan, reshards).run();
}

std::vector<CollectiveRow> BlockPrices::collectives(const plan::Plan &plan, ReshardPrices &reshards) const {
  return Evaluation(*this, plan, reshards).collectives();
}

KernelSizes KernelSizes::of(const cost::Machine &machine) {
  const exec::Target &target = *exec::findTarget(machine.isCpu() ? "cpu" : "cuda");
  if (machine.isCpu())
    return {target.logitsBytes, 0, target.plansWorkspace};
  cost::Kernels kernels(machine.device, machine.constants, {});
  return {target.logitsBytes, machine.constants.launch / kernels.secondsForStream(1), target.plansWorkspace};
}

} // namespace dtcc::spmd
