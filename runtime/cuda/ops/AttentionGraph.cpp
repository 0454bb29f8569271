//===- AttentionGraph.cpp - Attention as operations of cuDNN
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/AttentionGraph.h"

#include "runtime/abi/GpuWorkspace.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace dtcc::rt::cuda {

using namespace dnn;

namespace {

using Tensor = CudnnGraph::Tensor;

/// Row r sees key j if j <= r + last, and if r < j + first.
struct Band {
  std::optional<int64_t> last, first;
};

Band bandOf(const AttentionProblem &p) {
  Band band;
  if (p.causal)
    band.last = p.firstQuery + p.causalOffset;
  if (p.windowRight >= 0)
    band.last = std::min(band.last.value_or(p.keys), p.firstQuery + p.windowRight);
  if (p.windowLeft >= 0)
    band.first = p.windowLeft - p.firstQuery;
  // A bound that hides nothing is dropped.
  if (band.last && *band.last >= p.keys - 1)
    band.last.reset();
  if (band.first && *band.first >= p.queries)
    band.first.reset();
  return band;
}

/// Whether heads [h, g] lie as one dimension.
bool headsLieInRow(const AttentionProblem &p, int64_t strideH, int64_t strideG) {
  return p.kvHeads == 1 || p.groups == 1 || strideH == p.groups * strideG;
}

/// Whether cells of a row are neighbours, and rows start at multiples of 16 bytes.
bool liesInRows(const AttentionTensor &x, std::initializer_list<int64_t> sizes) {
  size_t d = 0;
  for (int64_t size : sizes) {
    const int64_t stride = x.strides[d];
    if (const bool isCell = ++d == sizes.size(); size > 1 && (isCell ? stride != 1 : stride <= 0 || stride % 8 != 0))
      return false;
  }
  return true;
}

class Builder {
public:
  Builder(const AttentionProblem &p, const AttentionForm &form)
      : p(p), addsInMemory(form.addsInMemory), heads(p.kvHeads * p.groups),
        half(form.type == DTCC_F16 ? kDnnF16 : kDnnBf16), scores{p.batch, heads, p.queries, p.keys},
        rows{p.batch, heads, p.queries, 1} {}

  CudnnGraph forward() {
    const Tensor q = ofQueries(p.q, p.qkSize), k = ofKeys(p.k, p.qkSize, /*transposed=*/true);
    const Tensor v = ofKeys(p.v, p.vSize, /*transposed=*/false), out = ofQueries(p.out, p.vSize), lse = statistics();
    const Tensor s = masked(scaledScores(q, k));
    const Tensor top = g.between(kDnnF32, rows), sum = g.between(kDnnF32, rows);
    g.reduce(kDnnMost, s, top);
    const Tensor exp = ofScores(kDnnExp, {ofScores(kDnnSubtract, {s, top})});
    g.reduce(kDnnSum, exp, sum);
    const Tensor log = g.between(kDnnF32, rows);
    g.pointwise(kDnnLog, kDnnF32, {sum}, log);
    g.pointwise(kDnnAdd, kDnnF32, {top, log}, lse);
    const Tensor weights = g.between(half, scores);
    g.pointwise(kDnnDivide, kDnnF32, {exp, sum}, weights);
    g.matmul(weights, v, out);
    return std::move(g);
  }

  CudnnGraph backward() {
    const Tensor q = ofQueries(p.q, p.qkSize), k = ofKeys(p.k, p.qkSize, true), v = ofKeys(p.v, p.vSize, true);
    const Tensor out = ofQueries(p.out, p.vSize), lse = statistics(), dout = ofQueries(p.dout, p.vSize);
    const Tensor dq = ofQueries(p.dq, p.qkSize), dk = ofKeys(p.dk, p.qkSize, false), dv = ofKeys(p.dv, p.vSize, false);
    const CudnnSizes ofSums = {p.batch, heads, p.queries, p.qkSize};
    const Tensor dots = dense(rows), dqSums = addsInMemory ? dense(ofSums) : g.between(kDnnF32, ofSums);

    // dots = sum of dout * out along a row. The product with 1 stands where that with a dropout's scale would.
    const Tensor products = g.between(kDnnF32, {p.batch, heads, p.queries, p.vSize}), sums = g.between(kDnnF32, rows);
    g.pointwise(kDnnMultiply, kDnnF32, {dout, out}, products);
    g.reduce(kDnnSum, products, sums);
    g.pointwise(kDnnMultiply, kDnnF32, {sums, g.value(1.0f)}, dots);

    // The weights again, from the statistics; dv = weights' dout.
    const Tensor weights = ofScores(kDnnExp, {masked(ofScores(kDnnSubtract, {scaledScores(q, k), lse}))});
    sumOverGroups(transposed(weights), dout, dv, p.vSize);

    // ds = (dout v' - dots) * weights * scale; dk = ds' q.
    const Tensor dweights = g.between(kDnnF32, scores);
    g.matmul(dout, v, dweights);
    const Tensor ds = ofScores(kDnnMultiply, {ofScores(kDnnSubtract, {dweights, dots}), weights});
    const Tensor scaled = ofScores(kDnnMultiply, {ds, scale});
    sumOverGroups(transposed(scaled), q, dk, p.qkSize);

    // dq = ds k, added up in f32.
    const Tensor keys =
        g.between(half, {p.batch, p.kvHeads, p.keys, p.qkSize}, {p.k.strides[0], p.k.strides[2], p.k.strides[1], 1});
    g.reshape(k, keys);
    g.matmul(scaled, keys, dqSums);
    g.pointwise(kDnnIdentity, kDnnF32, {dqSums}, dq);
    return std::move(g);
  }

private:
  /// [b, t, h, g, c] as [b, h * g, t, c].
  Tensor ofQueries(const AttentionTensor &x, int64_t cells) {
    return g.memory(half, {p.batch, heads, p.queries, cells},
                    {x.strides[0], p.groups > 1 ? x.strides[3] : x.strides[2], x.strides[1], 1});
  }
  /// [b, s, h, c] as [b, h, s, c], or [b, h, c, s].
  Tensor ofKeys(const AttentionTensor &x, int64_t cells, bool transposed) {
    CudnnSizes sizes = {p.batch, p.kvHeads, p.keys, cells}, strides = {x.strides[0], x.strides[2], x.strides[1], 1};
    if (transposed)
      std::swap(sizes[2], sizes[3]), std::swap(strides[2], strides[3]);
    return g.memory(half, sizes, strides);
  }
  Tensor statistics() {
    return g.memory(kDnnF32, rows,
                    {p.lse.strides[0], p.groups > 1 ? p.lse.strides[2] : p.lse.strides[1], p.lse.strides[3], 1});
  }
  Tensor dense(const CudnnSizes &s) { return g.memory(kDnnF32, s, {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}); }

  Tensor ofScores(int mode, std::initializer_list<Tensor> operands) {
    const Tensor result = g.between(kDnnF32, scores);
    g.pointwise(mode, kDnnF32, operands, result);
    return result;
  }

  Tensor scaledScores(Tensor q, Tensor k) {
    const Tensor s = g.between(kDnnF32, scores);
    g.matmul(q, k, s);
    scale = g.value(p.scale);
    return ofScores(kDnnMultiply, {s, scale});
  }

  Tensor masked(Tensor s) {
    const Band band = bandOf(p);
    if (band.last)
      s = select(s, kDnnAtLeast, shifted(index(s, 2), *band.last), index(s, 3));
    if (band.first) {
      const Tensor row = index(s, 2), column = index(s, 3);
      // The sum is in f32 where it is of the left bound: so cudnn-frontend has it.
      const Tensor bound = g.between(kDnnF32, scores);
      g.pointwise(kDnnAdd, kDnnF32, {column, g.value(static_cast<float>(*band.first))}, bound);
      s = select(s, kDnnGreater, bound, row);
    }
    return s;
  }
  Tensor index(Tensor like, int64_t axis) {
    const Tensor result = g.between(kDnnI32, scores);
    g.pointwise(kDnnIndex, kDnnF32, {like}, result, axis);
    return result;
  }
  Tensor shifted(Tensor row, int64_t by) {
    if (by == 0)
      return row;
    const Tensor result = g.between(kDnnI32, scores);
    g.pointwise(kDnnAdd, kDnnI32, {row, g.value(static_cast<int32_t>(by))}, result);
    return result;
  }
  Tensor select(Tensor s, int comparison, Tensor left, Tensor right) {
    const Tensor sees = g.between(kDnnBool, scores);
    g.pointwise(comparison, kDnnBool, {left, right}, sees);
    return ofScores(kDnnSelect, {s, g.value(-std::numeric_limits<float>::infinity()), sees});
  }

  Tensor transposed(Tensor s) {
    const int64_t head = p.queries * p.keys;
    const Tensor result = g.between(half, {p.batch, heads, p.keys, p.queries}, {heads * head, head, 1, p.keys});
    g.reshape(s, result);
    return result;
  }
  /// out = weights' rows, added up over the queries' heads of one head of keys.
  void sumOverGroups(Tensor weights, Tensor rows, Tensor out, int64_t cells) {
    if (p.groups == 1)
      return g.matmul(weights, rows, out);
    const Tensor each = g.between(half, {p.batch, heads, p.keys, cells});
    g.matmul(weights, rows, each);
    g.reduce(kDnnSum, each, out);
  }

  const AttentionProblem &p;
  const bool addsInMemory;
  const int64_t heads;
  const int half;
  const CudnnSizes scores, rows;
  CudnnGraph g;
  Tensor scale = -1;
};

} // namespace

const char *attentionObstacle(const AttentionProblem &p, const AttentionForm &form, size_t version) {
  if (form.type == DTCC_F32)
    return "it has no f32";
  if (form.isPart)
    return "it cannot go on from the keys of another part";
  if (form.hasMasks)
    return "a mask of keys or segments is none of its patterns";
  if (p.softcap > 0)
    return "a cap of scores is left to kernels of ours";
  if (!gpu_workspace::LibraryAttention{p.batch, p.queries, p.keys, p.kvHeads, p.groups, p.qkSize, p.vSize}.fits())
    return "sizes of heads must be multiples of 8";
  const Band band = bandOf(p);
  if ((band.last && *band.last < 0) || (band.first && (*band.first <= 0 || *band.first + p.keys <= p.queries)) ||
      (band.last && band.first && *band.last + *band.first < 1))
    return "a query may see no key";
  if (band.first && (!band.last || p.queries > p.keys))
    return "a window without an end, or over fewer keys than queries, is none of its patterns";
  const std::initializer_list<int64_t> queries = {p.batch, p.queries, p.kvHeads, p.groups, p.qkSize};
  const std::initializer_list<int64_t> outputs = {p.batch, p.queries, p.kvHeads, p.groups, p.vSize};
  const std::initializer_list<int64_t> keys = {p.batch, p.keys, p.kvHeads, p.qkSize};
  const std::initializer_list<int64_t> values = {p.batch, p.keys, p.kvHeads, p.vSize};
  auto rowsOf = [&](const AttentionTensor &x, std::initializer_list<int64_t> sizes) {
    return liesInRows(x, sizes) && (sizes.size() == 4 || headsLieInRow(p, x.strides[2], x.strides[3]));
  };
  if (!rowsOf(p.q, queries) || !rowsOf(p.k, keys) || !rowsOf(p.v, values) || !rowsOf(p.out, outputs) ||
      (form.backward &&
       (!rowsOf(p.dout, outputs) || !rowsOf(p.dq, queries) || !rowsOf(p.dk, keys) || !rowsOf(p.dv, values))))
    return "rows do not lie as it reads them";
  if (!headsLieInRow(p, p.lse.strides[1], p.lse.strides[2]))
    return "its statistics lie by heads";
  if (form.backward && p.queries == 1 && p.keys == 1)
    return "it has no gradient for one query and one key";
  if (form.backward && p.keys % 128 && version <= 91500)
    return "gradients of keys that 128 does not divide want cuDNN 9.15.1";
  return nullptr;
}

CudnnGraph attentionGraph(const AttentionProblem &problem, const AttentionForm &form) {
  Builder builder(problem, form);
  return form.backward ? builder.backward() : builder.forward();
}

} // namespace dtcc::rt::cuda
