//===- RowRules.cpp - Bufferization of tokens on their way to experts and back -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without a bound the arena holds the worst case, all tokens of the group on one rank: the
// rows in the places of all tokens, and for what comes back one row for each pick of this
// rank's. With one (--moe-capacity) the rows of picks lie side by side. A GPU packs the rows
// that it sends, a round at a time, but not those that lie side by side.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/OpRules.h"
#include "runtime/abi/GpuWorkspace.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

/// A dispatch_rows or combine_rows with the room that its exchange takes: what RowExchange.h calls `copies` and
/// `listLength`.
template <typename Op> static LogicalResult lowerRows(Op op, Bufferizer &b, CollectiveKind kind) {
  OpBuilder &builder = b.builder();
  Place rows = b.dense(b.placeOf(op.getX()), "rows"), ids = b.dense(b.placeOf(op.getIds()), "picks");
  Place to = b.place(op.getY());
  int64_t members = b.mesh().product(spmd::toAxes(op.getAxes())), picks = ids.sizes.back(), cells = 1;
  for (int64_t size : ids.sizes)
    cells *= size;
  // Rows of a token that a rank gets back: one of each rank, or with a bound one of each pick.
  int64_t tokens = cells / picks / members, copies = op.getRoom() ? picks : std::min(members, picks);
  SmallVector<Value> outs{b.view(to)};
  if (kind == CollectiveKind::CombineRows)
    outs.push_back(b.view(
        b.storage.allocate(RankedTensorType::get({tokens * copies, rows.sizes.back()}, rows.element), "returned")));
  // With a bound the rows that go back lie side by side already.
  if (b.packsRows() && !(op.getRoom() && kind == CollectiveKind::CombineRows)) {
    int64_t waiting = members * gpu_workspace::rowsOfRound(tokens, copies, members);
    outs.push_back(
        b.view(b.storage.allocate(RankedTensorType::get({waiting, rows.sizes.back()}, rows.element), "packed")));
  }
  int64_t places = op.getRoom() ? int64_t(*op.getRoom()) : tokens * members;
  auto lists = RankedTensorType::get({4 * members + places + 2 * tokens * copies}, builder.getI64Type());
  outs.push_back(b.view(b.storage.allocate(lists, "routes")));
  SmallVector<Value> ins{b.view(rows), b.view(ids)};
  CollectiveOp::create(builder, op.getLoc(), Type(), ins, outs, ValueRange(), 0,
                       builder.getStringAttr(mnemonicOf(kind)), kind, Reduction::Sum,
                       b.communicators.over(op.getAxes()).getValue(), /*slot=*/IntegerAttr(),
                       /*ofParameters=*/false, op.getExpertsAttr(), op.getRoomAttr());
  return success();
}
static LogicalResult lowerDispatch(spmd::DispatchRowsOp op, Bufferizer &b) {
  return lowerRows(op, b, CollectiveKind::DispatchRows);
}
static LogicalResult lowerCombine(spmd::CombineRowsOp op, Bufferizer &b) {
  return lowerRows(op, b, CollectiveKind::CombineRows);
}

static LogicalResult lowerPackPicks(spmd::PackPicksOp op, Bufferizer &b) {
  OpBuilder &builder = b.builder();
  Place ids = b.dense(b.placeOf(op.getIds()), "picks");
  Place picked = b.place(op.getPicked()), places = b.place(op.getPlaces());
  b.library(op, "pack_picks", {b.view(ids)}, {b.view(picked), b.view(places)},
            {b.communicators.over(op.getAxes()), op.getExpertsAttr(), builder.getI64IntegerAttr(op.getCounts())});
  return success();
}

void dtcc::exec::addRowRules(OpRules &rules) {
  rules[spmd::PackPicksOp::getOperationName()] = ruleOf<spmd::PackPicksOp, lowerPackPicks>();
  rules[spmd::DispatchRowsOp::getOperationName()] = ruleOf<spmd::DispatchRowsOp, lowerDispatch>();
  rules[spmd::CombineRowsOp::getOperationName()] = ruleOf<spmd::CombineRowsOp, lowerCombine>();
}
