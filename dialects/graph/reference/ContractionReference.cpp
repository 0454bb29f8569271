//===- ContractionReference.cpp - The meaning of products and reductions
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

/// The stride of each factor in a tensor whose dimensions walk `dims`; 0 if it is absent.
static Dims factorStrides(ArrayRef<int64_t> dims, ArrayRef<int64_t> strides, size_t factors) {
  Dims list(factors, 0);
  for (size_t i = 0; i < dims.size(); ++i)
    list[dims[i]] = strides[i];
  return list;
}

LogicalResult ContractOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  FactorMap map = getFactorMap();
  size_t count = map.factors.size();
  Dims sizes;
  for (const Factor &factor : map.factors)
    sizes.push_back(factor.size);
  // Sizes are those of the operands at hand, because an evaluator may run the op on a shard.
  for (int operand = 0; operand < 2; ++operand)
    for (auto [dim, factor] : llvm::enumerate(map.operands[operand]))
      sizes[factor] = operands[operand].shape[dim];
  Dims lhs = factorStrides(map.operands[0], operands[0].strides(), count);
  Dims rhs = factorStrides(map.operands[1], operands[1].strides(), count);
  Dims out = factorStrides(map.results[0], results[0].strides(), count);
  forEachIndex(sizes, [&](ArrayRef<int64_t> index, int64_t) {
    results[0].floats[positionOf(index, out)] +=
        operands[0].floats[positionOf(index, lhs)] * operands[1].floats[positionOf(index, rhs)];
  });
  return success();
}

LogicalResult ReduceOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  HostTensor &y = results[0];
  Dims kept = without(range(0, x.rank()), getDims()), strides = y.strides();
  std::vector<bool> started(y.size(), false);
  auto fold = [&](auto &to, auto value, bool first) {
    switch (getKind()) {
    case Reduction::Sum:
      to += value;
      break;
    case Reduction::Max:
      to = first || value > to || value != value ? value : to;
      break;
    case Reduction::Min:
      to = first || value < to || value != value ? value : to;
      break;
    }
  };
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t target = positionOf(at(index, kept), strides);
    if (x.isFloat())
      fold(y.floats[target], x.floats[position], !started[target]);
    else
      fold(y.ints[target], x.ints[position], !started[target]);
    started[target] = true;
  });
  return success();
}

LogicalResult SoftmaxOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  Dims kept = without(range(0, x.rank()), getDims()), rows = at(x.shape, kept), strides = rowMajorStrides(rows);
  int64_t count = product(rows);
  std::vector<double> top(count, -INFINITY), sum(count, 0);
  auto rowOf = [&](ArrayRef<int64_t> index) { return positionOf(at(index, kept), strides); };
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    double &row = top[rowOf(index)];
    row = std::isnan(x.floats[position]) || x.floats[position] > row ? x.floats[position] : row;
  });
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t row = rowOf(index);
    sum[row] += std::exp(x.floats[position] - top[row]);
  });
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t row = rowOf(index);
    double shifted = x.floats[position] - top[row];
    results[0].floats[position] = getLog() ? shifted - std::log(sum[row]) : std::exp(shifted) / sum[row];
  });
  return success();
}

LogicalResult CumsumOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  int64_t dim = getDim(), stride = x.strides()[dim];
  auto run = [&](auto &from, auto &to) {
    forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
      to[position] = from[position];
      if (index[dim] > 0)
        to[position] += to[position - stride];
    });
  };
  if (x.isFloat())
    run(x.floats, results[0].floats);
  else
    run(x.ints, results[0].ints);
  return success();
}

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

/// Calls `body(row, id position, cells)` for every id whose row this shard holds.
static void forEachRow(const HostTensor &ids, int64_t rows, int64_t shard,
                       llvm::function_ref<void(int64_t, int64_t)> body) {
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t row = ids.ints[i] - shard * rows;
    if (row >= 0 && row < rows)
      body(row, i);
  }
}

LogicalResult EmbeddingOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &table = operands[0], &ids = operands[1];
  int64_t rows = table.shape[0], width = rows ? table.size() / rows : 0;
  if (!getRowAxes())
    for (int64_t id : ids.ints)
      if (id < 0 || id >= rows)
        return emitOpError() << "id must be in [0, " << rows << "), got: " << id;
  forEachRow(ids, rows, shardNumber(getRowAxes(), context), [&](int64_t row, int64_t i) {
    for (int64_t c = 0; c < width; ++c)
      results[0].floats[i * width + c] = table.floats[row * width + c];
  });
  return success();
}

LogicalResult ScatterAddOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &from = operands[0], &ids = operands[1];
  HostTensor &table = results[0];
  int64_t rows = table.shape[0], width = rows ? table.size() / rows : 0, padding = getPaddingIdx();
  forEachRow(ids, rows, shardNumber(getRowAxes(), context), [&](int64_t row, int64_t i) {
    if (padding >= 0 && ids.ints[i] == padding)
      return;
    for (int64_t c = 0; c < width; ++c)
      table.floats[row * width + c] += from.floats[i * width + c];
  });
  return success();
}
