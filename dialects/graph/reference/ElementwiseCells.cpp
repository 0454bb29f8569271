//===- ElementwiseCells.cpp - Kernel bodies of elementwise ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalars or vectors alike: arith and math ops are elementwise themselves.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {
/// Writes arithmetic on cells of one type.
class Cells {
public:
  Cells(OpBuilder &builder, Location loc, Type type) : builder(builder), loc(loc), type(type) {}

  Value number(double value) const {
    Type element = getElementTypeOrSelf(type);
    TypedAttr attr = isa<FloatType>(element) ? TypedAttr(FloatAttr::get(element, value))
                                             : TypedAttr(IntegerAttr::get(element, static_cast<int64_t>(value)));
    if (auto shaped = dyn_cast<ShapedType>(type))
      attr = DenseElementsAttr::get(shaped, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  template <typename Op, typename... Args> Value make(Args... args) const { return Op::create(builder, loc, args...); }
  Value add(Value x, Value y) const { return make<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) const { return make<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) const { return make<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) const { return make<arith::DivFOp>(x, y); }
  Value exp(Value x) const { return make<math::ExpOp>(x); }
  Value tanh(Value x) const { return make<math::TanhOp>(x); }
  Value erf(Value x) const { return make<math::ErfOp>(x); }
  Value less(Value x, Value y) const { return make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y); }
  Value select(Value condition, Value x, Value y) const { return make<arith::SelectOp>(condition, x, y); }
  /// log(1 + x): the logarithm of the rounded sum, and what the sum lost of x over the sum, which is the first term of
  /// the logarithm's series. Where nothing is lost, at -1 and infinity too, there is nothing to add.
  Value logOnePlus(Value x) const {
    Value sum = add(number(1), x), kept = sub(sum, number(1)), log = make<math::LogOp>(sum);
    Value isExact = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, kept, x);
    return select(isExact, log, add(log, div(sub(x, kept), sum)));
  }
  /// exp(x) - 1 = tanh(x / 2) * (exp(x) + 1), in which nothing cancels.
  Value expMinusOne(Value x) const { return mul(tanh(mul(x, number(0.5))), add(exp(x), number(1))); }
  Value logistic(Value x) const { return div(number(1), add(number(1), exp(make<arith::NegFOp>(x)))); }
  /// tanh's argument in the approximation of gelu.
  Value geluInner(Value x) const {
    Value cube = mul(mul(x, x), x);
    return mul(number(0.7978845608028654), add(x, mul(number(0.044715), cube)));
  }
  /// Phi(x), the normal distribution.
  Value normal(Value x) const { return mul(number(0.5), add(number(1), erf(mul(x, number(0.7071067811865476))))); }

  OpBuilder &builder;
  Location loc;
  Type type;
};
} // namespace

#define DTCC_CELL(OP, EXPRESSION)                                                                                      \
  Value OP::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {                                            \
    Cells c(builder, loc, cells[0].getType());                                                                         \
    Value x = cells[0];                                                                                                \
    return EXPRESSION;                                                                                                 \
  }
DTCC_CELL(ExpOp, c.exp(x))
DTCC_CELL(LogOp, c.make<math::LogOp>(x))
DTCC_CELL(Log1pOp, c.logOnePlus(x))
DTCC_CELL(Expm1Op, c.expMinusOne(x))
DTCC_CELL(SqrtOp, c.make<math::SqrtOp>(x))
DTCC_CELL(RsqrtOp, c.div(c.number(1), c.make<math::SqrtOp>(x)))
DTCC_CELL(SinOp, c.make<math::SinOp>(x))
DTCC_CELL(CosOp, c.make<math::CosOp>(x))
DTCC_CELL(TanhOp, c.tanh(x))
DTCC_CELL(ErfOp, c.erf(x))
DTCC_CELL(LogisticOp, c.logistic(x))
DTCC_CELL(FloorOp, c.make<math::FloorOp>(x))
DTCC_CELL(ReluOp, c.make<arith::MaximumFOp>(x, c.number(0)))
DTCC_CELL(SiluOp, c.mul(x, c.logistic(x)))

Value GeluOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Value x = cells[0];
  Cells c(builder, loc, x.getType());
  if (getForm() == GeluForm::exact)
    return c.mul(x, c.normal(x));
  return c.mul(c.mul(c.number(0.5), x), c.add(c.number(1), c.tanh(c.geluInner(x))));
}
Value ReluGradOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Cells c(builder, loc, cells[0].getType());
  return c.select(c.less(c.number(0), cells[0]), cells[1], c.number(0));
}
Value SiluGradOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Value x = cells[0];
  Cells c(builder, loc, x.getType());
  Value s = c.logistic(x);
  return c.mul(cells[1], c.mul(s, c.add(c.number(1), c.mul(x, c.sub(c.number(1), s)))));
}
Value GeluGradOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Value x = cells[0];
  Cells c(builder, loc, x.getType());
  Value slope;
  if (getForm() == GeluForm::exact) {
    // Phi(x) + x * density(x).
    Value density = c.mul(c.number(0.3989422804014327), c.exp(c.mul(c.number(-0.5), c.mul(x, x))));
    slope = c.add(c.normal(x), c.mul(x, density));
  } else {
    Value t = c.tanh(c.geluInner(x));
    Value inner = c.mul(c.number(0.7978845608028654), c.add(c.number(1), c.mul(c.number(3 * 0.044715), c.mul(x, x))));
    Value outer = c.mul(c.mul(c.number(0.5), x), c.sub(c.number(1), c.mul(t, t)));
    slope = c.add(c.mul(c.number(0.5), c.add(c.number(1), t)), c.mul(outer, inner));
  }
  return c.mul(slope, cells[1]);
}

static bool isFloatCell(Value cell) { return isa<FloatType>(getElementTypeOrSelf(cell.getType())); }

Value NegOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Cells c(builder, loc, cells[0].getType());
  return isFloatCell(cells[0]) ? c.make<arith::NegFOp>(cells[0]) : c.make<arith::SubIOp>(c.number(0), cells[0]);
}
Value AbsOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Cells c(builder, loc, cells[0].getType());
  return isFloatCell(cells[0]) ? c.make<math::AbsFOp>(cells[0]) : c.make<math::AbsIOp>(cells[0]);
}
Value SignOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Value x = cells[0];
  Cells c(builder, loc, x.getType());
  auto less = [&](Value a, Value b) -> Value {
    return isFloatCell(x) ? c.less(a, b) : c.make<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
  };
  Value zero = c.number(0);
  return c.select(less(zero, x), c.number(1), c.select(less(x, zero), c.number(-1), zero));
}

/// The op of floats, of booleans (unsigned) or of integers.
template <typename Float, typename Int, typename Bool = Int>
static Value byType(OpBuilder &builder, Location loc, ValueRange cells) {
  Type element = getElementTypeOrSelf(cells[0].getType());
  if (isa<FloatType>(element))
    return Float::create(builder, loc, cells[0], cells[1]);
  if (element.isInteger(1))
    return Bool::create(builder, loc, cells[0], cells[1]);
  return Int::create(builder, loc, cells[0], cells[1]);
}
#define DTCC_PAIR(OP, ...)                                                                                             \
  Value OP::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {                                            \
    return byType<__VA_ARGS__>(builder, loc, cells);                                                                   \
  }
DTCC_PAIR(AddOp, arith::AddFOp, arith::AddIOp)
DTCC_PAIR(SubOp, arith::SubFOp, arith::SubIOp)
DTCC_PAIR(MulOp, arith::MulFOp, arith::MulIOp)
DTCC_PAIR(MaxOp, arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp)
DTCC_PAIR(MinOp, arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp)

/// Integer power by repeated squaring, modulo 2^bits. Of a constant exponent a few products are left when constants are
/// folded. A negative power is 0, except of 1 and -1.
static Value integerPower(const Cells &c, Value x, Value y) {
  unsigned bits = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return c.make<arith::CmpIOp>(predicate, a, b);
  };
  Value zero = c.number(0), one = c.number(1), minusOne = c.number(-1);
  Value result = one, square = x, left = y, isOdd;
  for (unsigned bit = 0; bit + 1 < bits; ++bit) {
    Value isSet = compare(arith::CmpIPredicate::ne, c.make<arith::AndIOp>(left, one), zero);
    isOdd = bit == 0 ? isSet : isOdd;
    result = c.select(isSet, c.make<arith::MulIOp>(result, square), result);
    square = c.make<arith::MulIOp>(square, square);
    left = c.make<arith::ShRUIOp>(left, one);
  }
  Value inverse = c.select(compare(arith::CmpIPredicate::eq, x, one), one, zero);
  inverse = c.select(compare(arith::CmpIPredicate::eq, x, minusOne), c.select(isOdd, minusOne, one), inverse);
  return c.select(compare(arith::CmpIPredicate::slt, y, zero), inverse, result);
}
Value PowOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  if (isFloatCell(cells[0]))
    return math::PowFOp::create(builder, loc, cells[0], cells[1]);
  return integerPower(Cells(builder, loc, cells[0].getType()), cells[0], cells[1]);
}

#define DTCC_BITS(OP, BITS)                                                                                            \
  Value OP::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {                                            \
    return BITS::create(builder, loc, cells[0], cells[1]);                                                             \
  }
DTCC_BITS(AndOp, arith::AndIOp)
DTCC_BITS(OrOp, arith::OrIOp)
DTCC_BITS(XorOp, arith::XOrIOp)

/// Shifts by more than the bits of an integer have no value in LLVM.
static std::pair<Value, Value> boundedShift(OpBuilder &builder, Location loc, Value amount) {
  Cells c(builder, loc, amount.getType());
  Value last = c.number(getElementTypeOrSelf(amount.getType()).getIntOrFloatBitWidth() - 1);
  Value isBounded = c.make<arith::CmpIOp>(arith::CmpIPredicate::ule, amount, last);
  return {isBounded, c.select(isBounded, amount, last)};
}
Value ShiftLeftOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  auto [isBounded, amount] = boundedShift(builder, loc, cells[1]);
  Cells c(builder, loc, cells[0].getType());
  return c.select(isBounded, c.make<arith::ShLIOp>(cells[0], amount), c.number(0));
}
Value ShiftRightOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  return arith::ShRSIOp::create(builder, loc, cells[0], boundedShift(builder, loc, cells[1]).second);
}

/// `y`, but 1 where a processor's division by it traps: at 0, and at -1, by which the smallest integer has no quotient.
/// Lanes of a vector past the end of a row hold zeros, so a kernel divides by 0 even if no cell does.
static Value safeDivisor(const Cells &c, Value y) {
  Value one = c.number(1), next = c.make<arith::AddIOp>(y, one);
  return c.select(c.make<arith::CmpIOp>(arith::CmpIPredicate::ule, next, one), one, y);
}
Value DivOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Value x = cells[0], y = cells[1];
  if (isFloatCell(x))
    return arith::DivFOp::create(builder, loc, x, y);
  Cells c(builder, loc, x.getType());
  auto is = [&](double value) -> Value { return c.make<arith::CmpIOp>(arith::CmpIPredicate::eq, y, c.number(value)); };
  Value zero = c.number(0), quotient = c.make<arith::DivSIOp>(x, safeDivisor(c, y));
  return c.select(is(0), zero, c.select(is(-1), c.make<arith::SubIOp>(zero, x), quotient));
}
Value RemOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Value x = cells[0], y = cells[1];
  Cells c(builder, loc, x.getType());
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return c.sub(x, c.mul(c.make<math::FloorOp>(c.div(x, y)), y));
  // C's remainder has the sign of x: where it differs from y's, add y.
  Value r = c.make<arith::RemSIOp>(x, safeDivisor(c, y));
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  Value zero = c.number(0);
  Value differs = arith::XOrIOp::create(builder, loc, compare(arith::CmpIPredicate::slt, r, zero),
                                        compare(arith::CmpIPredicate::slt, y, zero));
  Value fix = arith::AndIOp::create(builder, loc, differs, compare(arith::CmpIPredicate::ne, r, zero));
  return c.select(fix, c.make<arith::AddIOp>(r, y), r);
}

Value NotOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Cells c(builder, loc, cells[0].getType());
  return c.make<arith::XOrIOp>(cells[0], c.number(-1));
}
Value IsNanOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, cells[0], cells[0]);
}
Value CompareOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  auto row = static_cast<size_t>(getPredicate());
  Type element = getElementTypeOrSelf(cells[0].getType());
  if (isa<FloatType>(element)) {
    static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
    return arith::CmpFOp::create(builder, loc, floats[row], cells[0], cells[1]);
  }
  static constexpr I ints[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I bools[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  return arith::CmpIOp::create(builder, loc, element.isInteger(1) ? bools[row] : ints[row], cells[0], cells[1]);
}
Value SelectOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  return arith::SelectOp::create(builder, loc, cells[0], cells[1], cells[2]);
}

Value CastOp::buildCell(OpBuilder &builder, Location loc, ValueRange cells) {
  Value x = cells[0];
  Type from = getElementTypeOrSelf(x.getType()), to = cast<ShapedType>(getY().getType()).getElementType();
  if (from == to)
    return x;
  Type type = to;
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    type = vector.clone(to);
  Cells c(builder, loc, x.getType());
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    if (fromFloat.getWidth() < toFloat.getWidth())
      return arith::ExtFOp::create(builder, loc, type, x);
    if (fromFloat.getWidth() > toFloat.getWidth())
      return arith::TruncFOp::create(builder, loc, type, x);
    // bf16 and f16: through f32.
    Type wide = builder.getF32Type();
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      wide = vector.clone(wide);
    Value widened = arith::ExtFOp::create(builder, loc, wide, x);
    return arith::TruncFOp::create(builder, loc, type, widened);
  }
  if (to.isInteger(1)) {
    if (fromFloat)
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, x, c.number(0));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, x, c.number(0));
  }
  if (fromFloat)
    return arith::FPToSIOp::create(builder, loc, type, x);
  if (toFloat) {
    if (from.isInteger(1))
      return arith::UIToFPOp::create(builder, loc, type, x);
    return arith::SIToFPOp::create(builder, loc, type, x);
  }
  if (from.isIndex() || to.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, x);
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, loc, type, x);
  if (from.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type, x);
  return arith::ExtSIOp::create(builder, loc, type, x);
}
