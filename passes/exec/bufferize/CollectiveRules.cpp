//===- CollectiveRules.cpp - Bufferization of collectives and messages -*- C++ -*-===//
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
    block.blockOf = b.communicators.over(spmd::fromAxes(axes.getContext(), ranks)).getAttr();
    block.blockStride = blockStride;
  }
  return block.isTorn() ? std::nullopt : std::optional(block);
}

static LogicalResult lowerSend(spmd::SendOp op, Bufferizer &b) {
  Value from = b.view(b.dense(b.placeOf(op.getX()), "send"));
  OpBuilder &builder = b.builder();
  SendOp::create(builder, op.getLoc(), Type(), from, ValueRange(), ValueRange(), 0, builder.getStringAttr("send"),
                 b.communicators.channel(op.getAxisAttr(), op.getChannel()).getValue(), op.getPeer(), op.getRoom());
  return success();
}
static LogicalResult lowerReceive(spmd::ReceiveOp op, Bufferizer &b) {
  Value to = b.view(b.place(op.getY()));
  OpBuilder &builder = b.builder();
  ReceiveOp::create(builder, op.getLoc(), Type(), ValueRange(), to, ValueRange(), 0, builder.getStringAttr("receive"),
                    b.communicators.channel(op.getAxisAttr(), op.getChannel()).getValue(), op.getPeer());
  return success();
}

/// `from` dense with the `members` pieces of `dim` in front.
static Place splitPieces(const Place &from, int64_t dim, int64_t members, Bufferizer &b) {
  if (isOutermost(from.sizes, dim) && from.isDense())
    return from;
  auto pieces = piecesFirst(from, dim, members);
  if (!pieces || pieces->isTorn())
    pieces = piecesFirst(b.dense(from, "dense"), dim, members);
  Place split = b.storage.allocate(RankedTensorType::get(pieces->sizes, pieces->element), "pieces");
  b.copy(*pieces, split, "split");
  return split;
}

/// A collective on one tensor.
static LogicalResult lowerCollective(CommunicationOpInterface op, Bufferizer &b) {
  Communication exchange = op.getCommunications().front();
  const CollectiveInfo &info = exchange.info();
  Value x = op->getOperand(0), y = op->getResult(0);
  int64_t members = b.mesh().product(spmd::toAxes(exchange.axes));
  Place from = exchange.splits >= 0 ? splitPieces(b.placeOf(x), exchange.splits, members, b)
                                    : b.dense(b.placeOf(x), info.mnemonic);
  Place to = exchange.collective == CollectiveKind::AllReduce ? b.placeOver(y, x, op) : b.place(y);
  auto issue = [&](const Place &into) {
    b.collective(*exchange.collective, exchange.reduction, exchange.axes, from, into, exchange.members);
  };
  if (exchange.joins < 0 || (isOutermost(to.sizes, exchange.joins) && to.isDense())) {
    issue(to);
    return success();
  }
  Place pieces = *piecesFirst(to, exchange.joins, members);
  Place joined = b.storage.allocate(RankedTensorType::get(pieces.sizes, pieces.element),
                                    info.in == Extent::Part ? "gathered" : "received");
  issue(joined);
  b.copy(joined, pieces, "join");
  return success();
}

static LogicalResult lowerLocalSlice(spmd::LocalSliceOp op, Bufferizer &b) {
  Place from = b.placeOf(op.getX());
  if (llvm::any_of(spmd::toAxes(op.getAxes()), [&](const std::string &axis) { return b.mesh().isTime(axis); }))
    from = b.toCutByTime(from);
  auto block = blockOf(from, op.getDim(), op.getAxes(), b);
  if (!block)
    block = blockOf(b.toCutByTime(b.copied(from, "whole")), op.getDim(), op.getAxes(), b);
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

/// A result that is joined without being split is made in its place, this rank's part of the result.
static void aimCollective(Operation *op, Bufferizer &b) {
  Communication exchange = cast<CommunicationOpInterface>(op).getCommunications().front();
  Value x = op->getOperand(0);
  if (exchange.joins < 0 || exchange.splits >= 0 || !isOutermost(graph::shapeOf(x), exchange.joins))
    return;
  Place whole = b.ensureDestination(op->getResult(0)).place;
  if (!whole.isDense() || whole.blockOf)
    return;
  if (auto block = blockOf(whole, exchange.joins, exchange.axes, b); block && block->isDense())
    b.aim(x, *block, Overwrite);
}

OpRule dtcc::exec::collectiveRule() {
  OpRule rule = ruleOf<CommunicationOpInterface, lowerCollective>();
  rule.aim = aimCollective;
  return rule;
}

void dtcc::exec::addCollectiveRules(OpRules &rules) {
  rules[spmd::SendOp::getOperationName()] = ruleOf<spmd::SendOp, lowerSend>();
  rules[spmd::ReceiveOp::getOperationName()] = ruleOf<spmd::ReceiveOp, lowerReceive>();
  OpRule &slice = rules[spmd::LocalSliceOp::getOperationName()] = ruleOf<spmd::LocalSliceOp, lowerLocalSlice>();
  slice.isView = true;
  rules[spmd::ZeroFillOp::getOperationName()] = ruleOf<spmd::ZeroFillOp, lowerZeroFill>();
}
