//===- EmitterMath.cpp - Arithmetic, products and reductions
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

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

std::optional<SmallVector<int64_t>> Emitter::commonShape(ArrayRef<Tensor *> xs) {
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
        error("operands do not broadcast: a dimension has sizes " + Twine(size) + " and " + Twine(other));
        return std::nullopt;
      }
    }
  }
  if (!xs.empty() && !fits(typeLike(*xs.front(), shape)))
    return std::nullopt;
  return shape;
}

bool Emitter::broadcastTogether(ArrayRef<Tensor *> xs) {
  std::optional<SmallVector<int64_t>> shape = commonShape(xs);
  if (!shape)
    return false;
  for (Tensor *x : xs)
    if (!(*x = broadcastTo(*x, *shape)))
      return false;
  return true;
}

/// Both operands as positions over the common shape.
static std::optional<std::pair<Affine, Affine>> positions(Emitter &emitter, const Tensor &x, const Tensor &y,
                                                          ArrayRef<int64_t> shape) {
  // Small constants are shape arithmetic: those fold by evaluation.
  if (!x || !y || isFloat(x) || isFloat(y) || (x->constant && y->constant))
    return std::nullopt;
  if (!emitter.knownAffine(x) || !emitter.knownAffine(y))
    return std::nullopt;
  return std::pair(*emitter.knownAffine(emitter.broadcastTo(x, shape)),
                   *emitter.knownAffine(emitter.broadcastTo(y, shape)));
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
static bool isNeutral(Emitter &emitter, const Tensor &x, const Tensor &y, double neutral) {
  if (!isFloat(y) || elementOf(x) != elementOf(y) || rankOf(y) > rankOf(x) || emitter.knownSplat(y) != neutral)
    return false;
  for (auto [size, other] : llvm::zip(llvm::reverse(shapeOf(x)), llvm::reverse(shapeOf(y))))
    if (other != 1 && other != size)
      return false;
  return true;
}

Tensor Emitter::add(const Tensor &x, const Tensor &y) {
  Tensor a = x, b = y;
  std::optional<SmallVector<int64_t>> shape = commonShape({&a, &b});
  if (!shape)
    return nullptr;
  if (auto at = positions(*this, x, y, *shape))
    if (auto sum = combine(at->first, at->second, 1))
      return affine(typeLike(x, *shape), *sum);
  if (isNeutral(*this, x, y, 0.0))
    return x;
  if (isNeutral(*this, y, x, 0.0))
    return y;
  return binary<graph::AddOp>(x, y);
}

Tensor Emitter::sub(const Tensor &x, const Tensor &y) {
  Tensor a = x, b = y;
  std::optional<SmallVector<int64_t>> shape = commonShape({&a, &b});
  if (!shape)
    return nullptr;
  if (auto at = positions(*this, x, y, *shape))
    if (auto difference = combine(at->first, at->second, -1))
      return affine(typeLike(x, *shape), *difference);
  return binary<graph::SubOp>(x, y);
}

Tensor Emitter::mul(const Tensor &x, const Tensor &y) {
  Tensor a = x, b = y;
  std::optional<SmallVector<int64_t>> shape = commonShape({&a, &b});
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
  if (isNeutral(*this, x, y, 1.0))
    return x;
  if (isNeutral(*this, y, x, 1.0))
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
  std::optional<SmallVector<int64_t>> shape = commonShape({&a, &b});
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
  if (!broadcastTogether({&a, &b}))
    return nullptr;
  return finish(graph::CompareOp::create(builder, loc, type, predicate, value(a), value(b)), {a, b});
}

/// `and` with true and `or` with false are their other operand; with the opposite they are known.
template <typename OpTy> static Tensor connective(Emitter &emitter, const Tensor &x, const Tensor &y, bool neutral) {
  Tensor a = x, b = y;
  if (!emitter.broadcastTogether({&a, &b}))
    return nullptr;
  if (elementOf(a).isInteger(1))
    for (auto [known, other] : {std::pair(a, b), std::pair(b, a)})
      if (std::optional<double> cell = emitter.knownSplat(known))
        return (*cell != 0) == neutral ? other : known;
  return emitter.binary<OpTy>(a, b);
}

Tensor Emitter::logicalAnd(const Tensor &x, const Tensor &y) { return connective<graph::AndOp>(*this, x, y, true); }
Tensor Emitter::logicalOr(const Tensor &x, const Tensor &y) { return connective<graph::OrOp>(*this, x, y, false); }

Tensor Emitter::logicalNot(const Tensor &x) {
  if (!x)
    return nullptr;
  if (std::optional<double> cell = knownSplat(x))
    return splat(x->type, elementOf(x).isInteger(1) ? *cell == 0 : double(~static_cast<int64_t>(*cell)));
  return unary<graph::NotOp>(x);
}

Tensor Emitter::select(const Tensor &condition, const Tensor &x, const Tensor &y) {
  Tensor c = condition, a = x, b = y;
  if (!broadcastTogether({&c, &a, &b}))
    return nullptr;
  if (std::optional<double> cell = knownSplat(c))
    return *cell != 0 ? a : b;
  return finish(graph::SelectOp::create(builder, loc, a->type, value(c), value(a), value(b)), {c, a, b});
}

Tensor Emitter::contract(StringRef spec, const Tensor &x, const Tensor &y) {
  if (!x || !y)
    return nullptr;
  auto [terms, result] = spec.split("->");
  auto [left, right] = terms.split(',');
  SmallVector<int64_t> shape;
  for (char letter : result) {
    size_t at = left.find(letter);
    shape.push_back(at != StringRef::npos ? shapeOf(x)[at] : shapeOf(y)[right.find(letter)]);
  }
  for (auto [i, letter] : llvm::enumerate(left))
    if (size_t at = right.find(letter); at != StringRef::npos && shapeOf(x)[i] != shapeOf(y)[at])
      return error("multiplied dimensions must agree, got: " + Twine(shapeOf(x)[i]) + " and " + Twine(shapeOf(y)[at]));
  return finish(graph::ContractOp::create(builder, loc, typeLike(x, shape), spec, value(x), value(y)), {x, y});
}

Tensor Emitter::matmul(const Tensor &x, const Tensor &y) {
  if (!x || !y)
    return nullptr;
  if (rankOf(x) == 0 || rankOf(y) == 0)
    return error("factors of a matrix product must have at least one dimension");
  if (!isFloat(x) || !isFloat(y))
    return error("factors of a matrix product must be floats");
  // Letters: a.. for batch dimensions, then m, k, n.
  int64_t leftBatch = std::max<int64_t>(rankOf(x) - 2, 0), rightBatch = std::max<int64_t>(rankOf(y) - 2, 0);
  int64_t batch = std::max(leftBatch, rightBatch);
  std::string left, right, result;
  SmallVector<int64_t> leftShape, rightShape, whole;
  for (int64_t i = 0; i < batch; ++i) {
    int64_t inLeft = i - (batch - leftBatch), inRight = i - (batch - rightBatch);
    int64_t leftSize = inLeft >= 0 ? shapeOf(x)[inLeft] : 1, rightSize = inRight >= 0 ? shapeOf(y)[inRight] : 1;
    if (leftSize != rightSize && leftSize != 1 && rightSize != 1)
      return error("batch dimensions of a product must agree, got: " + Twine(leftSize) + " and " + Twine(rightSize));
    whole.push_back(std::max(leftSize, rightSize));
    if (whole.back() == 1)
      continue;
    char letter = 'a' + int(result.size());
    result += letter;
    if (leftSize > 1)
      left += letter, leftShape.push_back(leftSize);
    if (rightSize > 1)
      right += letter, rightShape.push_back(rightSize);
  }
  if (batch > 10)
    return error("a product of more than 10 batch dimensions is not supported");
  if (rankOf(x) > 1)
    left += 'm', leftShape.push_back(shapeOf(x)[rankOf(x) - 2]), result += 'm', whole.push_back(leftShape.back());
  left += 'k', leftShape.push_back(shapeOf(x).back());
  right += 'k', rightShape.push_back(shapeOf(y)[std::max<int64_t>(rankOf(y) - 2, 0)]);
  if (rankOf(y) > 1)
    right += 'n', rightShape.push_back(shapeOf(y).back()), result += 'n', whole.push_back(rightShape.back());
  Tensor product = contract(left + "," + right + "->" + result, reshape(x, leftShape), reshape(y, rightShape));
  return reshape(product, whole);
}

Tensor Emitter::reduce(Reduction kind, const Tensor &x, ArrayRef<int64_t> dims, bool keep) {
  if (!x || dims.empty())
    return x;
  SmallVector<int64_t> sorted(dims), shape, kept;
  llvm::sort(sorted);
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    bool reduced = llvm::is_contained(sorted, dim);
    if (!reduced)
      shape.push_back(shapeOf(x)[dim]);
    if (!reduced || keep)
      kept.push_back(reduced ? 1 : shapeOf(x)[dim]);
  }
  // Kernels reduce floats. A count of cells, and the maximum or minimum of flags, are exact in f32.
  if ((isFlag(x) && cellsOf(shapeOf(x)) <= kMostExactCount) || elementOf(x).isInteger(1))
    return cast(reduce(kind, cast(x, builder.getF32Type()), dims, keep), elementOf(x));
  if (std::shared_ptr<const HostTensor> cells = isFloat(x) || x->constant ? nullptr : known(x))
    return reduce(kind, constant(*cells), dims, keep);
  // Other integers are reduced by pairs.
  if (!isFloat(x) && !x->constant) {
    Tensor y = x;
    for (int64_t dim : sorted)
      y = fold(y, dim, [&](const Tensor &a, const Tensor &b) {
        return kind == Reduction::Sum   ? add(a, b)
               : kind == Reduction::Max ? binary<graph::MaxOp>(a, b)
                                        : binary<graph::MinOp>(a, b);
      });
    return reshape(y, kept);
  }
  Tensor reduced = finish(graph::ReduceOp::create(builder, loc, typeLike(x, shape), kind, value(x), sorted), {x});
  return reshape(reduced, kept);
}

Tensor Emitter::mean(const Tensor &x, ArrayRef<int64_t> dims, bool keep) {
  if (!x || dims.empty())
    return x;
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(x)[dim];
  Tensor sum = reduce(Reduction::Sum, x, dims, keep);
  Tensor cells = scalar(double(count), elementOf(x));
  // A mean of everything may become the loss: its sum and count stay apart.
  if (sum && cellsOf(shapeOf(sum)) == 1 && !sum->constant) {
    auto data = std::make_shared<TensorData>();
    data->type = sum->type;
    data->sum = reshape(sum, {});
    data->count = cells;
    data->value = value(div(sum, cells));
    return data;
  }
  return div(sum, cells);
}

Tensor Emitter::softmax(const Tensor &x, ArrayRef<int64_t> dims, bool log) {
  if (!x)
    return nullptr;
  return finish(graph::SoftmaxOp::create(builder, loc, value(x), dims, log), {x});
}

Tensor Emitter::affineChannels(const Tensor &x, const Tensor &scale, const Tensor &bias) {
  if (!x)
    return nullptr;
  SmallVector<int64_t> channels(rankOf(x) - 1, 1);
  channels[0] = shapeOf(x)[1];
  Tensor y = x;
  if (scale && knownSplat(scale) != 1.0)
    y = mul(y, reshape(scale, channels));
  if (bias && knownSplat(bias) != 0.0)
    y = add(y, reshape(bias, channels));
  return y;
}
