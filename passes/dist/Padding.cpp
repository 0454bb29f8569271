//===- Padding.cpp - What padded cells hold
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/Padding.h"
#include "dialects/graph/Graph.h"
#include <cmath>

using namespace mlir;

namespace dtcc::dist {

static bool isPaddedDim(Value value, int64_t dim) {
  auto type = cast<TensorType>(value.getType());
  return type.getPadded()[dim] != type.getShape()[dim];
}

bool PaddingAnalysis::isPadded(Operation *op, const FactorMap &map, int64_t factor) {
  auto any = [&](ValueRange values, ArrayRef<SmallVector<int64_t>> dimsOf) {
    for (auto [value, dims] : llvm::zip_equal(values, dimsOf))
      for (auto [dim, walked] : llvm::enumerate(dims))
        if (walked == factor && isPaddedDim(value, dim))
          return true;
    return false;
  };
  return any(op->getOperands(), map.operands) || any(op->getResults(), map.results);
}

PaddingContent PaddingAnalysis::of(Value value, int64_t dim) const {
  if (!isPaddedDim(value, dim))
    return PaddingContent::Zero;
  auto at = contents.find({value, dim});
  return at == contents.end() ? PaddingContent::Unknown : at->second;
}

std::optional<PaddingContent> PaddingAnalysis::along(Operation *op, const FactorMap &map, unsigned operand,
                                                     int64_t factor) const {
  std::optional<PaddingContent> worst;
  for (auto [dim, walked] : llvm::enumerate(map.operands[operand]))
    if (walked == factor)
      worst = std::max(worst.value_or(PaddingContent::Zero), of(op->getOperand(operand), dim));
  return worst;
}

bool PaddingAnalysis::sumsZeros(Operation *op, const FactorMap &map, int64_t factor) const {
  // In some linear set every member is zero there; what it is multiplied with must be finite.
  for (ArrayRef<unsigned> set : map.linear) {
    bool zero = true;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      std::optional<PaddingContent> content = along(op, map, i, factor);
      if (llvm::is_contained(set, i))
        zero &= content == PaddingContent::Zero;
      else
        zero &= content.value_or(PaddingContent::Finite) != PaddingContent::Unknown;
    }
    if (zero && !set.empty())
      return true;
  }
  return false;
}

/// Evaluates a small instance of `op` in which all that walks `factor` is zero. The result
/// of a slice of a parallel factor depends on that slice alone.
static PaddingContent evaluateAtZero(Operation *op, const FactorMap &map, unsigned result, int64_t factor) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference || map.factors[factor].kind != FactorKind::Parallel)
    return PaddingContent::Unknown;
  auto small = [&](Value value, ArrayRef<int64_t> dims) {
    auto type = cast<ShapedType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, walked] : llvm::enumerate(dims))
      if (walked != kNoFactor && map.factors[walked].kind != FactorKind::Replicate)
        shape[dim] = walked == factor ? 1 : std::min<int64_t>(shape[dim], 2);
    return HostTensor(shape, type.getElementType());
  };
  bool zero = true, finite = true;
  for (double fill : {0.75, -1.5}) {
    SmallVector<HostTensor> operands, results;
    for (auto [value, dims] : llvm::zip_equal(op->getOperands(), map.operands)) {
      operands.push_back(small(value, dims));
      if (!llvm::is_contained(dims, factor))
        llvm::fill(operands.back().floats, fill);
    }
    for (auto [value, dims] : llvm::zip_equal(op->getResults(), map.results))
      results.push_back(small(value, dims));
    if (failed(reference.evaluate(operands, results, EvaluationContext())))
      return PaddingContent::Unknown;
    for (double cell : results[result].floats) {
      zero &= cell == 0;
      finite &= std::isfinite(cell);
    }
    for (int64_t cell : results[result].ints)
      zero &= cell == 0;
  }
  return zero ? PaddingContent::Zero : finite ? PaddingContent::Finite : PaddingContent::Unknown;
}

PaddingContent PaddingAnalysis::transfer(Operation *op, const FactorMap &map, unsigned result, int64_t factor) const {
  if (map.factors[factor].padding == PaddingNeed::Skipped || sumsZeros(op, map, factor))
    return PaddingContent::Zero;
  bool allZero = true, allFinite = true, walked = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (std::optional<PaddingContent> content = along(op, map, i, factor)) {
      walked = true;
      allZero &= *content == PaddingContent::Zero;
      allFinite &= *content != PaddingContent::Unknown;
    }
  // Copies of whole cells, or counted: a broadcast, iota.
  if (!walked)
    return isa<graph::ConstantOp>(op) ? PaddingContent::Zero : PaddingContent::Finite;
  if (allZero)
    return evaluateAtZero(op, map, result, factor);
  return allFinite && !map.linear.empty() ? PaddingContent::Finite : PaddingContent::Unknown;
}

PaddingAnalysis::PaddingAnalysis(func::FuncOp step) {
  for (Operation &op : step.getBody().front()) {
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      for (int64_t dim = 0; dim < reshard.getType().getRank(); ++dim)
        contents[{reshard.getY(), dim}] = of(reshard.getX(), dim);
      continue;
    }
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      for (int64_t dim = 0; dim < cast<TensorType>(read.getType()).getRank(); ++dim)
        contents[{read.getY(), dim}] = PaddingContent::Zero;
      continue;
    }
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (!factored)
      continue;
    FactorMap map = factored.getFactorMap();
    for (auto [r, dims] : llvm::enumerate(map.results))
      for (auto [dim, factor] : llvm::enumerate(dims))
        if (factor != kNoFactor && isPaddedDim(op.getResult(r), dim))
          contents[{op.getResult(r), dim}] = transfer(&op, map, r, factor);
  }
}

} // namespace dtcc::dist
