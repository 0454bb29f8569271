//===- ops/Math.cpp - Elementwise arithmetic
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Float and integer arithmetic with numpy's broadcasting.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Logic.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

template <typename OpTy> static LogicalResult unaryRule(OpBinder &node) {
  return node.result(0, node.emit().unary<OpTy>(node.input(0)));
}

using Join = Tensor (*)(Emitter &, const Tensor &, const Tensor &);
static Tensor joinSum(Emitter &emit, const Tensor &x, const Tensor &y) { return emit.add(x, y); }

/// Sum, Max and Min take any number of operands.
template <Join Two> static LogicalResult variadicRule(OpBinder &node) {
  Tensor result = node.input(0);
  for (unsigned i = 1; i < node.numInputs(); ++i)
    result = Two(node.emit(), result, node.input(i));
  return node.result(0, result);
}

template <Tensor (Emitter::*Two)(const Tensor &, const Tensor &)> static LogicalResult binaryRule(OpBinder &node) {
  return node.result(0, (node.emit().*Two)(node.input(0), node.input(1)));
}

/// Integers are negated by a subtraction from 0, which folds: positions that count backwards stay known at compile
/// time.
static LogicalResult negRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, isFloat(x) ? emit.unary<graph::NegOp>(x) : emit.sub(emit.scalar(0, elementOf(x)), x));
}

static LogicalResult powRule(OpBinder &node) {
  // The result has the type of the base, whatever the type of the exponent.
  Tensor x = node.input(0);
  // The gradient of a power would be 0 / 0 at 0.
  std::optional<double> exponent = knownSplat(node.input(1));
  if (exponent == 0.0 && isFloat(x) && cellsOf(shapeOf(node.input(1))) == 1)
    return node.result(0, node.emit().splat(x->type, 1));
  return node.result(0, node.emit().binary<graph::PowOp>(x, node.emit().cast(node.input(1), elementOf(x))));
}

static LogicalResult ceilRule(OpBinder &node) {
  Emitter &emit = node.emit();
  return node.result(0, emit.unary<graph::NegOp>(emit.unary<graph::FloorOp>(emit.unary<graph::NegOp>(node.input(0)))));
}

static LogicalResult reciprocalRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  if (x->value)
    if (auto root = x->value.getDefiningOp<graph::SqrtOp>())
      return node.result(0, emit.unary<graph::RsqrtOp>(emit.fromValue(root.getX())));
  return node.result(0, emit.div(emit.scalar(1, elementOf(x)), x));
}

/// x, but `bound` where x reaches it in the direction of `reaches`. As in PyTorch no gradient passes at the bound.
static Tensor bounded(Emitter &emit, const Tensor &x, graph::Predicate reaches, const Tensor &bound) {
  return emit.select(emit.compare(reaches, x, bound), bound, x);
}

/// Max and Min. One cell that is known beside a tensor is a bound, as torch.clamp writes it with a single bound.
template <typename OpTy, graph::Predicate Reaches>
static Tensor extreme(Emitter &emit, const Tensor &x, const Tensor &y) {
  auto isBound = [&](const Tensor &bound, const Tensor &other) {
    return isFloat(bound) && cellsOf(shapeOf(bound)) == 1 && rankOf(bound) <= rankOf(other) && knownCells(bound);
  };
  if (isBound(y, x) && !knownCells(x))
    return bounded(emit, x, Reaches, y);
  if (isBound(x, y) && !knownCells(y))
    return bounded(emit, y, Reaches, x);
  return emit.binary<OpTy>(x, y);
}

static LogicalResult clipRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), low = node.input(1), high = node.input(2);
  if (node.opset() < 11) {
    low = node.hasAttribute("min") ? emit.scalar(node.real("min", 0), elementOf(x)) : nullptr;
    high = node.hasAttribute("max") ? emit.scalar(node.real("max", 0), elementOf(x)) : nullptr;
  }
  if (low)
    x = isFloat(x) ? bounded(emit, x, graph::Predicate::le, low) : emit.binary<graph::MaxOp>(x, low);
  if (x && high)
    x = isFloat(x) ? bounded(emit, x, graph::Predicate::ge, high) : emit.binary<graph::MinOp>(x, high);
  return node.result(0, x);
}

/// The mean of any number of operands.
static LogicalResult averageRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor sum = node.input(0);
  for (unsigned i = 1; i < node.numInputs(); ++i)
    sum = emit.add(sum, node.input(i));
  return node.result(0, sum ? emit.div(sum, emit.scalar(node.numInputs(), elementOf(sum))) : sum);
}

/// (exp(x) + Sign * exp(-x)) / 2.
template <int Sign> static LogicalResult hyperbolicRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), up = emit.unary<graph::ExpOp>(x);
  Tensor down = emit.unary<graph::ExpOp>(emit.unary<graph::NegOp>(x));
  Tensor both = Sign > 0 ? emit.add(up, down) : emit.sub(up, down);
  return node.result(0, emit.mul(both, emit.scalar(0.5, elementOf(x))));
}

static LogicalResult tangentRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, emit.div(emit.unary<graph::SinOp>(x), emit.unary<graph::CosOp>(x)));
}

/// The nearest integer; of two the even one. No step rounds: x + 0.5 would, near 0.5 and above 2^22.
static LogicalResult roundRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), half = emit.scalar(0.5, elementOf(x)), one = emit.scalar(1, elementOf(x));
  Tensor down = emit.unary<graph::FloorOp>(x), excess = emit.sub(x, down), halved = emit.mul(down, half);
  Tensor isOdd = emit.compare(graph::Predicate::ne, emit.unary<graph::FloorOp>(halved), halved);
  Tensor isTie = emit.compare(graph::Predicate::eq, excess, half);
  Tensor isAbove = emit.compare(graph::Predicate::gt, excess, half);
  return node.result(0,
                     emit.select(logicalOr(emit, isAbove, logicalAnd(emit, isTie, isOdd)), emit.add(down, one), down));
}

/// The remainder has the sign of y; with fmod that of x, as C has it.
static LogicalResult modRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), y = node.input(1);
  if (node.integer("fmod", 0) == 0)
    return node.result(0, emit.binary<graph::RemOp>(x, y));
  Tensor quotient = emit.div(x, y);
  if (isFloat(x) && quotient) {
    Tensor zero = emit.scalar(0, elementOf(x));
    auto negated = [&](const Tensor &t) { return emit.unary<graph::NegOp>(t); };
    Tensor down = emit.unary<graph::FloorOp>(quotient), up = negated(emit.unary<graph::FloorOp>(negated(quotient)));
    quotient = emit.select(emit.compare(graph::Predicate::lt, quotient, zero), up, down);
  }
  return node.result(0, emit.sub(x, emit.mul(quotient, y)));
}

static LogicalResult signRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  if (isFloat(x))
    return node.result(0, emit.unary<graph::SignOp>(x));
  auto scalar = [&](double value) { return emit.scalar(value, elementOf(x)); };
  Tensor below = emit.select(emit.compare(graph::Predicate::lt, x, scalar(0)), scalar(-1), scalar(0));
  return node.result(0, emit.select(emit.compare(graph::Predicate::gt, x, scalar(0)), scalar(1), below));
}

static LogicalResult reluRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, isFloat(x) ? emit.unary<graph::ReluOp>(x)
                                   : emit.binary<graph::MaxOp>(x, emit.scalar(0, elementOf(x))));
}

/// log(x + sqrt(x * x - 1)), for x >= 1.
static LogicalResult inverseHyperbolicCosineRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), one = emit.scalar(1, elementOf(x));
  Tensor root = emit.unary<graph::SqrtOp>(emit.sub(emit.mul(x, x), one));
  return node.result(0, emit.unary<graph::LogOp>(emit.add(x, root)));
}

/// The odd function whose values for x >= 0 `side` gives. Its slope at 0 is that of `side`.
static Tensor oddFunction(Emitter &emit, const Tensor &x, llvm::function_ref<Tensor(const Tensor &)> side) {
  Tensor isBelow = emit.compare(graph::Predicate::lt, x, emit.scalar(0, elementOf(x)));
  Tensor value = side(emit.select(isBelow, emit.unary<graph::NegOp>(x), x));
  return emit.select(isBelow, emit.unary<graph::NegOp>(value), value);
}

/// log(x + sqrt(x * x + 1)) = log(1 + x + x * x / (1 + sqrt(x * x + 1))), in which small x do not vanish.
static LogicalResult inverseHyperbolicSineRule(OpBinder &node) {
  Emitter &emit = node.emit();
  return node.result(0, oddFunction(emit, node.input(0), [&](const Tensor &x) {
                       Tensor one = emit.scalar(1, elementOf(x)), square = emit.mul(x, x);
                       Tensor root = emit.unary<graph::SqrtOp>(emit.add(square, one));
                       return emit.unary<graph::Log1pOp>(emit.add(x, emit.div(square, emit.add(root, one))));
                     }));
}

/// log((1 + x) / (1 - x)) / 2 = log(1 + 2 * x / (1 - x)) / 2.
static LogicalResult inverseHyperbolicTangentRule(OpBinder &node) {
  Emitter &emit = node.emit();
  return node.result(0, oddFunction(emit, node.input(0), [&](const Tensor &x) {
                       auto scalar = [&](double value) { return emit.scalar(value, elementOf(x)); };
                       Tensor excess = emit.div(emit.mul(x, scalar(2)), emit.sub(scalar(1), x));
                       return emit.mul(emit.unary<graph::Log1pOp>(excess), scalar(0.5));
                     }));
}

/// Half of an angle whose tangent is t has the tangent t / (1 + sqrt(1 + t * t)). Three times halved, the angle is
/// below pi / 16, where five terms of the series leave 2e-9, and its slope 1e-7. No branches: the gradient is smooth.
static Tensor arctangent(Emitter &emit, const Tensor &x) {
  Type f32 = emit.getBuilder().getF32Type();
  if (!x || (!elementOf(x).isF32() && !elementOf(x).isF64()))
    return x ? emit.cast(arctangent(emit, emit.cast(x, f32)), elementOf(x)) : nullptr;
  auto scalar = [&](double value) { return emit.scalar(value, elementOf(x)); };
  // Squares of what is larger overflow; its angle is that of this to all digits.
  constexpr double kMost = 1e18;
  Tensor t = emit.binary<graph::MinOp>(emit.binary<graph::MaxOp>(x, scalar(-kMost)), scalar(kMost));
  for (int halving = 0; halving < 3; ++halving) {
    Tensor root = emit.unary<graph::SqrtOp>(emit.add(emit.mul(t, t), scalar(1)));
    t = emit.div(t, emit.add(root, scalar(1)));
  }
  Tensor square = emit.mul(t, t), sum = scalar(1.0 / 9);
  for (double term : {-1.0 / 7, 1.0 / 5, -1.0 / 3, 1.0})
    sum = emit.add(emit.mul(sum, square), scalar(term));
  return emit.mul(emit.mul(sum, t), scalar(8));
}

static LogicalResult arctangentRule(OpBinder &node) { return node.result(0, arctangent(node.emit(), node.input(0))); }

/// The angle with the sine x is that with the tangent x / sqrt(1 - x * x); that with the cosine x completes it to pi
/// / 2.
template <bool Cosine> static LogicalResult arcsineRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), one = emit.scalar(1, elementOf(x));
  Tensor side = emit.unary<graph::SqrtOp>(emit.mul(emit.sub(one, x), emit.add(one, x)));
  Tensor angle = arctangent(emit, emit.div(x, side));
  return node.result(0, Cosine ? emit.sub(emit.scalar(M_PI / 2, elementOf(x)), angle) : angle);
}

void dtcc::onnx::addMathRules(RuleTable &table) {
  table.on("Abs", 6, {1, 1}, unaryRule<graph::AbsOp>);
  table.on("Exp", 6, {1, 1}, ofFloats<unaryRule<graph::ExpOp>>);
  table.on("Log", 6, {1, 1}, ofFloats<unaryRule<graph::LogOp>>);
  table.on("Sqrt", 6, {1, 1}, ofFloats<unaryRule<graph::SqrtOp>>);
  table.on("Sin", 7, {1, 1}, ofFloats<unaryRule<graph::SinOp>>);
  table.on("Cos", 7, {1, 1}, ofFloats<unaryRule<graph::CosOp>>);
  table.on("Tan", 7, {1, 1}, ofFloats<tangentRule>);
  table.on("Sinh", 9, {1, 1}, ofFloats<hyperbolicRule<-1>>);
  table.on("Cosh", 9, {1, 1}, ofFloats<hyperbolicRule<1>>);
  table.on("Atan", 7, {1, 1}, ofFloats<arctangentRule>);
  table.on("Asin", 7, {1, 1}, ofFloats<arcsineRule<false>>);
  table.on("Acos", 7, {1, 1}, ofFloats<arcsineRule<true>>);
  table.on("Asinh", 9, {1, 1}, ofFloats<inverseHyperbolicSineRule>);
  table.on("Acosh", 9, {1, 1}, ofFloats<inverseHyperbolicCosineRule>);
  table.on("Atanh", 9, {1, 1}, ofFloats<inverseHyperbolicTangentRule>);
  table.on("Tanh", 6, {1, 1}, ofFloats<unaryRule<graph::TanhOp>>);
  table.on("Erf", 9, {1, 1}, ofFloats<unaryRule<graph::ErfOp>>);
  table.on("Sigmoid", 6, {1, 1}, ofFloats<unaryRule<graph::LogisticOp>>);
  table.on("Floor", 6, {1, 1}, ofFloats<unaryRule<graph::FloorOp>>);
  table.on("Round", 11, {1, 1}, ofFloats<roundRule>);
  table.on("Sign", 9, {1, 1}, signRule);
  table.on("Relu", 6, {1, 1}, reluRule);
  table.on("Neg", 6, {1, 1}, negRule);
  table.on("Ceil", 6, {1, 1}, ofFloats<ceilRule>);
  table.on("Reciprocal", 6, {1, 1}, ofFloats<reciprocalRule>);
  table.on("Clip", 6, {1, 3}, clipRule).keepsUnsigned();
  table.on("Add", 7, {2, 2}, binaryRule<&Emitter::add>).wrapsUnsigned().takesVectors({0, 1});
  table.on("Sub", 7, {2, 2}, binaryRule<&Emitter::sub>).wrapsUnsigned();
  table.on("Mul", 7, {2, 2}, binaryRule<&Emitter::mul>).wrapsUnsigned().takesVectors({0, 1});
  table.on("Div", 7, {2, 2}, binaryRule<&Emitter::div>).keepsUnsigned();
  table.on("Pow", 7, {2, 2}, powRule).wrapsUnsigned();
  table.on("Mod", 10, {2, 2}, modRule).keepsUnsigned();
  table.on("Sum", 6, {1, kAnyNumber}, variadicRule<joinSum>).wrapsUnsigned();
  table.on("Mean", 6, {1, kAnyNumber}, averageRule);
  table.on("Max", 6, {1, kAnyNumber}, variadicRule<extreme<graph::MaxOp, graph::Predicate::le>>).keepsUnsigned();
  table.on("Min", 6, {1, kAnyNumber}, variadicRule<extreme<graph::MinOp, graph::Predicate::ge>>).keepsUnsigned();
}
