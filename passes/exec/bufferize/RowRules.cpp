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
#include "runtime/abi/RowSizes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

/// Lowers a dispatch_rows or combine_rows, and reserves the room that its exchange takes.
template <typename Op> static LogicalResult lowerRows(Op op, Bufferizer &b, CollectiveKind kind) {
  OpBuilder &builder = b.builder();
  Place rows = b.dense(b.placeOf(op.getX()), "rows"), ids = b.dense(b.placeOf(op.getIds()), "picks");
  Place to = b.place(op.getY());
  RowSizes sizes;
  sizes.members = b.mesh().product(spmd::toAxes(op.getAxes()));
  sizes.picks = ids.sizes.back();
  sizes.tokens = llvm::product_of(ids.sizes) / sizes.picks / sizes.members;
  sizes.room = op.getRoom().value_or(0);
  auto reserveRows = [&](int64_t count, StringRef name) {
    auto type = RankedTensorType::get({count, rows.sizes.back()}, rows.element);
    return b.view(b.storage.allocate(type, name));
  };
  SmallVector<Value> outs{b.view(to)};
  const RowOperands operands(kind == CollectiveKind::CombineRows, sizes.isBounded(), b.packsRows());
  if (operands.isReturned)
    outs.push_back(reserveRows(sizes.rowsReturned(), "returned"));
  if (operands.isPacked)
    outs.push_back(reserveRows(sizes.rowsPacked(), "packed"));
  outs.push_back(
      b.view(b.storage.allocate(RankedTensorType::get({sizes.listLength()}, builder.getI64Type()), "routes")));
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
