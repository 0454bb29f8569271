//===- Attention.cpp - Attention around a softmax
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Up from the softmax the scores are read (Scores.h) down to a product of q and k; down
// from it the product with v is found. Which dimension is what comes from the letters of
// the two products, whatever their order.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/Recover.h"
#include "passes/graph/recover/Region.h"
#include "passes/graph/recover/Scores.h"
#include "passes/graph/recover/Views.h"
#include <cmath>
#include <tuple>

using namespace mlir;

namespace dtcc::graph {

namespace {

/// A value and the letters of its dimensions.
struct Operand {
  Value value;
  std::string letters;
  double scale = 1;

  bool has(char letter) const { return letters.find(letter) != std::string::npos; }
  /// Looks under views, as long as they repeat nothing but `group`.
  void strip(char group) {
    View view = View::of(value, true);
    std::string inner(rankOf(view.base), ' ');
    for (auto [i, from] : llvm::enumerate(view.dims)) {
      if (from >= 0)
        inner[from] = letters[i];
      else if (letters[i] != group)
        return;
    }
    value = view.base;
    letters = inner;
    scale *= view.scale;
  }
  /// The value with dimensions in the order of `order`, the last `merged` of which become
  /// one of size `size`.
  Value arrange(const Build &b, const std::string &order, size_t merged) const {
    Dims permutation;
    for (char letter : order)
      permutation.push_back(letters.find(letter));
    Value y = b.transpose(value, permutation);
    Dims shape(shapeOf(y).drop_back(merged));
    shape.push_back(product(shapeOf(y).take_back(merged)));
    return b.reshape(y, shape);
  }
};

/// The letters of `a` that `b` lacks.
std::string minus(const std::string &a, const std::string &b) {
  std::string rest;
  for (char letter : a)
    if (b.find(letter) == std::string::npos)
      rest += letter;
  return rest;
}
bool sameLetters(std::string a, std::string b) {
  llvm::sort(a);
  llvm::sort(b);
  return a == b;
}

class AttentionRecovery {
public:
  AttentionRecovery(SoftmaxOp softmax, ScoreMemory &memory)
      : softmax(softmax), memory(memory), rank(rankOf(softmax.getY())) {}

  bool run() {
    if (softmax.getLog() || (rank != 4 && rank != 5) || softmax.getDims() != ArrayRef<int64_t>{rank - 1} ||
        !findValues())
      return false;
    std::optional<Scores> read = readScores(softmax.getX(), memory);
    if (!read)
      return false;
    scores = std::move(*read);
    // One pair of numbers is all that a mask compares.
    if (llvm::count_if(scores.atoms, [](const MaskAtom &atom) { return atom.isSegment(); }) > 1)
      return false;
    if (!isClosed() || !nameLetters())
      return false;
    replace();
    return true;
  }

private:
  /// Down: the guard against NaN, if any, and the product with v.
  bool findValues() {
    Value p = softmax.getY();
    SmallVector<Operation *> users(p.user_begin(), p.user_end());
    if (users.size() == 2) {
      auto guard = dyn_cast<SelectOp>(users[0]) ? cast<SelectOp>(users[0]) : dyn_cast<SelectOp>(users[1]);
      auto test = guard ? guard.getCondition().getDefiningOp<IsNanOp>() : IsNanOp();
      if (!test || test.getX() != p || !test->hasOneUse() || guard.getY() != p || splatValue(guard.getX()) != 0.0)
        return false;
      guarded = true;
      p = guard.getResult();
    }
    if (!p.hasOneUse())
      return false;
    weighted = dyn_cast<ContractOp>(*p.user_begin());
    probabilities = p;
    return weighted && weighted.getLhs() != weighted.getRhs();
  }

  /// Whether only this attention uses the values that depend on the product of q and k.
  bool isClosed() {
    if (scores.core.getY() == softmax.getX())
      return softmax.getX().hasOneUse();
    SmallVector<Value> inputs{scores.core.getY()};
    for (const MaskAtom &atom : scores.atoms)
      inputs.push_back(atom.value);
    std::optional<Region> region = Region::between(inputs, softmax.getX(), 96);
    if (!region || !region->isClosed() || !softmax.getX().hasOneUse())
      return false;
    return llvm::all_of(scores.core->getUsers(), [&](Operation *user) { return region->contains(user); });
  }

  /// Names the letters of the scores' product; false if it is no q k^T.
  bool nameLetters() {
    ContractSpec spec = ContractSpec::parse(scores.core.getSpec());
    b = spec.result[0], h = spec.result[1], t = spec.result[rank - 2], s = spec.result[rank - 1];
    group = rank == 5 ? spec.result[2] : 0;
    q = {scores.core.getLhs(), spec.lhs};
    k = {scores.core.getRhs(), spec.rhs};
    if (q.has(s))
      std::swap(q, k);
    inner = minus(spec.letters(), spec.result);
    q.strip(0);
    k.strip(group);
    std::string heads = group ? std::string{h, group} : std::string{h};
    if (!sameLetters(q.letters, std::string{b, t} + heads + inner) ||
        !sameLetters(k.letters, std::string{b, s, h} + inner))
      return false;

    // The letters of the second product, as those of the first.
    spec = ContractSpec::parse(weighted.getSpec());
    bool first = weighted.getLhs() == probabilities;
    const std::string &pLetters = first ? spec.lhs : spec.rhs;
    std::string scoreLetters = ContractSpec::parse(scores.core.getSpec()).result;
    auto rename = [&](const std::string &term) {
      std::string renamed;
      for (char letter : term) {
        size_t at = pLetters.find(letter);
        // Letters of the values alone get names that no score has.
        renamed += at != std::string::npos ? scoreLetters[at] : static_cast<char>(letter | 0x80);
      }
      return renamed;
    };
    v = {first ? weighted.getRhs() : weighted.getLhs(), rename(first ? spec.rhs : spec.lhs)};
    out = rename(spec.result);
    outer = minus(v.letters, scoreLetters);
    v.strip(group);
    return v.scale == 1 && sameLetters(v.letters, std::string{b, s, h} + outer) &&
           sameLetters(out, std::string{b, t} + heads + outer);
  }

  /// A mask operand of two dimensions, the sample and `other`.
  Value maskOperand(const Build &build, Value value, ArrayRef<int64_t> dims, int64_t other) {
    if (dims.size() == 2 && dims[0] > dims[1])
      return build.transpose(value, {1, 0});
    if (dims.size() == 2)
      return value;
    auto shape = shapeOf(softmax.getX());
    Dims place;
    for (int64_t dim : dims)
      place.push_back(dim == 0 ? 0 : 1);
    return build.broadcast(value, withShape(value.getType(), {shape[0], shape[other]}), place);
  }

  void replace() {
    OpBuilder builder(weighted);
    Build build(builder, softmax.getLoc());
    std::string heads = group ? std::string{h, group} : std::string{h};
    Value qs = q.arrange(build, std::string{b, t} + heads + inner, inner.size());
    Value ks = k.arrange(build, std::string{b, s, h} + inner, inner.size());
    Value vs = v.arrange(build, std::string{b, s, h} + outer, outer.size());

    bool segment = false;
    Value key;
    SmallVector<Value> maskOperands, segments;
    for (const MaskAtom &atom : scores.atoms) {
      if (atom.isSegment()) {
        for (auto [value, dims, other] : {std::tuple(atom.a, atom.aDims, rank - 2), {atom.b, atom.bDims, rank - 1}})
          segments.push_back(build.cast(maskOperand(build, value, dims, other), builder.getI64Type()));
        segment = true;
        continue;
      }
      Value operand = maskOperand(build, atom.a, atom.aDims, rank - 1);
      if (!atom.visible)
        operand = NotOp::create(builder, build.loc, operand);
      key = key ? AndOp::create(builder, build.loc, key, operand).getY() : operand;
    }
    if (key)
      maskOperands.push_back(key);
    maskOperands.append(segments);
    auto mask = MaskAttr::get(builder.getContext(), scores.causal, scores.offset, scores.windowLeft,
                              static_cast<bool>(key), segment);
    // A row that always sees a key needs no meaning of an empty one.
    bool mayBeEmpty = key || segment || (scores.causal && scores.offset < 0);
    EmptyRow empty = EmptyRow::uniform;
    if (mayBeEmpty && std::isinf(scores.fill))
      empty = guarded ? EmptyRow::zero : EmptyRow::nan;

    Dims outShape(shapeOf(qs).drop_back()), lseShape;
    outShape.push_back(shapeOf(vs).back());
    lseShape = without(outShape, {1, static_cast<int64_t>(outShape.size()) - 1});
    lseShape.push_back(outShape[1]);
    auto attention = AttentionOp::create(
        builder, build.loc, withShape(qs.getType(), outShape), withShape(qs.getType(), lseShape), qs, ks, vs, Value(),
        maskOperands, mask, llvm::APFloat(scores.scale * q.scale * k.scale), llvm::APFloat(scores.softcap), empty);

    // Back to the order of the product that this replaces.
    std::string have = std::string{b, t} + heads + outer;
    Dims split(ArrayRef(outShape).drop_back()), permutation;
    for (char letter : outer)
      split.push_back(shapeOf(v.value)[v.letters.find(letter)]);
    for (char letter : out)
      permutation.push_back(have.find(letter));
    Value y = build.transpose(build.reshape(attention.getOut(), split), permutation);
    weighted.getY().replaceAllUsesWith(y);
  }

  SoftmaxOp softmax;
  ScoreMemory &memory;
  int64_t rank;
  bool guarded = false;
  Value probabilities;
  ContractOp weighted;
  Scores scores;
  Operand q, k, v;
  /// Letters: sample, head, group or 0, query, key.
  char b = 0, h = 0, group = 0, t = 0, s = 0;
  std::string inner, outer, out;
};
} // namespace

void recoverAttention(func::FuncOp function) {
  SmallVector<SoftmaxOp> anchors(function.getOps<SoftmaxOp>());
  ScoreMemory memory;
  for (SoftmaxOp anchor : anchors)
    if (!anchor->use_empty())
      AttentionRecovery(anchor, memory).run();
}

} // namespace dtcc::graph
