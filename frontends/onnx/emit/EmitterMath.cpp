//===- EmitterMath.cpp - Arithmetic and comparisons
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// numpy's broadcasting, integer arithmetic on positions, and the few identities
// without which masks would stay whole tensors.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Emitter.h"
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The shape to which all broadcast. Nothing: they do not fit (the error is out) or one is null.
static std::optional<SmallVector<int64_t>> commonShape(Emitter &emit, ArrayRef<Tensor *> xs) {
  SmallVector<int64_t> shape;
  for (Tensor *x : xs) {
    if (!*x)
      return std::nullopt;
    ArrayRef<int64_t> sizes = shapeOf(*x);
    if (sizes.size() > shape.size())
      shape.insert(shape.begin(), sizes.size() - shape.size(), 1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t &size = shape[shape.size() - 1 - i], other = sizes[sizes.size() - 1 - i];
      if (size == 1)
        size = other;
      else if (other != 1 && other != size) {
        emit.error("operands do not broadcast: a dimension has sizes " + Twine(size) + " and " + Twine(other));
        return std::nullopt;
      }
    }
  }
  if (!xs.empty() && !fits(emit.getLoc(), typeLike(*xs.front(), shape)))
    return std::nullopt;
  return shape;
}

bool dtcc::onnx::broadcastTogether(Emitter &emit, ArrayRef<Tensor *> xs) {
  std::optional<SmallVector<int64_t>> shape = commonShape(emit, xs);
  if (!shape)
    return false;
  for (Tensor *x : xs)
    if (!(*x = emit.broadcastTo(*x, *shape)))
      return false;
  return true;
}

bool dtcc::onnx::haveOneElement(Emitter &emit, const Tensor &x, const Tensor &y) {
  if (elementOf(x) == elementOf(y))
    return true;
  std::string one, other;
  llvm::raw_string_ostream(one) << elementOf(x);
  llvm::raw_string_ostream(other) << elementOf(y);
  emit.error("operands must have one element type, got: " + one + " and " + other);
  return false;
}

/// Returns both operands as positions over the common shape, if they are such.
static std::optional<std::pair<Affine, Affine>> positions(Emitter &emitter, const Tensor &x, const Tensor &y,
                                                          ArrayRef<int64_t> shape) {
  // Small constants are shape arithmetic: those fold by evaluation.
  if (!x || !y || isFloat(x) || isFloat(y) || (x->constant && y->constant))
    return std::nullopt;
  if (!knownAffine(x) || !knownAffine(y))
    return std::nullopt;
  return std::pair(*knownAffine(emitter.broadcastTo(x, shape)), *knownAffine(emitter.broadcastTo(y, shape)));
}

/// Sum of two positions, the second times `factor`. Nothing: an op must compute it, as it wraps round.
static std::optional<Affine> combine(Affine x, const Affine &y, int64_t factor) {
  bool fits = accumulate(x.offset, factor, y.offset);
  for (auto [step, other] : llvm::zip_equal(x.steps, y.steps))
    fits &= accumulate(step, factor, other);
  return fits ? std::optional(x) : std::nullopt;
}

static std::optional<Affine> scale(const Affine &x, int64_t factor) {
  return combine({0, SmallVector<int64_t>(x.steps.size(), 0)}, x, factor);
}

/// A float identity: `x op cell` is x. The shape must not grow.
static bool isNeutral(const Tensor &x, const Tensor &y, double neutral) {
  if (!isFloat(y) || elementOf(x) != elementOf(y) || rankOf(y) > rankOf(x) || knownSplat(y) != neutral)
    return false;
  for (auto [size, other] : llvm::zip(llvm::reverse(shapeOf(x)), llvm::reverse(shapeOf(y))))
    if (other != 1 && other != size)
      return false;
  return true;
}

Tensor Emitter::add(const Tensor &x, const Tensor &y) {
  Tensor a = x, b = y;
  std::optional<SmallVector<int64_t>> shape = commonShape(*this, {&a, &b});
  if (!shape)
    return nullptr;
  if (auto at = positions(*this, x, y, *shape))
    if (auto sum = combine(at->first, at->second, 1))
      return affine(typeLike(x, *shape), *sum);
  if (isNeutral(x, y, 0.0))
    return x;
  if (isNeutral(y, x, 0.0))
    return y;
  return binary<graph::AddOp>(x, y);
}

Tensor Emitter::sub(const Tensor &x, const Tensor &y) {
  Tensor a = x, b = y;
  std::optional<SmallVector<int64_t>> shape = commonShape(*this, {&a, &b});
  if (!shape)
    return nullptr;
  if (auto at = positions(*this, x, y, *shape))
    if (auto difference = combine(at->first, at->second, -1))
      return affine(typeLike(x, *shape), *difference);
  return binary<graph::SubOp>(x, y);
}

Tensor Emitter::mul(const Tensor &x, const Tensor &y) {
  Tensor a = x, b = y;
  std::optional<SmallVector<int64_t>> shape = commonShape(*this, {&a, &b});
  if (!shape)
    return nullptr;
  if (auto at = positions(*this, x, y, *shape)) {
    std::optional<Affine> product;
    if (at->first.isSplat())
      product = scale(at->second, at->first.offset);
    else if (at->second.isSplat())
      product = scale(at->first, at->second.offset);
    if (product)
      return affine(typeLike(x, *shape), *product);
  }
  if (isNeutral(x, y, 1.0))
    return x;
  if (isNeutral(y, x, 1.0))
    return y;
  return binary<graph::MulOp>(x, y);
}

Tensor Emitter::div(const Tensor &x, const Tensor &y) { return binary<graph::DivOp>(x, y); }

static bool holds(graph::Predicate predicate, int64_t difference) {
  switch (predicate) {
  case graph::Predicate::eq:
    return difference == 0;
  case graph::Predicate::ne:
    return difference != 0;
  case graph::Predicate::lt:
    return difference < 0;
  case graph::Predicate::le:
    return difference <= 0;
  case graph::Predicate::gt:
    return difference > 0;
  case graph::Predicate::ge:
    return difference >= 0;
  }
  llvm_unreachable("unknown predicate");
}

Tensor Emitter::compare(graph::Predicate predicate, const Tensor &x, const Tensor &y) {
  Tensor a = x, b = y;
  std::optional<SmallVector<int64_t>> shape = commonShape(*this, {&a, &b});
  if (!shape)
    return nullptr;
  auto type = RankedTensorType::get(*shape, builder.getI1Type());
  auto at = positions(*this, x, y, *shape);
  auto difference = at ? combine(at->first, at->second, -1) : std::nullopt;
  if (difference) {
    // The range of the difference may already decide.
    int64_t low = difference->offset, high = difference->offset;
    bool isRange = true;
    for (auto [step, size] : llvm::zip_equal(difference->steps, *shape))
      isRange &= accumulate(step < 0 ? low : high, step, size - 1);
    if (difference->isSplat())
      return splat(type, holds(predicate, difference->offset));
    bool ordered = predicate != graph::Predicate::eq && predicate != graph::Predicate::ne;
    if (isRange && ordered && holds(predicate, low) == holds(predicate, high))
      return splat(type, holds(predicate, low));
    // Compare over the dimensions that count, then repeat: a causal mask is [t, s].
    SmallVector<int64_t> dims, sizes;
    Affine left{at->first.offset, {}}, right{at->second.offset, {}};
    for (size_t dim = 0; dim < shape->size(); ++dim)
      if (at->first.steps[dim] != 0 || at->second.steps[dim] != 0) {
        dims.push_back(dim);
        sizes.push_back((*shape)[dim]);
        left.steps.push_back(at->first.steps[dim]);
        right.steps.push_back(at->second.steps[dim]);
      }
    RankedTensorType compact = typeLike(x, sizes);
    Value result = graph::CompareOp::create(builder, loc, RankedTensorType::get(sizes, builder.getI1Type()), predicate,
                                            value(affine(compact, left)), value(affine(compact, right)));
    if (dims.size() != shape->size())
      result = graph::BroadcastOp::create(builder, loc, type, result, dims);
    return fromValue(result);
  }
  if (!broadcastTogether(*this, {&a, &b}) || !haveOneElement(*this, a, b))
    return nullptr;
  return finish(graph::CompareOp::create(builder, loc, type, predicate, value(a), value(b)), {a, b});
}

Tensor Emitter::select(const Tensor &condition, const Tensor &x, const Tensor &y) {
  Tensor c = condition, a = x, b = y;
  if (!broadcastTogether(*this, {&c, &a, &b}) || !haveOneElement(*this, a, b))
    return nullptr;
  if (!elementOf(c).isInteger(1))
    return error("a condition must be boolean");
  if (std::optional<double> cell = knownSplat(c))
    return *cell != 0 ? a : b;
  return finish(graph::SelectOp::create(builder, loc, a->type, value(c), value(a), value(b)), {c, a, b});
}
