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

Phase getPhase(Operation *op) {
  auto attr = op->getAttrOfType<StringAttr>(kPhase);
  return llvm::StringSwitch<Phase>(attr ? attr.getValue() : "F")
      .Case("I", Phase::InputGradient)
      .Case("W", Phase::WeightGradient)
      .Case("U", Phase::Update)
      .Case("R", Phase::Recompute)
      .Default(Phase::Forward);
}

SmallVector<int64_t> getOriginFactors(Operation *op) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(kFactors);
  return attr ? SmallVector<int64_t>(attr.asArrayRef()) : SmallVector<int64_t>();
}

void setOrigin(Operation *op, int64_t origin, Phase phase) {
  static constexpr const char *names[] = {"F", "I", "W", "U", "R"};
  Builder builder(op->getContext());
  op->setAttr(kOrigin, builder.getI64IntegerAttr(origin));
  op->setAttr(kPhase, builder.getStringAttr(names[static_cast<int>(phase)]));
}

void setOriginFactors(Operation *op, ArrayRef<int64_t> factors) {
  op->setAttr(kFactors, DenseI64ArrayAttr::get(op->getContext(), factors));
}

} // namespace dtcc::graph
