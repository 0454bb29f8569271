//===- LockStep.cpp - Runs local ops on all ranks in lock-step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/evaluate/LockStep.h"
#include "passes/graph/Evaluator.h"

using namespace mlir;

namespace dtcc::spmd {

Shards LockStep::exchanged(CommunicationOpInterface op, int64_t slot) const {
  Communication exchange = op.getCommunications().front();
  if (exchange.info().traffic == Traffic::ToPicked)
    return exchangedRows(op, exchange);
  bool joins = exchange.joins >= 0;
  Move move{static_cast<Move::Kind>(*exchange.collective), joins ? exchange.joins : exchange.splits,
            joins ? exchange.splits : -1, toAxes(exchange.axes), exchange.reduction};
  return moveShards(values.at(op->getOperand(0)), move, mesh, slot);
}

LogicalResult LockStep::run(Operation *op, int64_t slot, int64_t step) {
  if (auto communicates = dyn_cast<CommunicationOpInterface>(op)) {
    values[op->getResult(0)] = exchanged(communicates, slot);
    return success();
  }
  if (op->getName().getStringRef() == PackPicksOp::getOperationName())
    return packPicks(op);
  std::optional<Move> alone;
  if (auto slice = dyn_cast<LocalSliceOp>(op))
    alone = Move{Move::LocalSlice, static_cast<int64_t>(slice.getDim()), -1, toAxes(slice.getAxes()), Reduction::Sum};
  else if (auto fill = dyn_cast<ZeroFillOp>(op))
    alone = Move{Move::ZeroFill, -1, -1, toAxes(fill.getAxes()), Reduction::Sum};
  if (alone) {
    values[op->getResult(0)] = moveShards(values.at(op->getOperand(0)), *alone, mesh, slot);
    return success();
  }
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
