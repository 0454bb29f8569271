//===- CollectiveRules.cpp - What ranks exchange -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's collectives join and split along the outermost dimension. Where an
// op does so along an inner one, the parts of the group are brought to the front by
// a copy on one side.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "passes/exec/bufferize/ConstantKernel.h"
#include "passes/exec/bufferize/OpRules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

/// Whether nothing stands outside of dimension `dim`.
static bool isOutermost(ArrayRef<int64_t> shape, int64_t dim) {
  return llvm::all_of(shape.take_front(dim), [](int64_t size) { return size == 1; });
}

/// `whole` with dimension `dim` taken apart into `parts` pieces, the pieces first.
static std::optional<Place> piecesFirst(const Place &whole, int64_t dim, int64_t parts) {
  SmallVector<int64_t> shape(whole.sizes), permutation{dim};
  shape[dim] /= parts;
  shape.insert(shape.begin() + dim, parts);
  auto split = whole.reshaped(shape);
  if (!split)
    return std::nullopt;
  for (int64_t i = 0; i <= whole.rank(); ++i)
    if (i != dim)
      permutation.push_back(i);
  return split->transposed(permutation);
}

/// This rank's block of `whole` along `dim` over `axes`.
static std::optional<Place> blockOf(const Place &whole, int64_t dim, ArrayAttr axes, Bufferizer &b) {
  const spmd::Mesh &mesh = b.mesh();
  spmd::Axes names = spmd::toAxes(axes), ranks;
  int64_t size = whole.sizes[dim] / mesh.product(names), element = getElementBytes(whole.element);
  int64_t inner = size * whole.strides[dim], slotStride = 0, blockStride = 0;
  // Axes from the inside: their strides multiply up. Rank axes must be neighbours, one time axis may stand beside.
  for (const std::string &name : llvm::reverse(names)) {
    if (mesh.isTime(name)) {
      slotStride = inner * element;
    } else {
      if (!ranks.empty() && slotStride > blockStride * element)
        return std::nullopt;
      if (ranks.empty())
        blockStride = inner;
      ranks.insert(ranks.begin(), name);
    }
    inner *= mesh.find(name)->size;
  }
  if ((blockStride && whole.blockOf) || (slotStride && whole.slotStride))
    return std::nullopt;
  Place block = whole;
  block.sizes[dim] = size;
  block.slotStride += slotStride;
  if (blockStride) {
    block.blockOf = b.communicator(spmd::fromAxes(axes.getContext(), ranks)).getAttr();
    block.blockStride = blockStride;
  }
  return block.isTorn() ? std::nullopt : std::optional(block);
}

static LogicalResult lowerAllReduce(spmd::AllReduceOp op, Bufferizer &b) {
  Place from = b.dense(b.placeOf(op.getX()), "all_reduce");
  Place to = b.placeOver(op.getY(), op.getX(), op);
  b.collective(CollectiveKind::AllReduce, op.getKind(), op.getAxes(), from, to,
               op.getMembers().value_or(ArrayRef<int64_t>()));
  return success();
}

static LogicalResult lowerRankShift(spmd::ShiftOp op, Bufferizer &b) {
  Place from = b.dense(b.placeOf(op.getX()), "shift");
  b.collective(CollectiveKind::Shift, Reduction::Sum, op.getAxes(), from, b.place(op.getY()));
  return success();
}

static LogicalResult lowerSend(spmd::SendOp op, Bufferizer &b) {
  Value from = b.view(b.dense(b.placeOf(op.getX()), "send"));
  OpBuilder &builder = b.builder();
  SendOp::create(builder, op.getLoc(), Type(), from, ValueRange(), ValueRange(), 0, builder.getStringAttr("send"),
                 b.channel(op.getAxisAttr(), op.getChannel()).getValue(), op.getPeer(), op.getRoom());
  return success();
}
static LogicalResult lowerReceive(spmd::ReceiveOp op, Bufferizer &b) {
  Value to = b.view(b.place(op.getY()));
  OpBuilder &builder = b.builder();
  ReceiveOp::create(builder, op.getLoc(), Type(), ValueRange(), to, ValueRange(), 0, builder.getStringAttr("receive"),
                    b.channel(op.getAxisAttr(), op.getChannel()).getValue(), op.getPeer());
  return success();
}

static void aimAllGather(Operation *operation, Bufferizer &b) {
  auto op = cast<spmd::AllGatherOp>(operation);
  if (!isOutermost(graph::shapeOf(op.getX()), op.getDim()))
    return;
  Place whole = b.ensureDestination(op.getY()).place;
  if (!whole.isDense() || whole.blockOf)
    return;
  if (auto block = blockOf(whole, op.getDim(), op.getAxes(), b); block && block->isDense())
    b.aim(op.getX(), *block, Overwrite);
}
static LogicalResult lowerAllGather(spmd::AllGatherOp op, Bufferizer &b) {
  Place from = b.dense(b.placeOf(op.getX()), "all_gather"), to = b.place(op.getY());
  if (isOutermost(from.sizes, op.getDim()) && to.isDense()) {
    b.collective(CollectiveKind::AllGather, Reduction::Sum, op.getAxes(), from, to);
    return success();
  }
  int64_t members = b.mesh().product(spmd::toAxes(op.getAxes()));
  Place pieces = *piecesFirst(to, op.getDim(), members);
  Place gathered = b.allocate(RankedTensorType::get(pieces.sizes, pieces.element), "gathered");
  b.collective(CollectiveKind::AllGather, Reduction::Sum, op.getAxes(), from, gathered);
  b.copy(gathered, pieces, "join");
  return success();
}

/// `from` dense with the `members` pieces of `dim` in front.
static Place splitPieces(const Place &from, int64_t dim, int64_t members, Bufferizer &b) {
  if (isOutermost(from.sizes, dim) && from.isDense())
    return from;
  auto pieces = piecesFirst(from, dim, members);
  if (!pieces || pieces->isTorn())
    pieces = piecesFirst(b.dense(from, "dense"), dim, members);
  Place split = b.allocate(RankedTensorType::get(pieces->sizes, pieces->element), "pieces");
  b.copy(*pieces, split, "split");
  return split;
}

static LogicalResult lowerReduceScatter(spmd::ReduceScatterOp op, Bufferizer &b) {
  int64_t members = b.mesh().product(spmd::toAxes(op.getAxes()));
  Place from = splitPieces(b.placeOf(op.getX()), op.getDim(), members, b);
  b.collective(CollectiveKind::ReduceScatter, op.getKind(), op.getAxes(), from, b.place(op.getY()));
  return success();
}

static LogicalResult lowerAllToAll(spmd::AllToAllOp op, Bufferizer &b) {
  int64_t members = b.mesh().product(spmd::toAxes(op.getAxes()));
  Place from = splitPieces(b.placeOf(op.getX()), op.getTo(), members, b), to = b.place(op.getY());
  if (isOutermost(to.sizes, op.getFrom())) {
    b.collective(CollectiveKind::AllToAll, Reduction::Sum, op.getAxes(), from, to);
    return success();
  }
  Place pieces = *piecesFirst(to, op.getFrom(), members);
  Place received = b.allocate(RankedTensorType::get(pieces.sizes, pieces.element), "received");
  b.collective(CollectiveKind::AllToAll, Reduction::Sum, op.getAxes(), from, received);
  b.copy(received, pieces, "join");
  return success();
}

static LogicalResult lowerLocalSlice(spmd::LocalSliceOp op, Bufferizer &b) {
  Place from = b.placeOf(op.getX());
  auto block = blockOf(from, op.getDim(), op.getAxes(), b);
  if (!block) {
    Place whole = b.allocate(RankedTensorType::get(from.sizes, from.element), "whole");
    b.copy(from, whole);
    block = blockOf(whole, op.getDim(), op.getAxes(), b);
  }
  if (!block)
    return op.emitOpError("a time axis must stand outside or inside of all rank axes");
  auto destination = b.destinationOf(op.getY());
  b.setPlace(op.getY(), destination ? destination->place : *block);
  return destination ? b.store(*block, *destination, op.getLoc()) : success();
}

static LogicalResult lowerZeroFill(spmd::ZeroFillOp op, Bufferizer &b) {
  Place from = b.dense(b.placeOf(op.getX()), "dense");
  return emitZeroFill(op.getLoc(), from, b.place(op.getY()), op.getAxes(), b);
}

void dtcc::exec::addCollectiveRules(OpRules &rules) {
  rules[spmd::AllReduceOp::getOperationName()] = ruleOf<spmd::AllReduceOp, lowerAllReduce>();
  rules[spmd::ShiftOp::getOperationName()] = ruleOf<spmd::ShiftOp, lowerRankShift>();
  rules[spmd::SendOp::getOperationName()] = ruleOf<spmd::SendOp, lowerSend>();
  rules[spmd::ReceiveOp::getOperationName()] = ruleOf<spmd::ReceiveOp, lowerReceive>();
  OpRule &gather = rules[spmd::AllGatherOp::getOperationName()] = ruleOf<spmd::AllGatherOp, lowerAllGather>();
  gather.aim = aimAllGather;
  rules[spmd::ReduceScatterOp::getOperationName()] = ruleOf<spmd::ReduceScatterOp, lowerReduceScatter>();
  rules[spmd::AllToAllOp::getOperationName()] = ruleOf<spmd::AllToAllOp, lowerAllToAll>();
  OpRule &slice = rules[spmd::LocalSliceOp::getOperationName()] = ruleOf<spmd::LocalSliceOp, lowerLocalSlice>();
  slice.isView = true;
  rules[spmd::ZeroFillOp::getOperationName()] = ruleOf<spmd::ZeroFillOp, lowerZeroFill>();
}
