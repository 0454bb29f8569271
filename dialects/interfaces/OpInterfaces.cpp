//===- OpInterfaces.cpp - What passes know of an op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/OpInterfaces.h"
#include "dialects/interfaces/Work.h"

#include "dialects/interfaces/OpInterfaces.cpp.inc"
#include <string>

using namespace mlir;
using namespace dtcc;

std::string dtcc::describeFirstType(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << (op->getNumOperands() ? op->getOperand(0) : op->getResult(0)).getType();
  return text;
}

std::optional<double> dtcc::flopsOf(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!work || !factored)
    return std::nullopt;
  SmallVector<int64_t> sizes;
  for (const Factor &factor : factored.getFactorMap().factors)
    sizes.push_back(factor.size);
  return work.getFlops(sizes);
}

SmallVector<StateAccess, 1> dtcc::stateAccesses(Operation *op) {
  if (auto accesses = dyn_cast<StateAccessOpInterface>(op))
    return accesses.getStateAccesses();
  return {};
}

bool dtcc::accessesState(Operation *op, StateAccessKind kind) {
  return llvm::any_of(stateAccesses(op), [&](const StateAccess &access) { return access.kind == kind; });
}

std::optional<StringRef> dtcc::readState(Operation *op) {
  for (const StateAccess &access : stateAccesses(op))
    if (access.kind == StateAccessKind::Read)
      return access.state;
  return std::nullopt;
}

bool dtcc::isStored(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>() || readState(op); }

bool dtcc::endsStep(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() || accessesState(op, StateAccessKind::Update);
}
