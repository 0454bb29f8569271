//===- PositionReference.cpp - The meaning of ops that know positions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/PositionOps.h"
#include "dialects/graph/Shapes.h"
#include "dialects/graph/Shard.h"
#include "dialects/graph/reference/AttentionReference.h"
#include "runtime/abi/SequenceOrder.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

/// Shards that `axes` make.
static int64_t shardCount(std::optional<ArrayAttr> axes, const EvaluationContext &context) {
  int64_t count = 1;
  if (axes && context.axis)
    for (Attribute axis : *axes)
      count *= context.axis(cast<StringAttr>(axis).getValue()).second;
  return count;
}

/// Positions of rows [first, first + rows) of `all`. Those from `length` on become -1.
static std::vector<int64_t> positionsOf(int64_t first, int64_t rows, int64_t all, int64_t chunks, int64_t length) {
  std::vector<int64_t> positions(rows);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t position = positionOfRow(first + row, all, chunks);
    positions[row] = position < length ? position : -1;
  }
  return positions;
}

template <typename Op>
static AttentionCase partCase(Op op, Operands operands, Operands maskOperands, const EvaluationContext &context) {
  int64_t queries = operands[0].shape[1], keys = operands[1].shape[1], chunks = op.getChunks(), length = op.getLength();
  int64_t rank = shardNumber(op.getKeyAxes(), context), shards = shardCount(op.getKeyAxes(), context), before = 0;
  auto keysAt = [&](int64_t shift) {
    return positionsOf((rank - shift + shards) % shards * keys, keys, shards * keys, chunks, length);
  };
  for (int64_t shift = 0; shift < static_cast<int64_t>(op.getShift()); ++shift)
    before += llvm::count_if(keysAt(shift), [](int64_t position) { return position >= 0; });
  return {operands[0],
          operands[1],
          operands[2],
          maskOperands,
          op.getMask(),
          op.getScale().convertToDouble(),
          op.getSoftcap().convertToDouble(),
          op.getEmptyRow(),
          positionsOf(shardNumber(op.getRowAxes(), context) * queries, queries,
                      shardCount(op.getRowAxes(), context) * queries, chunks, op.getQueryLength()),
          keysAt(op.getShift()),
          double(before),
          double(length)};
}

LogicalResult AttentionPartOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  size_t masks = getMaskOperands().size();
  bool onto = !getOnto().empty();
  AttentionCase in = partCase(*this, operands, operands.slice(3, masks), context);
  evaluateAttention(in, nullptr, onto ? &operands[3 + masks] : nullptr, onto ? &operands[4 + masks] : nullptr,
                    results[0], results[1]);
  return success();
}

LogicalResult AttentionPartGradOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  size_t masks = getMaskOperands().size();
  AttentionCase in = partCase(*this, operands, operands.slice(3, masks), context);
  for (size_t i = 0; i < getOnto().size(); ++i)
    results[i].floats = operands[6 + masks + i].floats;
  evaluateAttentionGrad(in, operands[3 + masks], operands[4 + masks], operands[5 + masks], results);
  return success();
}

LogicalResult ReorderOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &x = operands[0];
  HostTensor &y = results[0];
  int64_t dim = getDim(), rows = y.shape[dim], first = shardNumber(getOffsetAxes(), context) * rows;
  int64_t length = x.shape[dim], ordered = orderedRows(length, getChunks());
  // Row of x by row of y; `length`: none.
  std::vector<int64_t> from(rows, length);
  for (int64_t row = 0; row < ordered; ++row) {
    int64_t position = positionOfRow(row, ordered, getChunks());
    int64_t to = (getInverse() ? position : row) - first;
    if (to >= 0 && to < rows)
      from[to] = getInverse() ? row : position;
  }
  Dims strides = x.strides();
  forEachIndex(y.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    Dims source(index);
    source[dim] = from[index[dim]];
    if (source[dim] >= x.shape[dim]) {
      if (!y.isFloat())
        y.ints[position] = static_cast<int64_t>(getFill());
      return;
    }
    int64_t cell = positionOf(source, strides);
    if (x.isFloat())
      y.floats[position] = x.floats[cell];
    else
      y.ints[position] = x.ints[cell];
  });
  return success();
}
