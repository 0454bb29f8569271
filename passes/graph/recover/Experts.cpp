//===- Experts.cpp - Mixture of experts from gathered or dense exports
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exports write an expert layer in two ways: gathering the weights of the experts that a
// token picked, or running all experts on all tokens and weighting what was not picked by
// zero. Both are a function of the tokens, the picks, their weights and two stacked
// parameters, so both are one region: found by data flow from a top_k, and evaluated on a
// few small tokens against the formula. Everything from logits to weights stays as it is,
// so routers of all kinds need no pattern.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/Recover.h"
#include "passes/graph/recover/SmallRegion.h"
#include <cmath>

using namespace mlir;

namespace dtcc::graph {

namespace {

/// One way to read a region as an expert layer: which dimension of the parameters is what.
struct Reading {
  Value x, wIn, wOut;
  /// [experts, gate or up, width, channels] and [experts, channels out, width] of wIn and wOut.
  Dims in, out;
};

class ExpertsRecovery {
public:
  explicit ExpertsRecovery(TopKOp pick) : pick(pick), tokens(rankOf(pick.getX()) - 1) {}

  void run() {
    // Later values first: weights are normalised after they are picked.
    SmallVector<Value> candidates = weights();
    for (Value picked : llvm::reverse(candidates))
      for (Value root : tokenValues(picked))
        for (Value x : inputs())
          if (recover(x, picked, root))
            return;
  }

private:
  /// Whether the value has a cell for each pick, or one for each pick and expert, whose dimension may be factored.
  bool isOfPicks(Value value) {
    ArrayRef<int64_t> shape = shapeOf(value), picks = shapeOf(pick.getIndices());
    if (shape.size() < picks.size() || shape.take_front(picks.size()) != picks)
      return false;
    int64_t rest = product(shape.drop_front(picks.size()));
    return rest == 1 || rest == shapeOf(pick.getX()).back();
  }

  /// Candidates for the weights of the picks. They have the type of the picked values, and are computed from these. A
  /// router that picks by other scores than it weighs by computes them from the picks' positions.
  SmallVector<Value> weights() {
    Type type = pick.getValues().getType();
    llvm::SetVector<Value> seen;
    seen.insert(pick.getValues());
    seen.insert(pick.getIndices());
    for (size_t i = 0; i < seen.size() && seen.size() < 48; ++i)
      for (Operation *user : seen[i].getUsers())
        for (Value result : user->getResults())
          if (isOfPicks(result))
            seen.insert(result);
    SmallVector<Value> found;
    llvm::copy_if(seen, std::back_inserter(found), [&](Value value) { return value.getType() == type; });
    return found;
  }

  /// A sum over experts is some ops long for each of them.
  size_t mostOps() { return 64 + 32 * shapeOf(pick.getX()).back(); }

  /// Whether the value is one vector a token.
  bool isTokenValue(Value value) {
    ArrayRef<int64_t> shape = shapeOf(value), routed = shapeOf(pick.getX());
    return isFloat(value) && int64_t(shape.size()) == tokens + 1 &&
           shape.take_front(tokens) == routed.take_front(tokens);
  }

  /// Vectors a token that are computed from `picked`, nearest first.
  SmallVector<Value> tokenValues(Value picked) {
    llvm::SetVector<Value> seen;
    seen.insert(picked);
    SmallVector<Value> found;
    for (size_t i = 0; i < seen.size() && seen.size() < mostOps(); ++i)
      for (Operation *user : seen[i].getUsers())
        for (Value result : user->getResults())
          if (seen.insert(result) && isTokenValue(result) && result.getType() != pick.getValues().getType())
            found.push_back(result);
    return found;
  }

  /// Vectors a token that the router reads, nearest first.
  SmallVector<Value> inputs() {
    llvm::SetVector<Value> seen;
    seen.insert(pick.getX());
    SmallVector<Value> found;
    for (size_t i = 0; i < seen.size() && found.size() < 4 && seen.size() < 24; ++i) {
      if (seen[i] != pick.getX() && isTokenValue(seen[i]) && seen[i].getType() != pick.getX().getType())
        found.push_back(seen[i]);
      if (Operation *op = seen[i].getDefiningOp())
        seen.insert(op->operand_begin(), op->operand_end());
    }
    return found;
  }

  bool recover(Value x, Value picked, Value root) {
    std::optional<SmallRegion> region = SmallRegion::between({x, pick.getIndices(), picked}, root, mostOps());
    if (!region || region->parameters().size() != 2 || !region->isClosed())
      return false;
    for (const Reading &reading : readings(*region, x, picked, root))
      if (computes(*region, reading, picked, root)) {
        replace(reading, picked, root);
        return true;
      }
    return false;
  }

  /// The readings that sizes and common dimensions allow.
  SmallVector<Reading> readings(SmallRegion &region, Value x, Value picked, Value root) {
    SmallVector<Reading> found;
    int64_t experts = shapeOf(pick.getX()).back();
    // A dimension of one cell, as that of a single pick, is reshaped away, and has a class of its own.
    for (int64_t dim = 0; dim <= tokens; ++dim)
      if (shapeOf(picked)[dim] != 1 && region.classOf(picked, dim) != region.classOf(pick.getIndices(), dim))
        return found;
    for (int64_t dim = 0; dim < tokens; ++dim)
      if (shapeOf(x)[dim] != 1 && (region.classOf(x, dim) != region.classOf(root, dim) ||
                                   region.classOf(x, dim) != region.classOf(pick.getIndices(), dim)))
        return found;
    auto find = [&](Value value, unsigned wanted) {
      for (int64_t dim = 0; dim < rankOf(value); ++dim)
        if (region.classOf(value, dim) == wanted)
          return dim;
      return int64_t(-1);
    };
    for (auto [wIn, wOut] : {std::pair(region.parameters()[0], region.parameters()[1]),
                             std::pair(region.parameters()[1], region.parameters()[0])}) {
      if (rankOf(wIn) != 4 || rankOf(wOut) != 3)
        continue;
      int64_t channels = find(wIn, region.classOf(x, tokens)), result = find(wOut, region.classOf(root, tokens));
      for (int64_t width = 0; width < 3 && channels >= 0 && result >= 0; ++width) {
        int64_t stacked = 3 - result - width, wide = find(wIn, region.classOf(wOut, width));
        if (width == result || wide < 0 || wide == channels || shapeOf(wOut)[stacked] != experts)
          continue;
        for (int64_t pair = 0; pair < 4; ++pair) {
          int64_t expert = 6 - channels - wide - pair;
          if (pair == channels || pair == wide || expert == pair || shapeOf(wIn)[pair] != 2 ||
              shapeOf(wIn)[expert] != experts)
            continue;
          found.push_back({x, wIn, wOut, {expert, pair, wide, channels}, {stacked, result, width}});
        }
      }
    }
    return found;
  }

  /// Whether the region gives what the formula gives, on tokens drawn at random.
  bool computes(SmallRegion &region, const Reading &reading, Value picked, Value root) {
    constexpr unsigned kTrials = 3;
    for (unsigned trial = 0; trial < kTrials; ++trial) {
      // The last tokens are large: bounds of gates and of what they multiply show there alone.
      const double height = trial + 1 == kTrials ? 1e4 : 1;
      SmallValues values;
      unsigned seed = 7 + 131 * trial;
      auto draw = [&] { return ((seed = seed * 1103515245u + 12345u) >> 16 & 0x3ff) / 512.0 - 1; };
      for (Value value : {reading.x, picked, reading.wIn, reading.wOut}) {
        HostTensor tensor = region.small(value);
        for (double &cell : tensor.floats)
          cell = draw() * (value == reading.x ? height : 1);
        values[value] = std::move(tensor);
      }
      HostTensor ids = region.small(pick.getIndices());
      int64_t count = ids.shape.back(), experts = shapeOf(pick.getX()).back();
      for (int64_t i = 0; i < ids.size(); ++i)
        ids.ints[i] = (i / count * 5 + trial + i % count * (1 + i / count % (experts - 1))) % experts;
      // All picks of a token differ, as those of top_k.
      for (int64_t i = 0; i < ids.size(); ++i)
        for (int64_t before = i / count * count; before < i;)
          if (ids.ints[before] == ids.ints[i])
            ids.ints[i] = (ids.ints[i] + 1) % experts, before = i / count * count;
          else
            ++before;
      values[pick.getIndices()] = ids;
      HostTensor expected = formula(reading, values, ids, picked, region.small(root));
      std::optional<HostTensor> got = region.evaluate(values);
      if (!got || got->shape != expected.shape)
        return false;
      for (auto [a, b] : llvm::zip_equal(got->floats, expected.floats))
        if (!(std::fabs(a - b) <= 1e-6 * (1 + std::fabs(b))))
          return false;
    }
    return true;
  }

  /// y = sum_k weight * w_out (silu(gate) * up). It stands here a second time on purpose: it judges what
  /// the file says, not what our op says.
  HostTensor formula(const Reading &reading, SmallValues &values, const HostTensor &ids, Value picked,
                     HostTensor y) const {
    const HostTensor &x = values[reading.x], &wIn = values[reading.wIn], &wOut = values[reading.wOut];
    int64_t count = ids.shape.back(), channels = x.shape.back(), out = y.shape.back();
    int64_t width = wOut.shape[reading.out[2]];
    auto cell = [](const HostTensor &tensor, ArrayRef<int64_t> dims, ArrayRef<int64_t> index) {
      return tensor.floats[positionOf(index, at(tensor.strides(), dims))];
    };
    for (int64_t row = 0; row < ids.size(); ++row) {
      int64_t token = row / count, expert = ids.ints[row];
      for (int64_t f = 0; f < width; ++f) {
        double gate = 0, up = 0;
        for (int64_t c = 0; c < channels; ++c) {
          gate += x.floats[token * channels + c] * cell(wIn, reading.in, {expert, 0, f, c});
          up += x.floats[token * channels + c] * cell(wIn, reading.in, {expert, 1, f, c});
        }
        double active = gate / (1 + std::exp(-gate)) * up * values[picked].floats[row];
        for (int64_t d = 0; d < out; ++d)
          y.floats[token * out + d] += active * cell(wOut, reading.out, {expert, d, f});
      }
    }
    return y;
  }

  void replace(const Reading &reading, Value picked, Value root) {
    OpBuilder builder(root.getDefiningOp());
    Build b(builder, root.getLoc());
    Value wIn = b.transpose(reading.wIn, reading.in), wOut = b.transpose(reading.wOut, reading.out);
    Dims hidden(shapeOf(pick.getIndices()));
    hidden.append({2, shapeOf(wIn)[2]});
    auto experts = ExpertsOp::create(builder, root.getLoc(), root.getType(), withShape(root.getType(), hidden),
                                     reading.x, pick.getIndices(), picked, wIn, wOut, ArrayAttr());
    root.replaceAllUsesWith(experts.getY());
  }

  TopKOp pick;
  int64_t tokens;
};
} // namespace

void recoverExperts(func::FuncOp function) {
  SmallVector<TopKOp> anchors(function.getOps<TopKOp>());
  for (TopKOp anchor : anchors)
    // A graph that was made of sizes has its expert layers as ops.
    if (auto isLayer = [](Operation *user) { return isa<ExpertsOp>(user); };
        shapeOf(anchor.getX()).back() > 1 && llvm::none_of(anchor.getIndices().getUsers(), isLayer))
      ExpertsRecovery(anchor).run();
}

} // namespace dtcc::graph
