//===- ExpertRules.cpp - Bufferization of top-k and of grouped products -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/GroupedSpec.h"
#include "passes/exec/bufferize/OpRules.h"
#include "runtime/abi/GroupedWorkspace.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

static SmallVector<int64_t> dimsOf(const std::string &term, const std::string &letters) {
  SmallVector<int64_t> dims;
  for (char letter : letters)
    dims.push_back(term.find(letter));
  return dims;
}

/// `place` with each group of letters as one dimension; copied if they lie apart.
static Place asGroups(const Place &place, const std::string &term, ArrayRef<std::string> groups, Bufferizer &b) {
  SmallVector<SmallVector<int64_t>> dims;
  std::string order;
  for (const std::string &group : groups) {
    dims.push_back(dimsOf(term, group));
    order += group;
  }
  if (auto merged = place.merged(dims))
    return *merged;
  Place from = place.transposed(dimsOf(term, order));
  Place to = b.storage.allocate(RankedTensorType::get(from.sizes, from.element), "packed");
  b.copy(from, to, "pack");
  SmallVector<SmallVector<int64_t>> packed;
  int64_t at = 0;
  for (const std::string &group : groups) {
    packed.push_back(dimRange(at, at + group.size()));
    at += group.size();
  }
  return *to.merged(packed);
}

static LogicalResult lowerTopK(graph::TopKOp op, Bufferizer &b) {
  if (!cast<ShapedType>(op.getX().getType()).getElementType().isF32())
    return op.emitOpError("has no library op for ") << op.getX().getType() << ": picks are of f32";
  auto rows = [&](const Place &place) {
    SmallVector<int64_t> groups[] = {dimRange(0, place.rank() - 1), dimRange(place.rank() - 1, place.rank())};
    if (auto merged = place.merged(groups))
      return *merged;
    return *b.copied(place, "rows").merged(groups);
  };
  Place x = rows(b.placeOf(op.getX()));
  Place values = rows(b.place(op.getValues())), indices = rows(b.place(op.getIndices()));
  b.library(op, "top_k", {b.view(x)}, {b.view(values), b.view(indices)}, {});
  return success();
}

namespace {
/// A grouped product, its letters by their roles. Two of its terms have rows: lhs, and rhs if rows are summed by group,
/// else the result. The third term is a stack of matrices, one for each group.
struct GroupedProduct {
  GroupedProduct(graph::GroupedContractOp op, Bufferizer &b);

  graph::GroupedSpec spec;
  std::string lhs, rhs, out;
  Place left, right;
  /// Letters of the rows and of the columns of lhs, and of the other term that has rows.
  std::string lhsRows, lhsColumns, otherRows, columns;
  /// Whether a library op computes it: rows stand first in their terms, and in one order.
  bool possible = true;

  std::string group() const { return std::string(1, spec.group); }
  const std::string &stack() const { return spec.byGroup ? out : rhs; }
  const std::string &other() const { return spec.byGroup ? rhs : out; }
  /// Letters that are one dimension each for the library op.
  SmallVector<std::string> dimsOfLhs() const { return {lhsRows, lhsColumns}; }
  SmallVector<std::string> dimsOfRhs() const { return spec.byGroup ? dimsOfOther() : dimsOfStack(); }
  SmallVector<std::string> dimsOfResult() const { return spec.byGroup ? dimsOfStack() : dimsOfOther(); }

private:
  SmallVector<std::string> dimsOfOther() const { return {otherRows, columns}; }
  SmallVector<std::string> dimsOfStack() const { return {group(), lhsColumns, columns}; }
  /// Splits a term of rows: a beginning of the letters of all rows, then others.
  void split(const std::string &term, std::string &rows, std::string &columns) {
    for (char letter : term)
      (spec.rows.find(letter) != std::string::npos ? rows : columns) += letter;
    possible &= StringRef(spec.rows).starts_with(rows);
  }
};

/// The memory that a library op writes a grouped product to.
struct GroupedTarget {
  Place place;
  /// A buffer that must still be stored to the result, and the result with its dimensions in the buffer's order;
  /// without a buffer if `place` is the result's own.
  Place temporary, turned;
};
} // namespace

GroupedProduct::GroupedProduct(graph::GroupedContractOp op, Bufferizer &b)
    : spec(graph::GroupedSpec::parse(op.getSpec(), op.getRows())), lhs(spec.terms.lhs), rhs(spec.terms.rhs),
      out(spec.terms.result), left(b.placeOf(op.getLhs())), right(b.placeOf(op.getRhs())) {
  // Columns of the result are best adjacent.
  if (spec.byGroup && lhs.find(out.back()) != std::string::npos) {
    std::swap(lhs, rhs);
    std::swap(left, right);
  }
  split(lhs, lhsRows, lhsColumns);
  split(other(), otherRows, columns);
  // The remaining dimensions of the stack are the summed ones of lhs and the columns of the result, or both columns.
  std::string both = lhsColumns + columns;
  possible &= stack().size() == both.size() + 1 && llvm::all_of(stack(), [&](char letter) {
                return letter == spec.group || both.find(letter) != std::string::npos;
              });
}

static int64_t sizeOf(const std::string &letters, const std::string &term, const Place &place) {
  int64_t size = 1;
  for (int64_t dim : dimsOf(term, letters))
    size *= place.sizes[dim];
  return size;
}

/// Bytes of a cell of a type that library ops multiply, else 0.
static int64_t cellBytesOf(Value value) {
  Type element = cast<ShapedType>(value.getType()).getElementType();
  return element.isF32() ? 4 : element.isBF16() || element.isF16() ? 2 : 0;
}

/// The result itself, unless its dimensions do not merge, or the product would have to add to it: a sum over the picks
/// is made anew, and only the gradient adds to what is there.
static GroupedTarget targetOf(const GroupedProduct &product, const Place &result, int64_t accumulate, Bufferizer &b) {
  SmallVector<std::string> groups = product.dimsOfResult();
  SmallVector<SmallVector<int64_t>> dims;
  std::string order;
  for (const std::string &letters : groups) {
    dims.push_back(dimsOf(product.out, letters));
    order += letters;
  }
  if (auto merged = result.merged(dims); merged && (product.spec.byGroup || accumulate == Overwrite))
    return {*merged, {}, {}};
  Place turned = result.transposed(dimsOf(product.out, order));
  Place temporary = b.storage.allocate(RankedTensorType::get(turned.sizes, turned.element), "product");
  return {asGroups(temporary, order, groups, b), temporary, turned};
}

/// Bytes of the workspace of a grouped product of `rows` picks.
static int64_t workspaceBytesOf(graph::GroupedContractOp op, const GroupedProduct &product, const Place &result,
                                int64_t rows) {
  // The operator's verifier knows that the operands have one type.
  const int64_t cellBytes = cellBytesOf(op.getLhs());
  const bool byGroup = product.spec.byGroup;
  const Place &stack = byGroup ? result : product.right, &other = byGroup ? product.right : result;
  int64_t groups = sizeOf(product.group(), product.stack(), stack);
  int64_t inner = sizeOf(product.lhsColumns, product.lhs, product.left);
  int64_t outer = sizeOf(product.columns, product.other(), other);
  int64_t beside = outer * cellBytes;
  if (!byGroup) {
    int64_t resultRows = sizeOf(product.otherRows, product.out, result);
    beside = grouped_workspace::productRow(outer, cellBytesOf(op.getY()), rows / std::max<int64_t>(resultRows, 1));
  }
  return grouped_workspace::bytes(rows, groups, inner * cellBytes, beside);
}

/// The share of its `rows` that a rank computes: those that picked a group of another rank are skipped. Packed rows are
/// those of this rank alone: of their room the mean is used, a rank's part of all picks.
static double computedShare(graph::GroupedContractOp op, int64_t rows, const Bufferizer &b) {
  std::optional<ArrayAttr> axes = op.getGroupAxes();
  if (!axes)
    return 1;
  double share = 1 / double(b.mesh().product(spmd::toAxes(*axes)));
  if (auto pack = op.getIds().getDefiningOp<spmd::PackPicksOp>())
    share *= double(cast<ShapedType>(pack.getIds().getType()).getNumElements()) / double(rows);
  return share;
}

static LogicalResult lowerGrouped(graph::GroupedContractOp op, Bufferizer &b) {
  for (Value value : {op.getLhs(), op.getY()})
    if (cellBytesOf(value) == 0)
      return op.emitOpError("has no library op for ") << value.getType() << ": products are of f32, bf16 and f16";
  GroupedProduct product(op, b);
  if (!product.possible)
    return op.emitOpError("has no library op: rows must stand first and in one order, got: \"") << op.getSpec() << "\"";

  const std::string &letters = product.spec.rows;
  Place ids = asGroups(b.placeOf(op.getIds()), letters, letters, b);
  auto destination = b.destinationOf(op.getY());
  int64_t accumulate = destination ? destination->accumulate : int64_t(Overwrite);
  Place result = b.place(op.getY());
  GroupedTarget target = targetOf(product, result, accumulate, b);
  const int64_t rows = ids.sizes[0], bytes = workspaceBytesOf(op, product, result, rows);

  Value left = b.view(asGroups(product.left, product.lhs, product.dimsOfLhs(), b));
  Value right = b.view(asGroups(product.right, product.rhs, product.dimsOfRhs(), b));
  Value idsView = b.view(ids), view = b.view(target.place);
  SmallVector<Attribute> parameters = {b.communicators.coordinate(op.getGroupAxes())};
  int64_t adds = Overwrite;
  if (product.spec.byGroup) {
    adds = target.temporary.buffer ? int64_t(Overwrite) : accumulate;
    parameters.push_back(b.builder().getI64IntegerAttr(adds));
  }
  LibraryOp command = b.library(op, product.spec.byGroup ? "grouped_matmul_grad" : "grouped_matmul",
                                {left, right, idsView}, view, parameters, /*updates=*/adds != Overwrite, bytes);
  command.setFlops(llvm::APFloat(command.getFlops().convertToDouble() * computedShare(op, rows, b)));
  if (!target.temporary.buffer)
    return success();
  return b.store(target.temporary, {target.turned, accumulate}, op.getLoc());
}

void dtcc::exec::addExpertRules(OpRules &rules) {
  rules[graph::TopKOp::getOperationName()] = ruleOf<graph::TopKOp, lowerTopK>();
  OpRule &grouped = rules[graph::GroupedContractOp::getOperationName()] =
      ruleOf<graph::GroupedContractOp, lowerGrouped>();
  grouped.writesStrided = grouped.accumulates = true;
  // Kernels of GPUs round a sum over the rows of a group once; products of processors are of blocks of rows, each of
  // which would be rounded. Kernels write the type of the factors, or f32.
  grouped.mayRound = [](Value result, Type type, const Bufferizer &b) {
    auto op = result.getDefiningOp<graph::GroupedContractOp>();
    return b.plansWorkspace() && getElementTypeOrSelf(op.getLhs()) == type &&
           graph::GroupedSpec::parse(op.getSpec(), op.getRows()).byGroup;
  };
}
