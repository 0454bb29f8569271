//===- Experts.cpp - Mixture of experts from gathered or dense exports
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exports write an expert layer in three ways: gathering the weights of the experts that a
// token picked, running all experts on all tokens and weighting what was not picked by
// zero, or choosing between what an expert computes and what was there before. All are a
// function of the tokens, the picks, their weights and the parameters, so all are one
// region: found by data flow from a top_k, and evaluated on a few small tokens against the
// formula. Everything from logits to weights stays as it is, so routers of all kinds need
// no pattern.
//
// The parameters are two stacked ones, three stacked ones, or three matrices of each
// expert; or two of each kind, if experts have no gate. Those of gate and up that lie
// apart and those of each expert are stacked where the op reads them.
//
// The op has no biases. One that is added before the activation is a column more of the
// first matrix, for a channel of ones; the other is weighted by picks and added to the result.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/ExpertReadings.h"
#include "passes/graph/recover/Recover.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace mlir;

namespace dtcc::graph {

namespace {

/// Computes the activated gate times up, where `up` is 1 without a gate.
double activated(ExpertActivation activation, double gate, double up) {
  const double positive = std::fmax(gate, 0), limited = std::fmin(gate, 7);
  switch (activation) {
  case ExpertActivation::silu:
    return gate / (1 + std::exp(-gate)) * up;
  case ExpertActivation::gelu:
    return gate * std::erfc(-gate / std::sqrt(2)) / 2 * up;
  case ExpertActivation::gelu_tanh:
    return gate / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (gate + 0.044715 * gate * gate * gate))) * up;
  case ExpertActivation::relu:
    return positive * up;
  case ExpertActivation::relu_squared:
    return positive * positive * up;
  case ExpertActivation::clamped_swish:
    return limited / (1 + std::exp(-1.702 * limited)) * (std::fmin(std::fmax(up, -7), 7) + 1);
  }
  llvm_unreachable("all activations are listed");
}

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
  size_t mostOps() { return 64 + 64 * shapeOf(pick.getX()).back(); }

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

  /// Vectors a token that the experts may read: those that the router does, and behind them what else is made of these,
  /// as a norm of the experts' own in Gemma 4.
  SmallVector<Value> inputs() {
    SmallVector<Value> found = routed();
    for (size_t i = 0, count = found.size(); i < count; ++i)
      for (Operation *user : found[i].getUsers())
        for (Value result : user->getResults())
          if (isTokenValue(result) && result.getType() != pick.getX().getType() && found.size() < 12 &&
              !llvm::is_contained(found, result))
            found.push_back(result);
    return found;
  }

  /// Vectors a token that the router reads, nearest first.
  SmallVector<Value> routed() {
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
    // Two or three matrices with or without biases, of all experts or of each.
    if (!region || region->parameters().size() < 2 || int64_t(region->parameters().size()) > 6 * experts() ||
        !region->isClosed())
      return false;
    const bool onePick = shapeOf(pick.getIndices()).back() == 1;
    for (ExpertReading reading : readings(*region, x, picked, root))
      for (ExpertWeighing weighing :
           {ExpertWeighing::AsTheyAre, ExpertWeighing::Softmax, ExpertWeighing::Shares, ExpertWeighing::Logistic})
        for (bool entering : {false, true}) {
          reading.weighing = weighing;
          reading.entering = entering;
          if ((weighing != ExpertWeighing::AsTheyAre && picked != pick.getValues()) || (entering && !onePick) ||
              !findActivation(*region, reading, picked, root))
            continue;
          replace(reading, picked, root);
          return true;
        }
    return false;
  }

  int64_t experts() { return shapeOf(pick.getX()).back(); }

  /// The readings that sizes and common dimensions allow.
  std::vector<ExpertReading> readings(SmallRegion &region, Value x, Value picked, Value root) {
    // A dimension of one cell, as that of a single pick, is reshaped away, and has a class of its own.
    for (int64_t dim = 0; dim <= tokens; ++dim)
      if (shapeOf(picked)[dim] != 1 && region.classOf(picked, dim) != region.classOf(pick.getIndices(), dim))
        return {};
    for (int64_t dim = 0; dim < tokens; ++dim)
      if (shapeOf(x)[dim] != 1 && (region.classOf(x, dim) != region.classOf(root, dim) ||
                                   region.classOf(x, dim) != region.classOf(pick.getIndices(), dim)))
        return {};
    std::vector<ExpertReading> found =
        readExperts(region, experts(), region.classOf(x, tokens), region.classOf(root, tokens));
    for (ExpertReading &reading : found)
      reading.x = x;
    return found;
  }

  /// Experts that the tokens of a trial pick, all different, as those of top_k. Over the trials each is picked first.
  HostTensor drawPicks(HostTensor ids, int64_t trial) {
    int64_t count = ids.shape.back(), rows = ids.size() / count;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t first = (trial * rows + row) % experts(), step = 1 + row % (experts() - 1);
      for (int64_t i = 0; i < count; ++i) {
        int64_t &id = ids.ints[row * count + i];
        id = (first + i * step) % experts();
        auto taken = [&] { return llvm::is_contained(ArrayRef(ids.ints).slice(row * count, i), id); };
        while (taken())
          id = (id + 1) % experts();
      }
    }
    return ids;
  }

  /// Finds the activation with which the formula gives what the region gives, on tokens drawn at random.
  bool findActivation(SmallRegion &region, ExpertReading &reading, Value picked, Value root) {
    SmallVector<ExpertActivation> left;
    for (uint32_t number = 0; number <= getMaxEnumValForExpertActivation(); ++number)
      if (auto kind = ExpertActivation(number); kind != ExpertActivation::clamped_swish || !reading.up.empty())
        left.push_back(kind);
    HostTensor ids = region.small(pick.getIndices());
    // Experts that share their parameters are alike; others have to be picked.
    int64_t rows = ids.size() / ids.shape.back();
    const int64_t trials = std::max<int64_t>(3, reading.gate.size() == 1 ? 0 : llvm::divideCeil(experts(), rows));
    for (int64_t trial = 0; trial < trials; ++trial) {
      // The last tokens are large: bounds of gates and of what they multiply show there alone.
      const double height = trial + 1 == trials ? 1e4 : 1;
      // Small sums show what is added to a divisor.
      const double scale = trial == 1 && reading.weighing == ExpertWeighing::Shares ? 1e-7 : 1;
      SmallValues values;
      unsigned seed = 7 + 131 * trial;
      auto draw = [&] { return ((seed = seed * 1103515245u + 12345u) >> 16 & 0x3ff) / 512.0 - 1; };
      SmallVector<Value> drawn = {reading.x, picked};
      drawn.append(reading.parameters());
      for (Value value : drawn) {
        HostTensor tensor = region.small(value);
        for (double &cell : tensor.floats)
          cell = draw() * (value == reading.x ? height : value == picked ? scale : 1);
        values[value] = std::move(tensor);
      }
      values[pick.getIndices()] = ids = drawPicks(std::move(ids), trial);
      std::optional<HostTensor> got = region.evaluate(values);
      llvm::erase_if(left, [&](ExpertActivation activation) {
        reading.activation = activation;
        return !got || !areNear(*got, formula(reading, values, ids, values[picked], region.small(root)));
      });
      if (left.empty())
        return false;
    }
    reading.activation = left.front();
    return true;
  }

  static bool areNear(const HostTensor &got, const HostTensor &expected) {
    return got.shape == expected.shape && llvm::all_of(llvm::zip_equal(got.floats, expected.floats), [](auto pair) {
             auto [a, b] = pair;
             return std::fabs(a - b) <= 1e-6 * (1 + std::fabs(b));
           });
  }

  /// The weights of picks, given their values.
  static HostTensor weightsOf(HostTensor values, ExpertWeighing weighing) {
    int64_t count = values.shape.back();
    for (int64_t row = 0; row < values.size(); row += count) {
      MutableArrayRef<double> cells = MutableArrayRef(values.floats).slice(row, count);
      double sum = 0;
      for (double &cell : cells) {
        if (weighing == ExpertWeighing::Logistic)
          cell = 1 / (1 + std::exp(-cell));
        else if (weighing == ExpertWeighing::Softmax)
          cell = std::exp(cell);
        sum += cell;
      }
      for (double &cell : cells)
        if (weighing == ExpertWeighing::Softmax || weighing == ExpertWeighing::Shares)
          cell /= sum;
    }
    return values;
  }

  /// y = sum_k weight * w_out (activation(gate) * up). It stands here a second time on purpose: it judges what
  /// the file says, not what our op says.
  HostTensor formula(const ExpertReading &reading, SmallValues &values, const HostTensor &ids, const HostTensor &picked,
                     HostTensor y) const {
    const HostTensor &x = values[reading.x], weights = weightsOf(picked, reading.weighing);
    int64_t count = ids.shape.back(), channels = x.shape.back(), out = y.shape.back();
    for (int64_t row = 0; row < ids.size(); ++row) {
      int64_t token = row / count, expert = ids.ints[row];
      const double weight = weights.floats[row], enters = reading.entering ? weight : 1,
                   leaves = reading.entering ? 1 : weight;
      auto biased = [&](ArrayRef<ExpertPart> parts, int64_t r) {
        if (parts.empty())
          return 0.0;
        const ExpertPart &part = ExpertReading::of(parts, expert);
        return part.cell(values[part.parameter], expert, r);
      };
      auto product = [&](ArrayRef<ExpertPart> parts, ArrayRef<ExpertPart> bias, int64_t f) {
        const ExpertPart &part = ExpertReading::of(parts, expert);
        const HostTensor &matrix = values[part.parameter];
        double sum = biased(bias, f);
        for (int64_t c = 0; c < channels; ++c)
          sum += enters * x.floats[token * channels + c] * part.cell(matrix, expert, f, c);
        return sum;
      };
      const ExpertPart &outOf = ExpertReading::of(reading.out, expert);
      const HostTensor &wOut = values[outOf.parameter];
      for (int64_t f = 0; f < wOut.shape[outOf.column]; ++f) {
        double up = reading.up.empty() ? 1 : product(reading.up, reading.upBias, f);
        double gate = product(reading.gate, reading.gateBias, f);
        double active = activated(reading.activation, gate, up) * leaves;
        for (int64_t d = 0; d < out; ++d)
          y.floats[token * out + d] += active * outOf.cell(wOut, expert, d, f);
      }
      for (int64_t d = 0; d < out; ++d)
        y.floats[token * out + d] += leaves * biased(reading.outBias, d);
    }
    return y;
  }

  /// The dimensions, in this order, that a parameter has.
  static Dims present(ArrayRef<int64_t> dims) {
    return llvm::filter_to_vector<6>(dims, [](int64_t dim) { return dim >= 0; });
  }

  /// The parameters of one of the three matrices as one value [experts, row, column], or of its bias [experts, row].
  static Value stacked(Build &b, ArrayRef<ExpertPart> parts) {
    SmallVector<Value> each;
    for (const ExpertPart &part : parts)
      each.push_back(b.transpose(part.parameter, present({part.expert, part.row, part.column})));
    return parts[0].expert >= 0 ? each[0] : stack(b, each, 0);
  }

  static Value stack(Build &b, ArrayRef<Value> values, int64_t dim) {
    Dims shape(shapeOf(values[0]));
    shape.insert(shape.begin() + dim, values.size());
    return StackOp::create(b.builder, b.loc, withShape(values[0].getType(), shape), values, dim);
  }

  /// [experts, gate and up, width, channels], or their biases [experts, gate and up, width].
  static Value inOf(Build &b, ArrayRef<ExpertPart> gates, ArrayRef<ExpertPart> ups) {
    const ExpertPart &gate = gates[0];
    if (ups.empty())
      return stack(b, {stacked(b, gates)}, 1);
    if (gate.pair < 0)
      return stack(b, {stacked(b, gates), stacked(b, ups)}, 1);
    Value both = b.transpose(gate.parameter, present({gate.expert, gate.pair, gate.row, gate.column}));
    if (gate.place == 0)
      return both;
    Dims shape(shapeOf(both));
    shape.erase(shape.begin() + 1);
    Type half = withShape(both.getType(), shape);
    auto halves = UnstackOp::create(b.builder, b.loc, TypeRange{half, half}, both, 1);
    return stack(b, {halves.getResult(1), halves.getResult(0)}, 1);
  }

  /// A value with `count` cells more at the end of its last dimension: `first`, and zeros behind it.
  static Value extended(Build &b, Value x, double first, int64_t count) {
    for (auto [cell, cells] : {std::pair<double, int64_t>(first, 1), std::pair<double, int64_t>(0, count - 1)}) {
      Dims shape(shapeOf(x)), low(shape.size(), 0), high(shape.size(), 0);
      shape.back() += high.back() = cells;
      x = PadOp::create(b.builder, b.loc, withShape(x.getType(), shape), x, low, high, APFloat(cell));
    }
    return x;
  }

  /// sum_k weights[k] * bias[ids[k]], for a bias [experts, channels].
  Value biasOfPicks(Build &b, Value weights, Value bias, Type type) {
    Dims shape(shapeOf(weights));
    shape.push_back(experts());
    Type ids = withShape(pick.getIndices().getType(), shape), cells = withShape(weights.getType(), shape);
    Value numbers = IotaOp::create(b.builder, b.loc, ids, tokens + 1, 0, 1, ArrayAttr());
    Value isPicked = b.compare(Predicate::eq, b.broadcast(pick.getIndices(), ids, range(0, tokens + 1)), numbers);
    Value given = b.broadcast(weights, cells, range(0, tokens + 1));
    Value all = b.sum(b.select(isPicked, given, b.splat(cells, 0)), {tokens});
    std::string letters = StringRef("mnopqrstuvwxyz").take_front(tokens).str();
    return ContractOp::create(b.builder, b.loc, type, letters + "e,ed->" + letters + "d", all, bias);
  }

  void replace(const ExpertReading &reading, Value picked, Value root) {
    OpBuilder builder(root.getDefiningOp());
    Build b(builder, root.getLoc());
    Value x = reading.x, wIn = inOf(b, reading.gate, reading.up), wOut = stacked(b, reading.out), weights = picked;
    if (reading.weighing == ExpertWeighing::Softmax)
      weights = SoftmaxOp::create(builder, root.getLoc(), picked, ArrayRef<int64_t>{tokens});
    else if (reading.weighing == ExpertWeighing::Shares)
      weights = b.div(picked, b.broadcast(b.sum(picked, {tokens}), picked.getType(), range(0, tokens)));
    else if (reading.weighing == ExpertWeighing::Logistic)
      weights = LogisticOp::create(builder, root.getLoc(), picked);
    if (reading.entering) {
      Value each = b.broadcast(b.sum(weights, {tokens}), x.getType(), range(0, tokens));
      x = b.mul(x, each);
      weights = b.splat(weights, 1);
    }
    if (!reading.gateBias.empty()) {
      // One channel would do; eight leave rows where vectors and GPUs want them.
      const int64_t more = 8;
      Dims shape(shapeOf(wIn));
      shape.back() = 1;
      Value bias = extended(b, b.reshape(inOf(b, reading.gateBias, reading.upBias), shape), 0, more - 1);
      shape.back() = shapeOf(wIn).back() + more;
      wIn = ConcatOp::create(builder, root.getLoc(), withShape(wIn.getType(), shape), ValueRange{wIn, bias},
                             shape.size() - 1);
      x = extended(b, x, 1, more);
    }
    Dims hidden(shapeOf(pick.getIndices()));
    hidden.append({shapeOf(wIn)[1], shapeOf(wIn)[2]});
    auto experts = ExpertsOp::create(builder, root.getLoc(), root.getType(), withShape(root.getType(), hidden), x,
                                     pick.getIndices(), weights, wIn, wOut, ArrayAttr(), reading.activation);
    Value y = experts.getY();
    if (!reading.outBias.empty())
      y = b.add(y, biasOfPicks(b, weights, stacked(b, reading.outBias), y.getType()));
    root.replaceAllUsesWith(y);
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
