//===- Norms.cpp - Layer and RMS norms from reductions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/Cells.h"
#include "passes/graph/recover/Recover.h"
#include "passes/graph/recover/Region.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <random>

using namespace mlir;

namespace dtcc::graph {

namespace {

struct Meaning {
  enum Kind { None, Rms, Layer } kind = None;
  double eps = 0;
};

/// One row of the region at a scale of its input: the chosen numbers and the values there.
struct Row {
  std::vector<double> x, y;
  double mean = 0, square = 0, variance = 0;
};

/// Evaluates the first row. All its cells go in, at most 8 come out.
std::optional<Row> evaluateRow(const Region &region, ArrayRef<int64_t> dims, double scale, double shift) {
  Value input = region.inputs[0];
  Dims sizes = at(shapeOf(input), dims), strides = rowMajorStrides(sizes);
  Row row;
  std::mt19937 engine(7);
  int64_t count = product(sizes);
  for (int64_t i = 0; i < count; ++i)
    row.x.push_back(shift + scale * std::uniform_real_distribution<double>(-1, 1)(engine));
  for (double x : row.x) {
    row.mean += x / count;
    row.square += x * x / count;
  }
  for (double x : row.x)
    row.variance += (x - row.mean) * (x - row.mean) / count;
  Cells cells([&](Value value, ArrayRef<int64_t> index) -> std::optional<double> {
    if (value != input)
      return std::nullopt;
    // A region that reads another row is no norm: that row is poisoned.
    for (int64_t i = 0; i < static_cast<int64_t>(index.size()); ++i)
      if (!llvm::is_contained(dims, i) && index[i] != 0)
        return NAN;
    return row.x[positionOf(at(index, dims), strides)];
  });
  Dims index(rankOf(input), 0);
  for (int64_t i = 0; i < std::min<int64_t>(count, 8); ++i) {
    for (auto [dim, size, stride] : llvm::zip_equal(dims, sizes, strides))
      index[dim] = i / stride % size;
    std::optional<double> y = cells.at(region.root, index);
    if (!y)
      return std::nullopt;
    row.y.push_back(*y);
  }
  return row;
}

Meaning classify(const Region &region, ArrayRef<int64_t> dims) {
  // Large cells, where eps is nothing, small ones, where it is much, and a shift. Of zeros, as padding is, a norm
  // without eps makes no numbers, and a division by a norm that is bounded from below makes zeros.
  std::optional<Row> rows[] = {evaluateRow(region, dims, 1, 0.3), evaluateRow(region, dims, 1e-3, 0),
                               evaluateRow(region, dims, 1e-5, 2e-5), evaluateRow(region, dims, 1e4, 0),
                               evaluateRow(region, dims, 0, 0)};
  for (const auto &row : rows)
    if (!row)
      return {};
  for (Meaning::Kind kind : {Meaning::Rms, Meaning::Layer}) {
    auto centred = [&](const Row &row, size_t i) { return row.x[i] - (kind == Meaning::Layer ? row.mean : 0); };
    auto spread = [&](const Row &row) { return kind == Meaning::Layer ? row.variance : row.square; };
    // eps from the smallest row: (c / y)^2 = spread + eps.
    const Row &small = *rows[2];
    double ratio = centred(small, 0) / small.y[0], fit = ratio * ratio - spread(small);
    if (!(fit >= 0))
      continue;
    // The file's own constant, if one is near; else what was read.
    double eps = fit;
    for (double constant : region.constants())
      if (std::fabs(constant - fit) <= 1e-3 * fit + 1e-17)
        eps = constant;
    bool equal = true;
    for (const auto &row : rows)
      for (size_t i = 0; i < row->y.size(); ++i) {
        double expected = centred(*row, i) / std::sqrt(spread(*row) + eps);
        equal &= std::fabs(row->y[i] - expected) <= 1e-6 * (std::fabs(expected) + 1e-6);
      }
    if (equal)
      return {kind, eps};
  }
  return {};
}

/// If the only user of `value` is OP with a broadcast of a value over `dims`, that user
/// and the value.
template <typename OP> std::pair<Operation *, Value> appliedParameter(Value value, ArrayRef<int64_t> dims) {
  if (!value.hasOneUse())
    return {};
  auto user = dyn_cast<OP>(*value.user_begin());
  if (!user)
    return {};
  Value other = user.getLhs() == value ? user.getRhs() : user.getLhs();
  auto broadcast = other.template getDefiningOp<BroadcastOp>();
  if (!broadcast || broadcast.getDims() != dims || splatValue(broadcast.getX()))
    return {};
  return {user, broadcast.getX()};
}

class NormRecovery {
public:
  void recover(ReduceOp anchor) {
    ArrayRef<int64_t> dims = anchor.getDims();
    int64_t rank = rankOf(anchor.getX());
    if (dims.front() != rank - static_cast<int64_t>(dims.size()))
      return;
    for (Value input : ancestors(anchor.getX(), 12)) {
      if (input.getType() != anchor.getX().getType())
        continue;
      for (Value root : descendants(anchor.getY(), 24)) {
        if (root.getType() != input.getType())
          continue;
        std::optional<Region> region = Region::between(input, root, 32);
        if (!region || !region->contains(anchor) || !region->isClosed())
          continue;
        auto [known, fresh] = meanings.try_emplace(region->signature());
        if (fresh)
          known->second = classify(*region, dims);
        if (known->second.kind == Meaning::None)
          continue;
        replace(input, root, dims, known->second);
        return;
      }
    }
  }

private:
  void replace(Value input, Value root, ArrayRef<int64_t> dims, Meaning meaning) {
    Type parameters = withShape(input.getType(), at(shapeOf(input), dims));
    auto [scaled, scale] = appliedParameter<MulOp>(root, dims);
    Operation *last = root.getDefiningOp();
    if (scaled)
      last = scaled;
    Value bias;
    if (meaning.kind == Meaning::Layer) {
      auto [shifted, shift] = appliedParameter<AddOp>(last->getResult(0), dims);
      if (shifted) {
        last = shifted;
        bias = shift;
      }
    }
    OpBuilder builder(last);
    Build b(builder, root.getLoc());
    if (!scale)
      scale = b.splat(parameters, 1);
    Type row = withShape(input.getType(), without(shapeOf(input), dims));
    llvm::APFloat eps(meaning.eps);
    Value y;
    if (meaning.kind == Meaning::Rms) {
      y = RmsNormOp::create(builder, b.loc, input.getType(), row, input, scale, dims, eps).getY();
    } else {
      if (!bias)
        bias = b.splat(parameters, 0);
      y = LayerNormOp::create(builder, b.loc, input.getType(), row, row, input, scale, bias, dims, eps).getY();
    }
    last->getResult(0).replaceAllUsesWith(y);
  }

  llvm::StringMap<Meaning> meanings;
};
} // namespace

void recoverNorms(func::FuncOp function) {
  SmallVector<ReduceOp> anchors(function.getOps<ReduceOp>());
  NormRecovery recovery;
  for (ReduceOp anchor : anchors)
    if (!anchor->use_empty() && anchor.getKind() == Reduction::Sum && isFloat(anchor.getX()))
      recovery.recover(anchor);
}

} // namespace dtcc::graph
