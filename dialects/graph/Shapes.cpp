//===- Shapes.cpp - Shapes and dimension lists of graph ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dtcc::graph {

ArrayRef<int64_t> shapeOf(Value value) { return cast<ShapedType>(value.getType()).getShape(); }
int64_t rankOf(Value value) { return shapeOf(value).size(); }
Type elementOf(Value value) { return cast<ShapedType>(value.getType()).getElementType(); }
bool isFloat(Value value) { return isa<FloatType>(elementOf(value)); }

Dims range(int64_t begin, int64_t end) {
  Dims list;
  for (int64_t i = begin; i < end; ++i)
    list.push_back(i);
  return list;
}

Dims without(ArrayRef<int64_t> list, ArrayRef<int64_t> dims) {
  Dims rest;
  for (int64_t i = 0; i < static_cast<int64_t>(list.size()); ++i)
    if (!llvm::is_contained(dims, i))
      rest.push_back(list[i]);
  return rest;
}

Dims at(ArrayRef<int64_t> list, ArrayRef<int64_t> positions) {
  Dims picked;
  for (int64_t position : positions)
    picked.push_back(list[position]);
  return picked;
}

Dims concat(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  Dims list(a);
  list.append(b.begin(), b.end());
  return list;
}

Dims addFactors(FactorMap &map, Value value, FactorKind kind) {
  Dims dims;
  for (int64_t size : shapeOf(value))
    dims.push_back(map.add(size, kind));
  return dims;
}

void setFactorKind(FactorMap &map, ArrayRef<int64_t> factors, FactorKind kind, PaddingNeed padding) {
  for (int64_t factor : factors) {
    map.factors[factor].kind = kind;
    map.factors[factor].padding = padding;
  }
}

double product(ArrayRef<int64_t> sizes) {
  double total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

LogicalResult verifyDim(Operation *op, StringRef name, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << name << " must be in [0, " << rank << "), got: " << dim;
}

LogicalResult verifyDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank) {
  if (dims.empty())
    return op->emitOpError("dims must not be empty");
  for (size_t i = 0; i < dims.size(); ++i) {
    if (failed(verifyDim(op, "dims", dims[i], rank)))
      return failure();
    if (i > 0 && dims[i] <= dims[i - 1])
      return op->emitOpError() << "dims must be strictly increasing, got: " << dims[i] << " after " << dims[i - 1];
  }
  return success();
}

LogicalResult verifyTerm(Operation *op, StringRef term, StringRef what, Value value) {
  for (size_t i = 0; i < term.size(); ++i) {
    if (!llvm::isAlpha(term[i]))
      return op->emitOpError() << "spec must name dimensions by letters, got: '" << term[i] << "'";
    if (term.find(term[i], i + 1) != StringRef::npos)
      return op->emitOpError() << "spec must not repeat a letter in one term, got: '" << term[i] << "' in \"" << term
                               << "\"";
  }
  if (rankOf(value) != static_cast<int64_t>(term.size()))
    return op->emitOpError() << what << " must have rank " << term.size() << " by the spec, got: " << rankOf(value);
  return success();
}
LogicalResult verifyLength(Operation *op, StringRef name, size_t length, int64_t rank) {
  if (static_cast<int64_t>(length) == rank)
    return success();
  return op->emitOpError() << name << " must have " << rank << " entries, got: " << length;
}

LogicalResult verifyRank(Operation *op, StringRef name, Value value, int64_t rank) {
  if (rankOf(value) == rank)
    return success();
  return op->emitOpError() << name << " must have rank " << rank << ", got: " << rankOf(value);
}

LogicalResult verifyRankAtLeast(Operation *op, StringRef name, Value value, int64_t rank) {
  if (rankOf(value) >= rank)
    return success();
  return op->emitOpError() << name << " must have rank at least " << rank << ", got: " << rankOf(value);
}

LogicalResult verifySameElement(Operation *op, Value a, Value b) {
  if (elementOf(a) == elementOf(b))
    return success();
  return op->emitOpError() << "element types must be equal, got: " << elementOf(a) << " and " << elementOf(b);
}

LogicalResult verifySumElement(Operation *op, Value term, Value sum) {
  auto from = dyn_cast<FloatType>(elementOf(term)), to = dyn_cast<FloatType>(elementOf(sum));
  if (from && to && from.getWidth() < to.getWidth())
    return success();
  return verifySameElement(op, term, sum);
}

} // namespace dtcc::graph
