//===- LockStep.cpp - Runs local ops on all ranks in lock-step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/evaluate/LockStep.h"
#include "passes/graph/Evaluator.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dtcc::spmd {

std::optional<Move> toMove(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Move>>(op)
      .Case([](AllReduceOp op) { return Move{Move::AllReduce, -1, -1, toAxes(op.getAxes()), op.getKind()}; })
      .Case([](AllGatherOp op) {
        return Move{Move::AllGather, static_cast<int64_t>(op.getDim()), -1, toAxes(op.getAxes()), Reduction::Sum};
      })
      .Case([](ReduceScatterOp op) {
        return Move{Move::ReduceScatter, static_cast<int64_t>(op.getDim()), -1, toAxes(op.getAxes()), op.getKind()};
      })
      .Case([](AllToAllOp op) {
        return Move{Move::AllToAll, static_cast<int64_t>(op.getFrom()), static_cast<int64_t>(op.getTo()),
                    toAxes(op.getAxes()), Reduction::Sum};
      })
      .Case([](LocalSliceOp op) {
        return Move{Move::LocalSlice, static_cast<int64_t>(op.getDim()), -1, toAxes(op.getAxes()), Reduction::Sum};
      })
      .Case([](ZeroFillOp op) { return Move{Move::ZeroFill, -1, -1, toAxes(op.getAxes()), Reduction::Sum}; })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult LockStep::run(Operation *op, int64_t slot, int64_t step) {
  if (std::optional<Move> move = toMove(op)) {
    values[op->getResult(0)] = moveShards(values.at(op->getOperand(0)), *move, mesh, slot);
    return success();
  }
  if (auto shift = dyn_cast<ShiftOp>(op)) {
    Axes axes = toAxes(shift.getAxes());
    Shards parts;
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      std::vector<int64_t> members = mesh.group(rank, axes);
      int64_t size = members.size(), before = (mesh.index(rank, slot, axes) + size - 1) % size;
      parts.push_back(values.at(shift.getX())[members[before]]);
    }
    values[shift.getY()] = std::move(parts);
    return success();
  }
  if (runRows(op))
    return success();
  for (Value result : op->getResults())
    values[result].clear();
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    SmallVector<HostTensor> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values.at(operand)[rank]);
    auto axis = [&](StringRef name) -> std::pair<int64_t, int64_t> {
      const MeshAxis *found = mesh.find(name.str());
      return {found ? mesh.coordinate(rank, slot, found->name) : 0, found ? found->size : 1};
    };
    EvaluationContext context;
    context.seed = seed;
    context.step = step;
    context.axis = axis;
    FailureOr<SmallVector<HostTensor>> results = graph::evaluateOp(op, operands, context);
    if (failed(results))
      return failure();
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *results))
      values[result].push_back(std::move(tensor));
  }
  return success();
}

} // namespace dtcc::spmd
