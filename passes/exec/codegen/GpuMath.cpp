//===- GpuMath.cpp - Functions of f32 by instructions of GPUs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that is to keep pace with memory has some 25 to 35 instructions for a half that it
// reads and one that it writes. The polynomials of processors, which have no better, and correctly
// rounded quotients (eight instructions and a branch) take more. Errors of the instructions as the
// PTX ISA states them, in units of the last place (2^-23 of the result, at most):
//
//   ex2.approx.ftz.f32    2, over the full range; denormal results are 0
//   rcp.approx.ftz.f32    1; denormal operands are 0, and so are denormal results
//   rsqrt.approx.f32      2^-22.9 of the result, below 2
//   div.full.f32          2, over the full range, denormals included
//
// The bounds below add to these the roundings on the way, each half a unit. Upstream's polynomials
// serve no function here: their logarithm takes a denormal number for the smallest normal one, and
// their sine loses all digits of large angles.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/GpuMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <limits>

using namespace mlir;

namespace dtcc::exec {
namespace {

/// Writes arithmetic on f32 of one shape.
class Code {
public:
  Code(OpBuilder &builder, Location loc, Type type) : builder(builder), loc(loc), type(type) {}

  Value number(double value) const {
    TypedAttr attr = builder.getF32FloatAttr(float(value));
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value add(Value x, Value y) const { return arith::AddFOp::create(builder, loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(builder, loc, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(builder, loc, x, y); }
  Value mul(Value x, double y) const { return mul(x, number(y)); }
  Value negate(Value x) const { return arith::NegFOp::create(builder, loc, x); }
  Value fma(Value x, Value y, Value z) const { return math::FmaOp::create(builder, loc, x, y, z); }
  Value fma(Value x, double y, Value z) const { return fma(x, number(y), z); }
  Value fma(Value x, Value y, double z) const { return fma(x, y, number(z)); }
  Value size(Value x) const { return math::AbsFOp::create(builder, loc, x); }
  Value withSign(Value x, Value of) const { return math::CopySignOp::create(builder, loc, x, of); }
  /// NaN keeps.
  Value within(Value x, double low, double high) const {
    Value above = arith::MaximumFOp::create(builder, loc, x, number(low));
    return arith::MinimumFOp::create(builder, loc, above, number(high));
  }
  Value less(Value x, double y) const { return less(x, number(y)); }
  Value less(Value x, Value y) const { return compare(arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) const { return compare(arith::CmpFPredicate::OEQ, x, y); }
  Value equal(Value x, double y) const { return equal(x, number(y)); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) const {
    return arith::CmpFOp::create(builder, loc, predicate, x, y);
  }
  Value both(Value x, Value y) const { return arith::AndIOp::create(builder, loc, x, y); }
  Value floor(Value x) const { return math::FloorOp::create(builder, loc, x); }
  Value select(Value condition, Value x, Value y) const {
    return arith::SelectOp::create(builder, loc, condition, x, y);
  }
  /// x * (first + x * (second + ..)).
  Value series(Value x, Value by, ArrayRef<double> coefficients) const {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, by, coefficient);
    return mul(sum, x);
  }
  /// Calls an instruction cell by cell.
  Value call(StringRef name, ValueRange operands) const {
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(), builder.getStringAttr(name), operands)
          .getResult(0);
    SmallVector<Value> cells;
    Code one(builder, loc, builder.getF32Type());
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
      SmallVector<Value> scalars;
      for (Value operand : operands)
        scalars.push_back(vector::ExtractOp::create(builder, loc, operand, lane));
      cells.push_back(one.call(name, scalars));
    }
    return vector::FromElementsOp::create(builder, loc, vector, cells);
  }
  Value powerOfTwo(Value x) const { return call("llvm.nvvm.ex2.approx.ftz", x); }
  /// 1 / x for x that is neither denormal nor above 2^126.
  Value reciprocal(Value x) const { return call("llvm.nvvm.rcp.approx.ftz.f", x); }
  Value quotient(Value x, Value y) const { return call("llvm.nvvm.div.full", {x, y}); }
  Value reciprocalRoot(Value x) const { return call("llvm.nvvm.rsqrt.approx.f", x); }

  /// e^x within 4 units; 0 where that would be denormal. The product x * log2(e) is rounded to t, and what it lost is
  /// below 2^-17: 2^t * (1 + lost * ln 2) leaves out 2^-36.
  Value exponential(Value x) const {
    Value bounded = within(x, -104, 89.5); // else 0 and infinity would meet what was lost
    constexpr double kHigh = 0x1.715476p+0, kLow = 0x1.4ae0cp-26;
    Value t = mul(bounded, kHigh);
    Value lost = fma(bounded, kLow, fma(bounded, kHigh, negate(t)));
    return mul(powerOfTwo(t), fma(lost, 0x1.62e43p-1, number(1)));
  }

  /// 1 + tanh(x) = 2 / (1 + e^-2x), within 6 units of itself, however small.
  Value onePlusTanh(Value x) const { return reciprocal(fma(exponential(mul(x, -2)), 0.5, number(0.5))); }

  /// tanh(x) within 5 units.
  Value tanh(Value x) const {
    // The series to x^11 below 0.3.
    Value square = mul(x, x);
    Value small = fma(
        series(square, square, {-0x1.555556p-2, 0x1.111112p-3, -0x1.ba1ba2p-5, 0x1.664f48p-6, -0x1.226e36p-7}), x, x);
    Value distance = size(x);
    Value large = fma(reciprocal(add(exponential(mul(distance, 2)), number(1))), -2, number(1));
    return select(less(distance, 0.3), small, withSign(large, x));
  }

  /// erf(x) within 3 units: Norbert Juffa's approximations, x + x * p(x^2) for the small and 1 - e^p(x) for others.
  Value erf(Value x) const {
    Value distance = size(x), square = mul(x, x);
    Value small =
        fma(series(x, square,
                   {0x1.06eba8p-3, -0x1.812700p-2, 0x1.ce1c44p-4, -0x1.b691b2p-6, 0x1.471a58p-8, -0x1.38e000p-11}),
            number(1), x);
    Value power = fma(series(distance, distance,
                             {-0x1.079d0cp-3, -0x1.450aa0p-1, -0x1.b55cb8p-4, 0x1.8d6342p-6, -0x1.fd1438p-9,
                              0x1.91cfb2p-12, -0x1.220000p-16}),
                      number(1), negate(distance));
    // The error of the exponential is one of what is taken from 1, 0.19 at most.
    Value large = sub(number(1), powerOfTwo(mul(power, 0x1.715476p+0)));
    return select(less(distance, 0.927734375), small, withSign(large, x));
  }

  /// 1 + erf(x) within 2^-22, and of a negative x above -2 within 10 units of itself, where a sum with erf(x) would
  /// cancel: erfc(|x|) as 2^(|x| * p(|x|)), fitted by least squares of its error, re-weighted to be even.
  Value onePlusErf(Value x) const {
    Value distance = size(x);
    Value rest = powerOfTwo(series(distance, distance,
                                   {-0x1.a0be86p+0, -0x1.d63e7ap-1, -0x1.2fb1aep-3, 0x1.c50452p-6, 0x1.f3efd4p-13,
                                    -0x1.4274e6p-9, 0x1.017444p-10, -0x1.b7a844p-13, 0x1.9b717ep-16, -0x1.4745f2p-20}));
    return select(less(x, 0), rest, sub(number(2), rest));
  }

  /// A number as a sum of two, of which the second is below the last place of the first.
  struct Parts {
    Value high, low;
  };

  /// log2(x) of 0 < x < infinity within 2^-29.8 of itself, however near x is to 1: x = 2^e * m with m between
  /// sqrt(0.5) and sqrt(2), and log2(m) = 2 / ln(2) * artanh(q) with q = (m - 1) / (m + 1), whose series ends at q^13.
  /// The largest terms are taken in two parts.
  Parts binaryLogarithm(Value x) const {
    Value isTiny = less(x, 0x1p-126);
    Value bits = bitsOf(select(isTiny, mul(x, 0x1p24), x));
    Value power = both(whole<arith::SubIOp>(bits, integer(0x3f3504f3)), integer(0xff800000));
    Value m = floatOf(whole<arith::SubIOp>(bits, power));
    Value e = mul(arith::SIToFPOp::create(builder, loc, type, power), 0x1p-23);
    e = select(isTiny, sub(e, number(24)), e);
    Value above = sub(m, number(1)), inverse = reciprocal(add(m, number(1)));
    Value q = mul(above, inverse);
    Value lost = mul(inverse, fma(negate(q), above, fma(q, -2, above)));
    Value square = mul(q, q);
    Value squareLost = fma(add(q, q), lost, fma(q, q, negate(square)));
    constexpr double kHigh = 0x1.715476p+1, kLow = 0x1.4ae0cp-25, kThird = 0x1.555556p-2;
    // artanh(q) / q - 1.
    Value rest = series(square, square, {-0x1.555556p-27, 0x1.99999ap-3, 0x1.24924ap-3, 0x1.c71c72p-4, 0x1.745d18p-4});
    rest = fma(square, kThird, fma(squareLost, kThird, rest));
    Value high = mul(q, kHigh);
    Value low = fma(lost, kHigh, fma(q, kLow, fma(q, kHigh, negate(high))));
    low = fma(rest, high, fma(rest, low, low));
    // |e| is 0, or larger than the logarithm of m.
    Value sum = add(e, high);
    return renormalized(sum, add(sub(high, sub(sum, e)), low));
  }

  /// log(x) within 2 units, NaN of negative numbers.
  Value logarithm(Value x) const {
    Parts log2 = binaryLogarithm(x);
    constexpr double kHigh = 0x1.62e43p-1, kLow = -0x1.05c61p-29;
    Value log = fma(log2.high, kHigh, fma(log2.low, kHigh, mul(log2.high, kLow)));
    log = select(less(x, infinity), log, x); // NaN keeps
    log = select(equal(x, 0), number(-infinity), log);
    return select(less(x, 0), number(nan), log);
  }

  /// x to the power y as C defines pow, within 6 units; 3 of these are the instructions' for 2^t and 1 / x. The
  /// exponent t = y * log2|x| is a sum of two parts. Denormal results are rounded, not 0.
  Value power(Value x, Value y) const {
    Value distance = size(x);
    Parts log2 = binaryLogarithm(distance);
    Value high = select(equal(distance, 0), number(-infinity), log2.high);
    high = select(less(distance, infinity), high, distance); // infinity, or NaN
    // An infinite exponent of 1 or -1 gives 1, not 0 * infinity; one that is so large is infinite for all others.
    Value exponent = within(y, -0x1p120, 0x1p120);
    Value product = mul(exponent, high), t = within(product, -180, 150);
    Value lost = fma(exponent, log2.low, fma(exponent, high, negate(product)));
    lost = select(equal(product, t), lost, number(0)); // else it may be NaN
    // 2^t is taken where it is neither denormal nor infinite.
    Value isSmall = less(t, -100), isLarge = less(number(100), t);
    Value shift = select(isSmall, number(64), select(isLarge, number(-64), number(0)));
    Value scale = select(isSmall, number(0x1p-64), select(isLarge, number(0x1p64), number(1)));
    Value result = mul(mul(powerOfTwo(add(t, shift)), fma(lost, 0x1.62e43p-1, number(1))), scale);
    // A negative base: the sign of odd exponents, nothing for fractions.
    Value half = floor(mul(y, 0.5)), isWhole = equal(floor(y), y);
    Value isOdd = both(isWhole, compare(arith::CmpFPredicate::UNE, add(half, half), y));
    result = select(isOdd, withSign(result, x), result);
    Value isNegative = both(less(x, 0), less(number(-infinity), x));
    Value isFraction = compare(arith::CmpFPredicate::UNE, floor(y), y);
    result = select(both(isNegative, isFraction), number(nan), result);
    // Even of NaN.
    result = select(equal(x, 1), number(1), result);
    return select(equal(y, 0), number(1), result);
  }

  /// sin(x), or cos(x), within 3 units however large x is. The angle is a number of quarters of a turn and a rest
  /// between -1/2 and 1/2 of a quarter: x = m * 2^k with a whole m below 2^24, times 96 bits of 2 / pi, those before
  /// which m * 2^k makes whole turns left out (Payne and Hanek, 1983).
  Value wave(Value x, bool isCosine) const {
    Value distance = size(x), isSmall = less(distance, 0.78515625);
    Value bits = bitsOf(select(isSmall, number(1), distance));
    Value first = whole<arith::SubIOp>(whole<arith::ShRUIOp>(bits, integer(23)), integer(126));
    Value word = whole<arith::ShRUIOp>(first, integer(5)), bit = both(first, integer(31));
    // 26 zeros, then 2 / pi.
    constexpr uint32_t kBits[] = {0x00000028, 0xbe60db93, 0x91054a7f, 0x09d5f47d,
                                  0x4d377036, 0xd8a5664f, 0x10e4107f, 0x9458eaf7};
    Value words[4];
    for (int i = 0; i < 4; ++i) {
      words[i] = integer(kBits[i]);
      for (int from = 1; from < 5; ++from)
        words[i] = select(whole(arith::CmpIPredicate::eq, word, integer(from)), integer(kBits[i + from]), words[i]);
    }
    Value m = wide(whole<arith::OrIOp>(both(bits, integer(0x7fffff)), integer(0x800000)));
    Value products[3];
    for (int i = 0; i < 3; ++i) {
      Value pair = whole<arith::OrIOp>(whole<arith::ShLIOp>(wide(words[i]), wideInteger(32)), wide(words[i + 1]));
      Value shifted = whole<arith::ShRUIOp>(whole<arith::ShLIOp>(pair, wide(bit)), wideInteger(32));
      products[i] = whole<arith::MulIOp>(m, shifted);
    }
    // Quarters of a turn modulo 4, in units of 2^-62.
    Value turn =
        whole<arith::AddIOp>(whole<arith::ShLIOp>(products[0], wideInteger(32)),
                             whole<arith::AddIOp>(products[1], whole<arith::ShRUIOp>(products[2], wideInteger(32))));
    Value quarter = whole<arith::ShRUIOp>(whole<arith::AddIOp>(turn, wideInteger(int64_t(1) << 61)), wideInteger(62));
    Value left = whole<arith::SubIOp>(turn, whole<arith::ShLIOp>(quarter, wideInteger(62)));
    Value angle = mul(arith::SIToFPOp::create(builder, loc, type, left), 0x1.921fb6p-62);
    angle = select(isSmall, distance, angle);
    quarter = select(isSmall, wideInteger(0), quarter);
    if (isCosine)
      quarter = whole<arith::AddIOp>(quarter, wideInteger(1));
    Value square = mul(angle, angle), zero = number(0);
    Value sine = fma(square, 0x1.80a000p-19, number(-0x1.a0690cp-13));
    sine = fma(fma(sine, square, 0x1.111182p-7), square, -0x1.555556p-3);
    sine = fma(sine, fma(angle, square, zero), angle);
    Value cosine = fma(square, 0x1.9a8000p-16, number(-0x1.6c0efap-10));
    cosine = fma(fma(fma(cosine, square, 0x1.555550p-5), square, -0.5), square, 1.0);
    auto isSet = [&](int64_t bit) {
      return whole(arith::CmpIPredicate::ne, both(quarter, wideInteger(bit)), wideInteger(0));
    };
    Value result = select(isSet(1), cosine, sine);
    result = select(isSet(2), negate(result), result);
    if (!isCosine)
      result = select(less(x, 0), negate(result), select(isSmall, withSign(result, x), result));
    return select(less(distance, infinity), result, number(nan));
  }

  /// x - floor(x / y) * y exactly if |x / y| is below 2^22, else within a unit of y. A quotient that is rounded up to a
  /// whole number is one too large.
  Value remainder(Value x, Value y) const {
    Value rest = fma(negate(floor(arith::DivFOp::create(builder, loc, x, y))), y, x);
    // If the quotient was too large, the rest does not have the sign of y.
    Value sign = withSign(number(1), y);
    return select(less(mul(rest, sign), 0), add(rest, y), rest);
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();

  Parts renormalized(Value high, Value low) const {
    Value sum = add(high, low);
    return {sum, sub(low, sub(sum, high))};
  }

  // Integers of 32 and 64 bits in the shape of `type`.
  Type shaped(Type element) const {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Type element, int64_t value) const {
    APInt bits(element.getIntOrFloatBitWidth(), uint64_t(value), /*isSigned=*/false, /*implicitTrunc=*/true);
    TypedAttr attr = builder.getIntegerAttr(element, bits);
    if (auto vector = dyn_cast<VectorType>(shaped(element)))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value integer(int64_t value) const { return constant(builder.getI32Type(), value); }
  Value wideInteger(int64_t value) const { return constant(builder.getI64Type(), value); }
  Value wide(Value x) const { return arith::ExtUIOp::create(builder, loc, shaped(builder.getI64Type()), x); }
  Value bitsOf(Value x) const { return arith::BitcastOp::create(builder, loc, shaped(builder.getI32Type()), x); }
  Value floatOf(Value x) const { return arith::BitcastOp::create(builder, loc, type, x); }
  template <typename Op> Value whole(Value x, Value y) const { return Op::create(builder, loc, x, y); }
  Value whole(arith::CmpIPredicate predicate, Value x, Value y) const {
    return arith::CmpIOp::create(builder, loc, predicate, x, y);
  }

  OpBuilder &builder;
  Location loc;
  Type type;
};

bool isF32(Value value) { return getElementTypeOrSelf(value.getType()).isF32(); }
bool isOne(Value value) { return matchPattern(value, m_OneFloat()); }

/// The op's operand that is not 1, if the other one is.
Value besideOne(arith::AddFOp op) {
  return isOne(op.getLhs()) ? op.getRhs() : isOne(op.getRhs()) ? op.getLhs() : Value();
}

template <typename Op, typename Fn> void rewriteEach(RewritePatternSet &patterns, Fn build) {
  struct Rewrite : OpRewritePattern<Op> {
    Rewrite(MLIRContext *context, Fn build) : OpRewritePattern<Op>(context), build(build) {}
    LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
      if (!isF32(op->getResult(0)))
        return failure();
      Value made = build(Code(rewriter, op.getLoc(), op.getType()), op);
      if (!made)
        return failure();
      rewriter.replaceOp(op, made);
      return success();
    }
    Fn build;
  };
  patterns.add(std::make_unique<Rewrite>(patterns.getContext(), build));
}

/// Sums whose parts would cancel, and quotients that are known instructions.
void addJoined(RewritePatternSet &patterns) {
  rewriteEach<arith::AddFOp>(patterns, [](Code code, arith::AddFOp op) -> Value {
    Value other = besideOne(op);
    if (!other)
      return nullptr;
    if (auto tanh = other.getDefiningOp<math::TanhOp>())
      return code.onePlusTanh(tanh.getOperand());
    if (auto erf = other.getDefiningOp<math::ErfOp>())
      return code.onePlusErf(erf.getOperand());
    return nullptr;
  });
  // 1 - tanh(x)^2 = (1 + tanh(x)) * (2 - (1 + tanh(x))).
  rewriteEach<arith::SubFOp>(patterns, [](Code code, arith::SubFOp op) -> Value {
    auto square = op.getRhs().getDefiningOp<arith::MulFOp>();
    if (!isOne(op.getLhs()) || !square || square.getLhs() != square.getRhs())
      return nullptr;
    auto tanh = square.getLhs().getDefiningOp<math::TanhOp>();
    if (!tanh)
      return nullptr;
    Value sum = code.onePlusTanh(tanh.getOperand());
    return code.mul(sum, code.sub(code.number(2), sum));
  });
  rewriteEach<arith::SubFOp>(patterns, [](Code code, arith::SubFOp op) -> Value {
    auto product = op.getRhs().getDefiningOp<arith::MulFOp>();
    auto whole = product ? product.getLhs().getDefiningOp<math::FloorOp>() : math::FloorOp();
    auto quotient = whole ? whole.getOperand().getDefiningOp<arith::DivFOp>() : arith::DivFOp();
    if (!quotient || quotient.getLhs() != op.getLhs() || quotient.getRhs() != product.getRhs())
      return nullptr;
    return code.remainder(op.getLhs(), product.getRhs());
  });
  rewriteEach<arith::DivFOp>(patterns, [](Code code, arith::DivFOp op) -> Value {
    if (auto root = op.getRhs().getDefiningOp<math::SqrtOp>(); root && isOne(op.getLhs()))
      return code.reciprocalRoot(root.getOperand());
    // Logistic functions: the sum is 1 at least, and their reciprocal 0 where it would be denormal.
    if (auto sum = op.getRhs().getDefiningOp<arith::AddFOp>())
      if (Value other = besideOne(sum); other && other.getDefiningOp<math::ExpOp>() && isOne(op.getLhs()))
        return code.reciprocal(op.getRhs());
    return nullptr;
  });
}

void addFunctions(RewritePatternSet &patterns) {
  rewriteEach<math::ExpOp>(patterns, [](Code code, auto op) { return code.exponential(op.getOperand()); });
  rewriteEach<math::TanhOp>(patterns, [](Code code, auto op) { return code.tanh(op.getOperand()); });
  rewriteEach<math::ErfOp>(patterns, [](Code code, auto op) { return code.erf(op.getOperand()); });
  rewriteEach<math::LogOp>(patterns, [](Code code, auto op) { return code.logarithm(op.getOperand()); });
  rewriteEach<math::PowFOp>(patterns, [](Code code, auto op) { return code.power(op.getLhs(), op.getRhs()); });
  rewriteEach<math::SinOp>(patterns, [](Code code, auto op) { return code.wave(op.getOperand(), /*isCosine=*/false); });
  rewriteEach<math::CosOp>(patterns, [](Code code, auto op) { return code.wave(op.getOperand(), /*isCosine=*/true); });
  // A quotient that is cut off to a whole number must be rounded correctly: 49 / 49 may be 1 - 2^-24 otherwise.
  rewriteEach<arith::DivFOp>(patterns, [](Code code, auto op) -> Value {
    if (llvm::any_of(op->getUsers(), llvm::IsaPred<math::FloorOp, arith::FPToSIOp>))
      return nullptr;
    return code.quotient(op.getLhs(), op.getRhs());
  });
}

struct GpuMath : PassWrapper<GpuMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GpuMath)
  StringRef getName() const override { return "GpuMath"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    // Patterns of several ops must match before patterns of their parts rewrite these.
    for (auto add : {addJoined, addFunctions}) {
      RewritePatternSet patterns(&getContext());
      add(patterns);
      if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
        return signalPassFailure();
    }
  }
};
} // namespace

std::unique_ptr<Pass> createGpuMath() { return std::make_unique<GpuMath>(); }

} // namespace dtcc::exec
