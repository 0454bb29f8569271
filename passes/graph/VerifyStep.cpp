//===- VerifyStep.cpp - What later passes rely on in a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Origin.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/Passes.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHVERIFYSTEP
#include "passes/graph/Passes.h.inc"

namespace {

/// A forward op and its factors, which many backward ops are held against.
struct Forward {
  explicit Forward(Operation *op) {
    if (auto factored = dyn_cast<FactorOpInterface>(op))
      map = factored.getFactorMap();
  }
  FactorMap map;
};

LogicalResult verifyFactors(Operation *op, const Forward &forward) {
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored)
    return success();
  FactorMap map = factored.getFactorMap();
  SmallVector<int64_t> origins = getOriginFactors(op);
  if (origins.size() != map.factors.size())
    return op->emitOpError() << "origin_factors must have " << map.factors.size()
                             << " entries, got: " << origins.size();
  const FactorMap &forwardMap = forward.map;
  for (auto [factor, number] : llvm::zip_equal(map.factors, origins)) {
    if (number == kNoFactor)
      continue;
    if (number < 0 || number >= static_cast<int64_t>(forwardMap.factors.size()))
      return op->emitOpError() << "origin factor must be in [0, " << forwardMap.factors.size() << "), got: " << number;
    if (forwardMap.factors[number].size != factor.size)
      return op->emitOpError() << "factor must have the size of its origin, " << forwardMap.factors[number].size
                               << ", got: " << factor.size;
  }
  return success();
}

LogicalResult verifyStep(func::FuncOp step) {
  Operation *end = step.front().getTerminator();
  if (end->getNumOperands() != 3)
    return step.emitOpError() << "must return sum, count and norm, got: " << end->getNumOperands() << " values";
  for (Value value : end->getOperands())
    if (!isTensorLike(value.getType()) || rankOf(value) != 0 || !isFloat(value))
      return step.emitOpError() << "must return float scalars, got: " << value.getType();
  auto updates = step.getOps<UpdateOp>();
  if (std::distance(updates.begin(), updates.end()) != 1)
    return step.emitOpError("must hold one graph.update");
  llvm::DenseMap<int64_t, Forward> forward;
  for (Operation &op : step.front().without_terminator()) {
    std::optional<int64_t> origin = getOrigin(&op);
    if (!origin || !op.hasAttr("phase"))
      return op.emitOpError("must have an origin and a phase");
    Phase phase = getPhase(&op);
    if ((phase == Phase::Update) != isa<UpdateOp>(op))
      return op.emitOpError("phase U is that of the update, and of nothing else");
    if (phase == Phase::Forward && !forward.try_emplace(*origin, Forward(&op)).second)
      return op.emitOpError() << "shares its origin with another forward op, got: " << *origin;
    if (phase == Phase::Forward || phase == Phase::Update)
      continue;
    auto found = forward.find(*origin);
    if (found == forward.end())
      return op.emitOpError() << "origin must be a forward op before it, got: " << *origin;
    if (failed(verifyFactors(&op, found->second)))
      return failure();
  }
  return success();
}

struct VerifyStep : impl::GraphVerifyStepBase<VerifyStep> {
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    if (!step || failed(verifyStep(step)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace dtcc::graph
