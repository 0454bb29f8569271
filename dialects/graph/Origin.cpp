//===- Origin.cpp - Where a backward op comes from
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Origin.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace dtcc::graph {

static constexpr llvm::StringLiteral kOrigin = "origin", kPhase = "phase", kFactors = "origin_factors";

std::optional<int64_t> getOrigin(Operation *op) {
  auto attr = op->getAttrOfType<IntegerAttr>(kOrigin);
  return attr ? std::optional(attr.getInt()) : std::nullopt;
}

static constexpr const char *kPhases[] = {"F", "I", "W", "U", "R", "E"};

std::optional<Phase> findPhase(Operation *op) {
  auto attr = op->getAttrOfType<StringAttr>(kPhase);
  const auto *name = attr ? llvm::find(kPhases, attr.getValue()) : std::end(kPhases);
  return name == std::end(kPhases) ? std::nullopt : std::optional(Phase(name - kPhases));
}

Phase getPhase(Operation *op) { return findPhase(op).value_or(Phase::Forward); }

bool isEvaluation(Operation *op) { return findPhase(op) == Phase::Evaluation; }

bool computesLoss(Operation *op) { return getPhase(op) == Phase::Forward || isEvaluation(op); }

SmallVector<int64_t> getOriginFactors(Operation *op) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(kFactors);
  return attr ? SmallVector<int64_t>(attr.asArrayRef()) : SmallVector<int64_t>();
}

void setPhase(Operation *op, Phase phase) {
  op->setAttr(kPhase, StringAttr::get(op->getContext(), kPhases[static_cast<int>(phase)]));
}

void setOrigin(Operation *op, int64_t origin, Phase phase) {
  op->setAttr(kOrigin, Builder(op->getContext()).getI64IntegerAttr(origin));
  setPhase(op, phase);
}

void setOriginFactors(Operation *op, ArrayRef<int64_t> factors) {
  op->setAttr(kFactors, DenseI64ArrayAttr::get(op->getContext(), factors));
}

} // namespace dtcc::graph
