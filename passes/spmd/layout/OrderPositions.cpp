//===- OrderPositions.cpp - Positions in the order in which ranks hold them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/layout/OrderPositions.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/PositionOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/spmd/layout/AssignStages.h"
#include "passes/spmd/layout/FactorClasses.h"
#include "runtime/abi/SequenceOrder.h"
#include <map>
#include <tuple>

using namespace mlir;

namespace dtcc::spmd {

namespace {

class Orderer {
public:
  Orderer(func::FuncOp step, int64_t ranks, bool zigzag, int64_t parts = 1)
      : step(step), ranks(ranks), parts(parts), chunks(zigzag ? 2 * ranks : 0), classes(step),
        positions(InputClasses(step, classes).positions) {}

  /// Whether positions are padded or reordered.
  bool isNeeded();
  std::optional<std::string> whyNot();
  void run();

private:
  /// The dimension of positions of a value; nothing if it has none.
  std::optional<int64_t> positionDim(Value value) const {
    for (int64_t dim = 0, rank = cast<ShapedType>(value.getType()).getRank(); dim < rank; ++dim)
      if (positions.contains(classes.ofDim(value, dim)))
        return dim;
    return std::nullopt;
  }
  /// Whether the op needs positions in the order of the sequence.
  bool isNatural(Operation *op) const;
  /// Whether `value` has the order of the sequence. Splats are equal in all orders.
  bool comesNatural(Value value) const {
    Operation *op = value.getDefiningOp();
    return !op || natural.contains(op);
  }
  static bool isSplat(Value value) {
    ElementsAttr constant;
    return matchPattern(value, m_Constant(&constant)) && constant.isSplat();
  }
  Value reordered(Value value, int64_t dim, bool inverse, Operation *user, int64_t fill);
  /// Calls `body` for the arguments and all results.
  void forEachValue(llvm::function_ref<void(Value)> body) {
    llvm::for_each(step.getArguments(), body);
    for (Operation &op : step.getBody().front())
      llvm::for_each(op.getResults(), body);
  }

  func::FuncOp step;
  int64_t ranks, parts, chunks;
  FactorClasses classes;
  llvm::DenseSet<unsigned> positions;
  llvm::DenseSet<Operation *> natural;
  /// Reordered values, by value, stage of the reader, whether it belongs to an evaluation, and padding.
  std::map<std::tuple<void *, int64_t, bool, int64_t>, Value> made;
  bool padded = false;
};

} // namespace

static bool attends(Operation *op) {
  auto sequence = dyn_cast<SequenceOpInterface>(op);
  return sequence && sequence.attends();
}

/// The operand of labels of a loss; null if `op` is none.
static Value labelsOf(Operation *op) {
  auto sequence = dyn_cast<SequenceOpInterface>(op);
  return sequence ? sequence.getLabels() : Value();
}

bool Orderer::isNatural(Operation *op) const {
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored || isStored(op))
    return true;
  if (attends(op))
    return false;
  FactorMap map = factored.getFactorMap();
  auto any = [&](ValueRange values, ArrayRef<SmallVector<int64_t>> dimsOf) {
    for (auto [value, dims] : llvm::zip_equal(values, dimsOf))
      for (auto [dim, factor] : llvm::enumerate(dims))
        if (positions.contains(classes.ofDim(value, dim)) &&
            (factor == kNoFactor ||
             (map.factors[factor].kind != FactorKind::Parallel && map.factors[factor].kind != FactorKind::Reduce)))
          return true;
    return false;
  };
  return any(op->getOperands(), map.operands) || any(op->getResults(), map.results);
}

bool Orderer::isNeeded() {
  forEachValue([&](Value value) {
    for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape()))
      padded |= positions.contains(classes.ofDim(value, dim)) && size % (chunks ? chunks : ranks);
  });
  return padded || chunks;
}

std::optional<std::string> Orderer::whyNot() {
  std::string reason;
  forEachValue([&](Value value) {
    int64_t count = 0;
    for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape()))
      if (positions.contains(classes.ofDim(value, dim))) {
        ++count;
        if (int64_t rows = orderedRows(size, chunks); chunks && rows - size > rows / chunks)
          reason = "a sequence of " + std::to_string(size) + " positions has too few for " + std::to_string(chunks) +
                   " chunks";
        else if (chunks && rows % (ranks * parts))
          reason = std::to_string(rows) + " positions in whole chunks do not divide by " +
                   std::to_string(ranks * parts) + " ranks";
      }
    if (count > 1)
      reason = "positions of queries and keys meet in one value";
  });
  for (Operation &op : step.getBody().front()) {
    if (attends(&op) && positionDim(op.getOperand(0)).has_value() != positionDim(op.getOperand(1)).has_value())
      reason = "queries and keys are not of the same sequence";
    // The value would have to be gathered to keep its random numbers.
    if (isa<graph::IndexedCellOpInterface>(op) && positionDim(op.getResult(0)))
      reason = "random numbers count cells in the order of the sequence";
    if (Value labels = labelsOf(&op);
        labels && positionDim(labels) && labels.getDefiningOp() && !isNatural(labels.getDefiningOp()))
      reason = "labels are computed from others";
  }
  return reason.empty() ? std::nullopt : std::optional(reason);
}

/// The label of padded rows of `loss`; 0 if it has no labels.
static int64_t ignoredBy(Operation *loss) {
  auto sequence = dyn_cast<SequenceOpInterface>(loss);
  return sequence ? sequence.ignorePadding().value_or(0) : 0;
}

Value Orderer::reordered(Value value, int64_t dim, bool inverse, Operation *user, int64_t fill) {
  std::optional<int64_t> stage = getStage(user);
  Value &result = made[{value.getAsOpaquePointer(), stage.value_or(-1), graph::isEvaluation(user), fill}];
  if (result)
    return result;
  OpBuilder builder(user);
  auto reorder = graph::ReorderOp::create(builder, user->getLoc(), value.getType(), value, dim, chunks, inverse, fill,
                                          /*offset_axes=*/nullptr);
  // No plan places this new op. It takes the stage and the pass of its reader.
  if (stage)
    setStage(reorder, *stage);
  if (Attribute phase = user->getAttr("phase"))
    reorder->setAttr("phase", phase);
  return result = reorder;
}

void Orderer::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : step.getBody().front()) {
    ops.push_back(&op);
    if (isNatural(&op))
      natural.insert(&op);
  }
  for (Operation *op : ops) {
    if (chunks && attends(op) && positionDim(op->getOperand(0)))
      op->setAttr(graph::kChunksAttr, OpBuilder(op).getI64IntegerAttr(chunks));
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      std::optional<int64_t> dim = positionDim(value);
      // A splat of its own on either side: else the dimensions of both would be one.
      if (dim && isSplat(value) && natural.contains(op)) {
        operand.set(OpBuilder(op).clone(*value.getDefiningOp())->getResult(0));
        continue;
      }
      if (!dim || isSplat(value) || comesNatural(value) == natural.contains(op))
        continue;
      int64_t fill = padded && value == labelsOf(op) ? ignoredBy(op) : 0;
      operand.set(reordered(value, *dim, natural.contains(op), op, fill));
    }
  }
}

std::optional<std::string> whyNotZigZag(func::FuncOp step, int64_t ranks, int64_t parts) {
  return Orderer(step, ranks, /*zigzag=*/true, parts).whyNot();
}

LogicalResult checkOrderedRows(func::FuncOp step, llvm::function_ref<int64_t(Value, int64_t)> rowsOf) {
  for (auto reorder : step.getOps<graph::ReorderOp>()) {
    Value ordered = reorder.getInverse() ? reorder.getX() : reorder.getY();
    int64_t chunks = reorder.getChunks(), size = cast<ShapedType>(ordered.getType()).getDimSize(reorder.getDim());
    int64_t rows = orderedRows(size, chunks), padded = rowsOf(ordered, reorder.getDim());
    if (chunks && padded != rows)
      return reorder.emitError("positions in the zig-zag order are padded to ")
             << chunks << " whole chunks, to " << rows << " here, but must be " << padded
             << " for the axes that split them: bind another length or keep them contiguous";
  }
  return success();
}

bool hasCausalAttention(func::FuncOp step) {
  return llvm::any_of(step.getOps<graph::AttentionOp>(),
                      [](graph::AttentionOp op) { return op.getMask().getCausal(); });
}

LogicalResult orderPositions(func::FuncOp step, const plan::Plan &plan) {
  int64_t ranks = plan.mesh.product(plan.withoutUnitAxes(plan.sequenceAxes));
  bool zigzag = plan.sequenceOrder == plan::SequenceOrder::ZigZag;
  Orderer orderer(step, ranks, zigzag);
  if (ranks == 1 || !orderer.isNeeded())
    return success();
  if (std::optional<std::string> reason = orderer.whyNot())
    return step.emitError(zigzag ? "positions cannot stand in the zig-zag order: "
                                 : "positions cannot be padded to a multiple of the ranks that split them: ")
           << *reason;
  orderer.run();
  return success();
}

} // namespace dtcc::spmd
