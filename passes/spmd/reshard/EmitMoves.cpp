//===- EmitMoves.cpp - Moves of the reshard planner as ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/reshard/EmitMoves.h"

using namespace mlir;

namespace dtcc::spmd {

Value emitMove(OpBuilder &builder, Location loc, const Move &move, Value x, const Mesh &mesh) {
  auto type = cast<RankedTensorType>(x.getType());
  ArrayAttr axes = fromAxes(builder.getContext(), move.axes);
  int64_t group = mesh.product(move.axes);
  SmallVector<int64_t> shape(type.getShape());
  auto result = [&] { return RankedTensorType::get(shape, type.getElementType()); };
  switch (move.kind) {
  case Move::AllGather:
    shape[move.dim] *= group;
    return AllGatherOp::create(builder, loc, result(), x, move.dim, axes);
  case Move::LocalSlice:
    shape[move.dim] /= group;
    return LocalSliceOp::create(builder, loc, result(), x, move.dim, axes);
  case Move::AllToAll:
    shape[move.dim] *= group;
    shape[move.to] /= group;
    return AllToAllOp::create(builder, loc, result(), x, move.dim, move.to, axes);
  case Move::ReduceScatter:
    shape[move.dim] /= group;
    return ReduceScatterOp::create(builder, loc, result(), move.reduction, x, move.dim, axes);
  case Move::AllReduce:
    return AllReduceOp::create(builder, loc, type, move.reduction, x, axes);
  case Move::ZeroFill:
    return ZeroFillOp::create(builder, loc, type, x, axes);
  }
  return {};
}

Value emitMoves(OpBuilder &builder, Location loc, ArrayRef<Move> moves, Value x, const Mesh &mesh) {
  for (const Move &move : moves)
    x = emitMove(builder, loc, move, x, mesh);
  return x;
}

} // namespace dtcc::spmd
