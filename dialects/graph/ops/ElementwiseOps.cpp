//===- ElementwiseOps.cpp - Factors, work and verifiers of elementwise ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using LinearSets = SmallVector<SmallVector<unsigned>>;

static FactorMap elementwise(Operation *op, LinearSets linear) {
  FactorMap map = elementwiseFactorMap(op);
  map.linear = std::move(linear);
  return map;
}

// Flops count what one cell costs in simple operations; transcendental functions
// count as their polynomials, about.
#define DTCC_ELEMENTWISE(OP, FLOPS, ...)                                                                               \
  FactorMap OP::getFactorMap() { return elementwise(*this, LinearSets __VA_ARGS__); }                                  \
  double OP::getFlops(ArrayRef<int64_t> sizes) { return FLOPS * product(sizes); }

DTCC_ELEMENTWISE(NegOp, 1, {{0}})
DTCC_ELEMENTWISE(AbsOp, 1, {})
DTCC_ELEMENTWISE(ExpOp, 12, {})
DTCC_ELEMENTWISE(LogOp, 12, {})
DTCC_ELEMENTWISE(Log1pOp, 17, {})
DTCC_ELEMENTWISE(Expm1Op, 31, {})
DTCC_ELEMENTWISE(SqrtOp, 4, {})
DTCC_ELEMENTWISE(RsqrtOp, 4, {})
DTCC_ELEMENTWISE(SinOp, 16, {})
DTCC_ELEMENTWISE(CosOp, 16, {})
DTCC_ELEMENTWISE(TanhOp, 16, {})
DTCC_ELEMENTWISE(ErfOp, 16, {})
DTCC_ELEMENTWISE(LogisticOp, 14, {})
DTCC_ELEMENTWISE(FloorOp, 1, {})
DTCC_ELEMENTWISE(SignOp, 1, {})
DTCC_ELEMENTWISE(ReluOp, 1, {})
DTCC_ELEMENTWISE(SiluOp, 15, {})
DTCC_ELEMENTWISE(GeluOp, 22, {})
DTCC_ELEMENTWISE(ReluGradOp, 1, {{1}})
DTCC_ELEMENTWISE(SiluGradOp, 19, {{1}})
DTCC_ELEMENTWISE(GeluGradOp, 32, {{1}})
DTCC_ELEMENTWISE(AddOp, 1, {{0, 1}})
DTCC_ELEMENTWISE(SubOp, 1, {{0, 1}})
DTCC_ELEMENTWISE(PowOp, 24, {})
DTCC_ELEMENTWISE(MaxOp, 1, {})
DTCC_ELEMENTWISE(MinOp, 1, {})
DTCC_ELEMENTWISE(RemOp, 3, {})
DTCC_ELEMENTWISE(AndOp, 1, {})
DTCC_ELEMENTWISE(OrOp, 1, {})
DTCC_ELEMENTWISE(XorOp, 1, {})
DTCC_ELEMENTWISE(ShiftLeftOp, 1, {})
DTCC_ELEMENTWISE(ShiftRightOp, 1, {})
DTCC_ELEMENTWISE(NotOp, 1, {})
DTCC_ELEMENTWISE(IsNanOp, 1, {})
DTCC_ELEMENTWISE(CompareOp, 1, {})
DTCC_ELEMENTWISE(SelectOp, 1, {{1, 2}})

double MulOp::getFlops(ArrayRef<int64_t> sizes) { return product(sizes); }
FactorMap MulOp::getFactorMap() {
  // x * x is not linear in x.
  return elementwise(*this, getLhs() == getRhs() ? LinearSets{} : LinearSets{{0}, {1}});
}
double DivOp::getFlops(ArrayRef<int64_t> sizes) { return product(sizes); }
FactorMap DivOp::getFactorMap() {
  // Integer division rounds: not linear.
  return elementwise(*this, isFloat(getLhs()) && getLhs() != getRhs() ? LinearSets{{0}} : LinearSets{});
}
double CastOp::getFlops(ArrayRef<int64_t> sizes) { return product(sizes); }
FactorMap CastOp::getFactorMap() {
  const bool isLinear = isFloat(getX()) && isFloat(getY()) && !getRounds();
  return elementwise(*this, isLinear ? LinearSets{{0}} : LinearSets{});
}

LogicalResult CastOp::verify() {
  if (getRounds() && (!isFloat(getX()) || isHalf(getX()) || !isHalf(getY())))
    return emitOpError("rounds a float to bf16 or f16, got: ") << elementOf(getX()) << " to " << elementOf(getY());
  return success();
}
LogicalResult SelectOp::verify() {
  if (failed(verifySameElement(*this, getX(), getY())))
    return failure();
  return verifySameElement(*this, getX(), getResult());
}
LogicalResult CompareOp::verify() { return verifySameElement(*this, getLhs(), getRhs()); }
