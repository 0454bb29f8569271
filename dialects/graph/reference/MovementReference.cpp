//===- MovementReference.cpp - The meaning of movement ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "dialects/graph/Shard.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

static void copyCell(const HostTensor &from, int64_t source, HostTensor &to, int64_t target) {
  if (from.isFloat())
    to.floats[target] = from.floats[source];
  else
    to.ints[target] = from.ints[source];
}
static void setCell(HostTensor &to, int64_t target, double value) {
  if (to.isFloat())
    to.floats[target] = value;
  else
    to.ints[target] = static_cast<int64_t>(value);
}

LogicalResult ConstantOp::evaluate(Operands, Results results, const EvaluationContext &) {
  FailureOr<HostTensor> value = HostTensor::fromAttribute(getValue());
  if (failed(value))
    return emitOpError("value must be dense or a resource with its bytes");
  results[0] = std::move(*value);
  return success();
}
LogicalResult IotaOp::evaluate(Operands, Results results, const EvaluationContext &context) {
  int64_t offset = shardNumber(getOffsetAxes(), context) * results[0].shape[getDim()];
  int64_t start = getStart(), step = getStep();
  forEachIndex(results[0].shape, [&](ArrayRef<int64_t> index, int64_t position) {
    setCell(results[0], position, start + (offset + index[getDim()]) * step);
  });
  return success();
}
LogicalResult BarrierOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  results[0] = operands[0];
  return success();
}
LogicalResult ReshapeOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  results[0].floats = operands[0].floats;
  results[0].ints = operands[0].ints;
  return success();
}

/// results[0][index] = operands[0][map(index)].
static LogicalResult permute(Operands operands, Results results, llvm::function_ref<int64_t(ArrayRef<int64_t>)> map) {
  forEachIndex(results[0].shape, [&](ArrayRef<int64_t> index, int64_t position) {
    copyCell(operands[0], map(index), results[0], position);
  });
  return success();
}

LogicalResult TransposeOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  Dims strides = at(operands[0].strides(), getPermutation());
  return permute(operands, results, [&](ArrayRef<int64_t> index) { return positionOf(index, strides); });
}
LogicalResult BroadcastOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  Dims strides = operands[0].strides();
  return permute(operands, results, [&](ArrayRef<int64_t> index) { return positionOf(at(index, getDims()), strides); });
}
LogicalResult SliceOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  Dims strides = operands[0].strides();
  return permute(operands, results, [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (size_t i = 0; i < index.size(); ++i)
      position += (getOffsets()[i] + index[i] * getStrides()[i]) * strides[i];
    return position;
  });
}
LogicalResult PadOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  Dims strides = x.strides();
  double value = getValue().convertToDouble();
  forEachIndex(results[0].shape, [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t source = 0;
    bool inside = true;
    for (size_t i = 0; i < index.size(); ++i) {
      int64_t at = index[i] - getLow()[i];
      inside &= at >= 0 && at < x.shape[i];
      source += at * strides[i];
    }
    if (inside)
      copyCell(x, source, results[0], position);
    else
      setCell(results[0], position, value);
  });
  return success();
}
LogicalResult ShiftOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  int64_t dim = getDim(), amount = getAmount(), fill = getFill(), stride = x.strides()[dim];
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t from = index[dim] + amount;
    bool inside = from >= 0 && from < x.shape[dim];
    results[0].ints[position] = inside ? x.ints[position + amount * stride] : fill;
  });
  return success();
}
LogicalResult ConcatOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  Dims strides = results[0].strides();
  int64_t offset = 0;
  for (const HostTensor &x : operands) {
    forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
      copyCell(x, position, results[0], positionOf(index, strides) + offset * strides[getDim()]);
    });
    offset += x.shape[getDim()];
  }
  return success();
}
LogicalResult StackOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  Dims strides = results[0].strides(), inner = without(strides, static_cast<int64_t>(getDim()));
  for (size_t part = 0; part < operands.size(); ++part)
    forEachIndex(operands[part].shape, [&](ArrayRef<int64_t> index, int64_t position) {
      copyCell(operands[part], position, results[0], positionOf(index, inner) + part * strides[getDim()]);
    });
  return success();
}
LogicalResult UnstackOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  Dims strides = operands[0].strides(), inner = without(strides, static_cast<int64_t>(getDim()));
  for (size_t part = 0; part < results.size(); ++part)
    forEachIndex(results[part].shape, [&](ArrayRef<int64_t> index, int64_t position) {
      copyCell(operands[0], positionOf(index, inner) + part * strides[getDim()], results[part], position);
    });
  return success();
}
LogicalResult GatherOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0], &indices = operands[1];
  int64_t axis = getAxis(), count = indices.rank();
  Dims strides = x.strides(), indexStrides = indices.strides();
  for (int64_t i : indices.ints)
    if (i < 0 || i >= x.shape[axis])
      return emitOpError() << "index must be in [0, " << x.shape[axis] << "), got: " << i;
  return permute(operands, results, [&](ArrayRef<int64_t> index) {
    int64_t row = indices.ints[positionOf(index.slice(axis, count), indexStrides)];
    Dims source = concat(index.take_front(axis), row);
    return positionOf(concat(source, index.drop_front(axis + count)), strides);
  });
}
