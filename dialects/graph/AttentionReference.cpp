//===- AttentionReference.cpp - The meaning of attention and rotary embedding
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "dialects/graph/Shard.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

/// The axes that split the queries of a shard (passes/dist/LocalForms.cpp), if any do.
static std::optional<ArrayAttr> queryAxes(Operation *op) {
  auto axes = op->getAttrOfType<ArrayAttr>("row_axes");
  return axes ? std::optional(axes) : std::nullopt;
}

namespace {
/// One attention, with or without grouped heads (then g = 1).
class Attention {
public:
  Attention(const HostTensor &q, const HostTensor &k, const HostTensor &v, Operands maskOperands, MaskAttr mask,
            double scale, double softcap, int64_t shard)
      : q(q), k(k), maskOperands(maskOperands), mask(mask), scale(scale), softcap(softcap) {
    bool grouped = q.rank() == 5;
    b = q.shape[0], t = q.shape[1], h = q.shape[2], g = grouped ? q.shape[3] : 1, d = q.shape.back();
    s = k.shape[1], e = v.shape.back();
    first = shard * t;
  }

  /// Positions of the first cell of a row.
  int64_t qRow(int64_t ib, int64_t it, int64_t ih, int64_t ig) const { return (((ib * t + it) * h + ih) * g + ig) * d; }
  int64_t outRow(int64_t ib, int64_t it, int64_t ih, int64_t ig) const {
    return (((ib * t + it) * h + ih) * g + ig) * e;
  }
  int64_t kRow(int64_t ib, int64_t is, int64_t ih) const { return ((ib * s + is) * h + ih) * d; }
  int64_t vRow(int64_t ib, int64_t is, int64_t ih) const { return ((ib * s + is) * h + ih) * e; }
  int64_t lseCell(int64_t ib, int64_t it, int64_t ih, int64_t ig) const { return ((ib * h + ih) * g + ig) * t + it; }

  bool visible(int64_t ib, int64_t i, int64_t j) const {
    if (mask.getCausal() && j > first + i + mask.getOffset())
      return false;
    if (mask.getWindowLeft() > 0 && first + i - j >= mask.getWindowLeft())
      return false;
    size_t next = 0;
    if (mask.getKey() && !maskOperands[next++].ints[ib * s + j])
      return false;
    return !mask.getSegment() || maskOperands[next].ints[ib * t + i] == maskOperands[next + 1].ints[ib * s + j];
  }

  /// scale * q k^T before the soft cap.
  double scaled(int64_t ib, int64_t it, int64_t is, int64_t ih, int64_t ig) const {
    double dot = 0;
    int64_t a = qRow(ib, it, ih, ig), c = kRow(ib, is, ih);
    for (int64_t i = 0; i < d; ++i)
      dot += q.floats[a + i] * k.floats[c + i];
    return scale * dot;
  }
  double capped(double score) const { return softcap > 0 ? softcap * std::tanh(score / softcap) : score; }
  /// The slope of the cap at a scaled score.
  double capSlope(double score) const {
    double t = softcap > 0 ? std::tanh(score / softcap) : 0;
    return 1 - t * t;
  }

  void forEachQuery(llvm::function_ref<void(int64_t, int64_t, int64_t, int64_t)> body) const {
    for (int64_t ib = 0; ib < b; ++ib)
      for (int64_t it = 0; it < t; ++it)
        for (int64_t ih = 0; ih < h; ++ih)
          for (int64_t ig = 0; ig < g; ++ig)
            body(ib, it, ih, ig);
  }

  int64_t b, t, h, g, d, s, e;

private:
  const HostTensor &q, &k;
  Operands maskOperands;
  MaskAttr mask;
  double scale, softcap;
  int64_t first; // the position of query 0
};
} // namespace

LogicalResult AttentionOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &v = operands[2], *bias = getBias() ? &operands[3] : nullptr;
  Attention a(operands[0], operands[1], v, operands.drop_front(bias ? 4 : 3), getMask(), getScale().convertToDouble(),
              getSoftcap().convertToDouble(), shardNumber(queryAxes(*this), context));
  a.forEachQuery([&](int64_t b, int64_t t, int64_t h, int64_t g) {
    std::vector<double> score(a.s, -INFINITY);
    double top = -INFINITY, sum = 0;
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
    double whenEmpty = getEmptyRow() == EmptyRow::uniform ? 1.0 / a.s : getEmptyRow() == EmptyRow::zero ? 0 : NAN;
    for (int64_t s = 0; s < a.s; ++s) {
      double p = empty ? whenEmpty : std::exp(score[s] - top) / sum;
      for (int64_t e = 0; e < a.e; ++e)
        results[0].floats[a.outRow(b, t, h, g) + e] += p * v.floats[a.vRow(b, s, h) + e];
    }
    results[1].floats[a.lseCell(b, t, h, g)] = empty ? INFINITY : top + std::log(sum);
  });
  return success();
}

LogicalResult AttentionGradOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &q = operands[0], &k = operands[1], &v = operands[2];
  Operands maskOperands = operands.drop_front(3).drop_back(3);
  const HostTensor &out = operands[operands.size() - 3], &lse = operands[operands.size() - 2], &dout = operands.back();
  double scale = getScale().convertToDouble();
  Attention a(q, k, v, maskOperands, getMask(), scale, getSoftcap().convertToDouble(),
              shardNumber(queryAxes(*this), context));
  a.forEachQuery([&](int64_t b, int64_t t, int64_t h, int64_t g) {
    int64_t qRow = a.qRow(b, t, h, g), outRow = a.outRow(b, t, h, g);
    double rowLse = lse.floats[a.lseCell(b, t, h, g)], dot = 0;
    bool empty = rowLse == INFINITY;
    for (int64_t e = 0; e < a.e; ++e)
      dot += dout.floats[outRow + e] * out.floats[outRow + e];
    for (int64_t s = 0; s < a.s; ++s) {
      int64_t kRow = a.kRow(b, s, h), vRow = a.vRow(b, s, h);
      bool visible = a.visible(b, t, s);
      double score = visible ? a.scaled(b, t, s, h, g) : 0, p = 0, dp = 0;
      // An empty row depends on v alone, by the weight its meaning gives each key.
      if (empty)
        p = getEmptyRow() == EmptyRow::uniform ? 1.0 / a.s : getEmptyRow() == EmptyRow::zero ? 0 : NAN;
      else if (visible)
        p = std::exp(a.capped(score) - rowLse);
      for (int64_t e = 0; e < a.e; ++e) {
        results[2].floats[vRow + e] += p * dout.floats[outRow + e];
        dp += dout.floats[outRow + e] * v.floats[vRow + e];
      }
      if (!visible || empty)
        continue;
      double slope = p * (dp - dot) * a.capSlope(score) * scale;
      for (int64_t d = 0; d < a.d; ++d) {
        results[0].floats[qRow + d] += slope * k.floats[kRow + d];
        results[1].floats[kRow + d] += slope * q.floats[qRow + d];
      }
    }
  });
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
