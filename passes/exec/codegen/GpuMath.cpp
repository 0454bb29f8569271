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
// The bounds below add to these the roundings on the way, each half a unit.
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
  Value less(Value x, double y) const {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x, number(y));
  }
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

private:
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
  rewriteEach<arith::DivFOp>(patterns, [](Code code, auto op) { return code.quotient(op.getLhs(), op.getRhs()); });
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
