//===- ElementwiseReference.cpp - The meaning of elementwise ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "dialects/graph/reference/Activations.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

//===----------------------------------------------------------------------===//
// One float in, one float out
//===----------------------------------------------------------------------===//

/// Keeps the low bits of an integer, as a narrower type would.
static int64_t wrap(int64_t value, Type type) {
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (bits >= 64)
    return value;
  uint64_t low = static_cast<uint64_t>(value) & ((uint64_t(1) << bits) - 1);
  bool negative = !type.isUnsignedInteger() && bits > 1 && (low >> (bits - 1)) != 0;
  return negative ? static_cast<int64_t>(low) - (int64_t(1) << bits) : static_cast<int64_t>(low);
}
static int64_t negated(int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }

static LogicalResult eachCell(Operands operands, Results results, double (*function)(double)) {
  for (size_t i = 0; i < results[0].floats.size(); ++i)
    results[0].floats[i] = function(operands[0].floats[i]);
  return success();
}

static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

static LogicalResult eachNumber(Operands operands, Results results, double (*floats)(double),
                                int64_t (*ints)(int64_t)) {
  for (size_t i = 0; i < results[0].ints.size(); ++i)
    results[0].ints[i] = wrap(ints(operands[0].ints[i]), results[0].elementType);
  return eachCell(operands, results, floats);
}

#define DTCC_NUMBER(OP, FLOATS, INTS)                                                                                  \
  LogicalResult OP::evaluate(Operands operands, Results results, const EvaluationContext &) {                          \
    return eachNumber(                                                                                                 \
        operands, results, [](double x) -> double { return FLOATS; }, [](int64_t x) -> int64_t { return INTS; });      \
  }
DTCC_NUMBER(NegOp, -x, negated(x))
DTCC_NUMBER(AbsOp, std::fabs(x), x < 0 ? negated(x) : x)
DTCC_NUMBER(SignOp, sign(x), (x > 0) - (x < 0))

#define DTCC_UNARY(OP, EXPRESSION)                                                                                     \
  LogicalResult OP::evaluate(Operands operands, Results results, const EvaluationContext &) {                          \
    return eachCell(operands, results, [](double x) -> double { return EXPRESSION; });                                 \
  }
DTCC_UNARY(ExpOp, std::exp(x))
DTCC_UNARY(LogOp, std::log(x))
DTCC_UNARY(Log1pOp, std::log1p(x))
DTCC_UNARY(Expm1Op, std::expm1(x))
DTCC_UNARY(SqrtOp, std::sqrt(x))
DTCC_UNARY(RsqrtOp, 1 / std::sqrt(x))
DTCC_UNARY(SinOp, std::sin(x))
DTCC_UNARY(CosOp, std::cos(x))
DTCC_UNARY(TanhOp, std::tanh(x))
DTCC_UNARY(ErfOp, std::erf(x))
DTCC_UNARY(LogisticOp, logistic(x))
DTCC_UNARY(FloorOp, std::floor(x))
DTCC_UNARY(ReluOp, relu(x))
DTCC_UNARY(SiluOp, silu(x))
LogicalResult GeluOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  return eachCell(operands, results, getForm() == GeluForm::exact ? geluExact : geluTanh);
}

/// Gradients of activations: slope(x) * dy.
static LogicalResult eachSlope(Operands operands, Results results, double (*slope)(double)) {
  for (size_t i = 0; i < results[0].floats.size(); ++i)
    results[0].floats[i] = slope(operands[0].floats[i]) * operands[1].floats[i];
  return success();
}
LogicalResult ReluGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  for (size_t i = 0; i < results[0].floats.size(); ++i)
    results[0].floats[i] = operands[0].floats[i] > 0 ? operands[1].floats[i] : 0;
  return success();
}
LogicalResult SiluGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  return eachSlope(operands, results, siluSlope);
}
LogicalResult GeluGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  return eachSlope(operands, results, getForm() == GeluForm::exact ? geluExactSlope : geluTanhSlope);
}

//===----------------------------------------------------------------------===//
// Two operands, floats or integers
//===----------------------------------------------------------------------===//

static LogicalResult eachPair(Operands operands, Results results, double (*floats)(double, double),
                              int64_t (*ints)(int64_t, int64_t)) {
  for (size_t i = 0; i < results[0].floats.size(); ++i)
    results[0].floats[i] = floats(operands[0].floats[i], operands[1].floats[i]);
  for (size_t i = 0; i < results[0].ints.size(); ++i)
    results[0].ints[i] = wrap(ints(operands[0].ints[i], operands[1].ints[i]), results[0].elementType);
  return success();
}

static double maximum(double x, double y) { return std::isnan(x) || x > y ? x : y; }
static double minimum(double x, double y) { return std::isnan(x) || x < y ? x : y; }
/// Integer division by 0 has no value; the reference says 0.
static int64_t quotient(int64_t x, int64_t y) { return y == 0 ? 0 : y == -1 ? int64_t(-uint64_t(x)) : x / y; }
static int64_t remainder(int64_t x, int64_t y) {
  if (y == 0 || y == -1)
    return 0;
  int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
/// Integer power by repeated squaring, modulo 2^64 like the products of kernels. A negative power is 0, except of 1 and
/// -1.
static int64_t power(int64_t x, int64_t y) {
  if (y < 0)
    return x == 1 || (x == -1 && y % 2 == 0) ? 1 : x == -1 ? -1 : 0;
  uint64_t result = 1, square = uint64_t(x);
  for (; y > 0; y >>= 1, square *= square)
    if (y & 1)
      result *= square;
  return int64_t(result);
}

#define DTCC_BINARY(OP, FLOATS, INTS)                                                                                  \
  LogicalResult OP::evaluate(Operands operands, Results results, const EvaluationContext &) {                          \
    return eachPair(                                                                                                   \
        operands, results, [](double x, double y) -> double { return FLOATS; },                                        \
        [](int64_t x, int64_t y) -> int64_t { return INTS; });                                                         \
  }
// Integers wrap around, as those of kernels do.
DTCC_BINARY(AddOp, x + y, int64_t(uint64_t(x) + uint64_t(y)))
DTCC_BINARY(SubOp, x - y, int64_t(uint64_t(x) - uint64_t(y)))
DTCC_BINARY(MulOp, x *y, int64_t(uint64_t(x) * uint64_t(y)))
DTCC_BINARY(DivOp, x / y, quotient(x, y))
DTCC_BINARY(PowOp, std::pow(x, y), power(x, y))
DTCC_BINARY(MaxOp, maximum(x, y), x > y ? x : y)
DTCC_BINARY(MinOp, minimum(x, y), x < y ? x : y)
DTCC_BINARY(RemOp, x - std::floor(x / y) * y, remainder(x, y))
#define DTCC_LOGICAL(OP, INTS)                                                                                         \
  LogicalResult OP::evaluate(Operands operands, Results results, const EvaluationContext &) {                          \
    if (operands[0].isFloat())                                                                                         \
      return emitOpError("needs integers or booleans");                                                                \
    return eachPair(operands, results, nullptr, [](int64_t x, int64_t y) -> int64_t { return INTS; });                 \
  }
DTCC_LOGICAL(AndOp, x &y)
DTCC_LOGICAL(OrOp, x | y)
DTCC_LOGICAL(XorOp, x ^ y)
DTCC_LOGICAL(ShiftLeftOp, y >= 0 && y < 64 ? int64_t(uint64_t(x) << y) : 0)
DTCC_LOGICAL(ShiftRightOp, x >> std::clamp<int64_t>(y, 0, 63))

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

LogicalResult NotOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  for (size_t i = 0; i < results[0].ints.size(); ++i)
    results[0].ints[i] = wrap(~operands[0].ints[i], results[0].elementType);
  return success();
}
LogicalResult IsNanOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  for (size_t i = 0; i < results[0].ints.size(); ++i)
    results[0].ints[i] = std::isnan(operands[0].floats[i]);
  return success();
}

template <typename T> static bool holds(Predicate predicate, T x, T y) {
  switch (predicate) {
  case Predicate::eq:
    return x == y;
  case Predicate::ne:
    return x != y;
  case Predicate::lt:
    return x < y;
  case Predicate::le:
    return x <= y;
  case Predicate::gt:
    return x > y;
  case Predicate::ge:
    return x >= y;
  }
  llvm_unreachable("all predicates are named");
}
LogicalResult CompareOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  for (size_t i = 0; i < results[0].ints.size(); ++i)
    results[0].ints[i] = operands[0].isFloat() ? holds(getPredicate(), operands[0].floats[i], operands[1].floats[i])
                                               : holds(getPredicate(), operands[0].ints[i], operands[1].ints[i]);
  return success();
}
LogicalResult SelectOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  for (size_t i = 0; i < operands[0].ints.size(); ++i) {
    const HostTensor &from = operands[operands[0].ints[i] ? 1 : 2];
    if (from.isFloat())
      results[0].floats[i] = from.floats[i];
    else
      results[0].ints[i] = from.ints[i];
  }
  return success();
}

LogicalResult CastOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  HostTensor &y = results[0];
  for (int64_t i = 0; i < x.size(); ++i) {
    if (y.isFloat())
      y.floats[i] = x.isFloat() ? x.floats[i] : static_cast<double>(x.ints[i]);
    else if (y.elementType.isInteger(1))
      y.ints[i] = x.isFloat() ? x.floats[i] != 0 : x.ints[i] != 0;
    else if (!x.isFloat())
      y.ints[i] = wrap(x.ints[i], y.elementType);
    else // Out of range is undefined in C++ and in ONNX: the reference says 0.
      y.ints[i] = std::fabs(x.floats[i]) < 0x1p63 ? wrap(static_cast<int64_t>(x.floats[i]), y.elementType) : 0;
  }
  return success();
}
