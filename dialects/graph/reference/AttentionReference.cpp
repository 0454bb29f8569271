//===- AttentionReference.cpp - The meaning of attention and rotary embedding
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/reference/AttentionReference.h"
#include "dialects/graph/Shapes.h"
#include "dialects/graph/Shard.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

namespace {
/// One attention, with or without grouped heads (then g = 1).
class Attention {
public:
  explicit Attention(const AttentionCase &in)
      : in(in), b(in.q.shape[0]), t(in.q.shape[1]), h(in.q.shape[2]), g(in.q.rank() == 5 ? in.q.shape[3] : 1),
        d(in.q.shape.back()), s(in.k.shape[1]), e(in.v.shape.back()) {}

  /// Positions of the first cell of a row.
  int64_t qRow(int64_t ib, int64_t it, int64_t ih, int64_t ig) const { return (((ib * t + it) * h + ih) * g + ig) * d; }
  int64_t outRow(int64_t ib, int64_t it, int64_t ih, int64_t ig) const {
    return (((ib * t + it) * h + ih) * g + ig) * e;
  }
  int64_t kRow(int64_t ib, int64_t is, int64_t ih) const { return ((ib * s + is) * h + ih) * d; }
  int64_t vRow(int64_t ib, int64_t is, int64_t ih) const { return ((ib * s + is) * h + ih) * e; }
  int64_t lseCell(int64_t ib, int64_t it, int64_t ih, int64_t ig) const { return ((ib * h + ih) * g + ig) * t + it; }

  bool exists(int64_t is) const { return in.keyPositions[is] >= 0; }
  bool visible(int64_t ib, int64_t it, int64_t is) const {
    int64_t i = in.queryPositions[it], j = in.keyPositions[is];
    if (j < 0 || (in.mask.getCausal() && j > i + in.mask.getOffset()))
      return false;
    if (in.mask.getWindowLeft() > 0 && i - j >= in.mask.getWindowLeft())
      return false;
    size_t next = 0;
    if (in.mask.getKey() && !in.maskOperands[next++].ints[ib * s + is])
      return false;
    return !in.mask.getSegment() ||
           in.maskOperands[next].ints[ib * t + it] == in.maskOperands[next + 1].ints[ib * s + is];
  }

  /// scale * q k^T before the soft cap.
  double scaled(int64_t ib, int64_t it, int64_t is, int64_t ih, int64_t ig) const {
    double dot = 0;
    int64_t a = qRow(ib, it, ih, ig), c = kRow(ib, is, ih);
    for (int64_t i = 0; i < d; ++i)
      dot += in.q.floats[a + i] * in.k.floats[c + i];
    return in.scale * dot;
  }
  double capped(double score) const { return in.softcap > 0 ? in.softcap * std::tanh(score / in.softcap) : score; }
  /// The slope of the cap at a scaled score.
  double capSlope(double score) const {
    double t = in.softcap > 0 ? std::tanh(score / in.softcap) : 0;
    return 1 - t * t;
  }
  double keysHere() const {
    return llvm::count_if(in.keyPositions, [](int64_t position) { return position >= 0; });
  }
  /// Weight that a row without allowed keys gives each of `keys` values.
  double whenEmpty(double keys) const {
    return in.emptyRow == EmptyRow::uniform ? 1 / keys : in.emptyRow == EmptyRow::zero ? 0 : NAN;
  }

  void forEachQuery(llvm::function_ref<void(int64_t, int64_t, int64_t, int64_t)> body) const {
    for (int64_t ib = 0; ib < b; ++ib)
      for (int64_t it = 0; it < t; ++it)
        for (int64_t ih = 0; ih < h && in.queryPositions[it] >= 0; ++ih)
          for (int64_t ig = 0; ig < g; ++ig)
            body(ib, it, ih, ig);
  }

private:
  const AttentionCase &in;

public:
  const int64_t b, t, h, g, d, s, e;
};
} // namespace

void dtcc::graph::evaluateAttention(const AttentionCase &in, const HostTensor *bias, const HostTensor *ontoOut,
                                    const HostTensor *ontoLse, HostTensor &out, HostTensor &lse) {
  Attention a(in);
  a.forEachQuery([&](int64_t b, int64_t t, int64_t h, int64_t g) {
    std::vector<double> score(a.s, -INFINITY);
    int64_t cell = a.lseCell(b, t, h, g), row = a.outRow(b, t, h, g);
    // Earlier parts count as one more key, whose value is the mean so far.
    double before = ontoLse && ontoLse->floats[cell] != INFINITY ? ontoLse->floats[cell] : -INFINITY;
    double top = before, sum = 0;
    for (int64_t s = 0; s < a.s; ++s) {
      if (!a.visible(b, t, s))
        continue;
      score[s] = a.capped(a.scaled(b, t, s, h, g));
      if (bias)
        score[s] += bias->floats[((h * a.g + g) * a.t + t) * a.s + s];
      top = std::max(top, score[s]);
    }
    bool empty = top == -INFINITY;
    for (int64_t s = 0; s < a.s && !empty; ++s)
      sum += std::exp(score[s] - top);
    double kept = empty ? 0 : std::exp(before - top);
    sum += kept;
    double keys = in.keysBefore + a.keysHere();
    if (empty && in.emptyRow == EmptyRow::uniform)
      kept = keys > 0 ? in.keysBefore / keys : 0;
    else if (!empty)
      kept /= sum;
    for (int64_t e = 0; e < a.e && ontoOut && kept != 0; ++e)
      out.floats[row + e] = kept * ontoOut->floats[row + e];
    for (int64_t s = 0; s < a.s; ++s) {
      double p = !a.exists(s) ? 0 : empty ? a.whenEmpty(keys) : std::exp(score[s] - top) / sum;
      for (int64_t e = 0; e < a.e && a.exists(s); ++e)
        out.floats[row + e] += p * in.v.floats[a.vRow(b, s, h) + e];
    }
    lse.floats[cell] = empty ? INFINITY : top + std::log(sum);
  });
}

void dtcc::graph::evaluateAttentionGrad(const AttentionCase &in, const HostTensor &out, const HostTensor &lse,
                                        const HostTensor &dout, Results gradients) {
  Attention a(in);
  a.forEachQuery([&](int64_t b, int64_t t, int64_t h, int64_t g) {
    int64_t qRow = a.qRow(b, t, h, g), outRow = a.outRow(b, t, h, g);
    double rowLse = lse.floats[a.lseCell(b, t, h, g)], dot = 0;
    bool empty = rowLse == INFINITY;
    for (int64_t e = 0; e < a.e; ++e)
      dot += dout.floats[outRow + e] * out.floats[outRow + e];
    for (int64_t s = 0; s < a.s; ++s) {
      if (!a.exists(s))
        continue;
      int64_t kRow = a.kRow(b, s, h), vRow = a.vRow(b, s, h);
      bool visible = a.visible(b, t, s);
      double score = visible ? a.scaled(b, t, s, h, g) : 0, p = 0, dp = 0;
      // An empty row depends on v alone, by the weight its meaning gives each key.
      if (empty)
        p = a.whenEmpty(in.keysInAll);
      else if (visible)
        p = std::exp(a.capped(score) - rowLse);
      for (int64_t e = 0; e < a.e; ++e) {
        gradients[2].floats[vRow + e] += p * dout.floats[outRow + e];
        dp += dout.floats[outRow + e] * in.v.floats[vRow + e];
      }
      if (!visible || empty)
        continue;
      double slope = p * (dp - dot) * a.capSlope(score) * in.scale;
      for (int64_t d = 0; d < a.d; ++d) {
        gradients[0].floats[qRow + d] += slope * in.k.floats[kRow + d];
        gradients[1].floats[kRow + d] += slope * in.q.floats[qRow + d];
      }
    }
  });
}

/// All keys, and queries from a shard's first on.
template <typename Op>
static AttentionCase wholeCase(Op op, Operands operands, Operands maskOperands, const EvaluationContext &context) {
  // The axes that split the queries of a shard (passes/spmd/layout/LocalForms.cpp), if any do.
  auto axes = op->template getAttrOfType<ArrayAttr>("row_axes");
  int64_t queries = operands[0].shape[1], keys = operands[1].shape[1];
  AttentionCase in{operands[0],
                   operands[1],
                   operands[2],
                   maskOperands,
                   op.getMask(),
                   op.getScale().convertToDouble(),
                   op.getSoftcap().convertToDouble(),
                   op.getEmptyRow(),
                   std::vector<int64_t>(queries),
                   std::vector<int64_t>(keys),
                   /*keysBefore=*/0,
                   /*keysInAll=*/double(keys)};
  std::iota(in.queryPositions.begin(), in.queryPositions.end(),
            shardNumber(axes ? std::optional(axes) : std::nullopt, context) * queries);
  std::iota(in.keyPositions.begin(), in.keyPositions.end(), 0);
  return in;
}

LogicalResult AttentionOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor *bias = getBias() ? &operands[3] : nullptr;
  AttentionCase in = wholeCase(*this, operands, operands.drop_front(bias ? 4 : 3), context);
  evaluateAttention(in, bias, nullptr, nullptr, results[0], results[1]);
  return success();
}

LogicalResult AttentionGradOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  AttentionCase in = wholeCase(*this, operands, operands.drop_front(3).drop_back(3), context);
  evaluateAttentionGrad(in, operands[operands.size() - 3], operands[operands.size() - 2], operands.back(), results);
  return success();
}

LogicalResult RotaryOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0], &cosine = operands[1], &sine = operands[2];
  Dims tableStrides = cosine.strides();
  int64_t pair = getPair(), stride = x.strides()[pair];
  double sign = getInverse() ? -1 : 1;
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t table = positionOf(at(index, getTableDims()), tableStrides);
    double c = cosine.floats[table], s = sign * sine.floats[table];
    // y0 = x0 c - x1 s, y1 = x1 c + x0 s.
    results[0].floats[position] = index[pair] == 0 ? x.floats[position] * c - x.floats[position + stride] * s
                                                   : x.floats[position] * c + x.floats[position - stride] * s;
  });
  return success();
}
