//===- ElementwiseGradients.cpp - Gradients of elementwise ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

/// Defines the gradient of a unary op: EXPRESSION gives the operand's gradient from x, y, dy and builder b.
#define DTCC_UNARY_GRADIENT(OP, EXPRESSION)                                                                            \
  LogicalResult OP::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,                         \
                                  MutableArrayRef<Value> operandGrads) {                                               \
    Build b(builder, getLoc());                                                                                        \
    [[maybe_unused]] Value x = getX(), y = getY(), dy = grads[0];                                                      \
    if (dy && wanted[0])                                                                                               \
      operandGrads[0] = EXPRESSION;                                                                                    \
    return success();                                                                                                  \
  }
/// Defines the gradient of an op whose derivative is 0 everywhere.
#define DTCC_NO_GRADIENT(OP)                                                                                           \
  LogicalResult OP::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return success(); }

DTCC_UNARY_GRADIENT(NegOp, b.neg(dy))
DTCC_UNARY_GRADIENT(AbsOp, b.mul(dy, SignOp::create(builder, getLoc(), x)))
DTCC_UNARY_GRADIENT(ExpOp, b.mul(dy, y))
DTCC_UNARY_GRADIENT(LogOp, b.div(dy, x))
DTCC_UNARY_GRADIENT(Log1pOp, b.div(dy, b.add(x, b.splat(x, 1))))
DTCC_UNARY_GRADIENT(Expm1Op, b.mul(dy, b.add(y, b.splat(y, 1))))
DTCC_UNARY_GRADIENT(SqrtOp, b.div(b.mul(dy, 0.5), y))
DTCC_UNARY_GRADIENT(RsqrtOp, b.mul(dy, b.mul(b.div(y, x), -0.5)))
DTCC_UNARY_GRADIENT(SinOp, b.mul(dy, CosOp::create(builder, getLoc(), x)))
DTCC_UNARY_GRADIENT(CosOp, b.neg(b.mul(dy, SinOp::create(builder, getLoc(), x))))
DTCC_UNARY_GRADIENT(TanhOp, b.mul(dy, b.sub(b.splat(y, 1), b.mul(y, y))))
DTCC_UNARY_GRADIENT(ErfOp, b.mul(dy, b.mul(ExpOp::create(builder, getLoc(), b.neg(b.mul(x, x))), M_2_SQRTPI)))
DTCC_UNARY_GRADIENT(LogisticOp, b.mul(dy, b.mul(y, b.sub(b.splat(y, 1), y))))
// Zeros, not nothing: a parameter behind them decays, as in PyTorch.
DTCC_UNARY_GRADIENT(FloorOp, b.splat(dy, 0))
DTCC_UNARY_GRADIENT(SignOp, b.splat(dy, 0))
// The result is positive where the operand is, and what follows an activation often keeps it anyway.
DTCC_UNARY_GRADIENT(ReluOp, ReluGradOp::create(builder, getLoc(), y, dy))
DTCC_UNARY_GRADIENT(SiluOp, SiluGradOp::create(builder, getLoc(), x, dy))
DTCC_UNARY_GRADIENT(GeluOp, GeluGradOp::create(builder, getLoc(), x, dy, getForm()))
DTCC_NO_GRADIENT(NotOp)
DTCC_NO_GRADIENT(IsNanOp)
DTCC_NO_GRADIENT(CompareOp)
DTCC_NO_GRADIENT(AndOp)
DTCC_NO_GRADIENT(OrOp)
DTCC_NO_GRADIENT(XorOp)
DTCC_NO_GRADIENT(ShiftLeftOp)
DTCC_NO_GRADIENT(ShiftRightOp)

LogicalResult CastOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> operandGrads) {
  if (!grads[0] || !wanted[0] || !isFloat(getX()) || !isFloat(getY()))
    return success();
  // A gradient that was widened from the operand's type is there in that type.
  auto widened = grads[0].getDefiningOp<CastOp>();
  if (widened && widened.getX().getType() == getX().getType() && isHalf(getX())) {
    operandGrads[0] = widened.getX();
    return success();
  }
  operandGrads[0] = Build(builder, getLoc()).cast(grads[0], elementOf(getX()));
  // The gradient of a value that the model rounds is rounded, as PyTorch's is.
  if (auto own = getX().getDefiningOp<CastOp>(); own && own.getRounds() && !isHalf(grads[0]))
    operandGrads[0].getDefiningOp<CastOp>().setRounds(true);
  return success();
}

/// Defines the gradients of a binary op: EXPRESSIONs give them from x, y, z (the result), dz and b.
#define DTCC_BINARY_GRADIENT(OP, LEFT, RIGHT)                                                                          \
  LogicalResult OP::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,                         \
                                  MutableArrayRef<Value> operandGrads) {                                               \
    Build b(builder, getLoc());                                                                                        \
    [[maybe_unused]] Value x = getLhs(), y = getRhs(), z = getY(), dz = grads[0];                                      \
    if (!dz || !isFloat(z))                                                                                            \
      return success();                                                                                                \
    if (wanted[0])                                                                                                     \
      operandGrads[0] = LEFT;                                                                                          \
    if (wanted[1])                                                                                                     \
      operandGrads[1] = RIGHT;                                                                                         \
    return success();                                                                                                  \
  }

/// dx of x to the power y, without a power for simple exponents.
static Value powSlope(const Build &b, Value x, Value y, Value dz) {
  if (std::optional<double> exponent = splatValue(y)) {
    // Zeros, not nothing, as of floor; a power to -1 would be infinite at 0.
    if (*exponent == 0)
      return b.splat(dz, 0);
    if (isSimplePower(*exponent - 1))
      return b.mul(dz, b.mul(b.power(x, *exponent - 1), *exponent));
  }
  Value slope = b.mul(dz, b.mul(y, PowOp::create(b.builder, b.loc, x, b.sub(y, b.splat(y, 1)))));
  if (splatValue(y))
    return slope;
  // Cells to the power 0 are 1 whatever x is: 0 times an infinite power of a zero would be no number.
  Value zero = b.splat(y, 0);
  return b.select(b.compare(Predicate::eq, y, zero), zero, slope);
}
/// Gradient of z = x to the power y to y. Powers of zeros stay 0, or 1, as the exponent moves: no gradient, as in
/// PyTorch.
static Value exponentSlope(const Build &b, Value x, Value y, Value z, Value dz) {
  Value slope = b.mul(dz, b.mul(z, LogOp::create(b.builder, b.loc, x))), zero = b.splat(x, 0);
  Value still = AndOp::create(b.builder, b.loc, b.compare(Predicate::eq, x, zero), b.compare(Predicate::ge, y, zero));
  return b.select(still, zero, slope);
}

/// dz where `winner` beats `other`, half of it where they are equal.
static Value share(const Build &b, Predicate beats, Value winner, Value other, Value dz) {
  Value zero = b.splat(dz, 0), half = b.select(b.compare(Predicate::eq, winner, other), b.mul(dz, 0.5), zero);
  return b.select(b.compare(beats, winner, other), dz, half);
}

DTCC_BINARY_GRADIENT(AddOp, dz, dz)
DTCC_BINARY_GRADIENT(SubOp, dz, b.neg(dz))
DTCC_BINARY_GRADIENT(MulOp, b.mul(dz, y), b.mul(dz, x))
DTCC_BINARY_GRADIENT(DivOp, b.div(dz, y), b.neg(b.div(b.mul(dz, z), y)))
DTCC_BINARY_GRADIENT(PowOp, powSlope(b, x, y, dz), exponentSlope(b, x, y, z, dz))
DTCC_BINARY_GRADIENT(MaxOp, share(b, Predicate::gt, x, y, dz), share(b, Predicate::gt, y, x, dz))
DTCC_BINARY_GRADIENT(MinOp, share(b, Predicate::lt, x, y, dz), share(b, Predicate::lt, y, x, dz))
DTCC_BINARY_GRADIENT(RemOp, dz, b.neg(b.mul(dz, FloorOp::create(builder, getLoc(), b.div(x, y)))))

LogicalResult SelectOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operandGrads) {
  Build b(builder, getLoc());
  Value dz = grads[0];
  if (!dz || !isFloat(dz))
    return success();
  if (wanted[1])
    operandGrads[1] = b.select(getCondition(), dz, b.splat(dz, 0));
  if (wanted[2])
    operandGrads[2] = b.select(getCondition(), b.splat(dz, 0), dz);
  return success();
}
