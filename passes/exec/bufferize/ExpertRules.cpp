//===- ExpertRules.cpp - Picks and grouped products -*- C++ -*-===//
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
    return *b.dense(place, "rows").merged(groups);
  };
  Place x = rows(b.placeOf(op.getX()));
  Place values = rows(b.place(op.getValues())), indices = rows(b.place(op.getIndices()));
  b.library(op, "top_k", {b.view(x)}, {b.view(values), b.view(indices)}, {});
  return success();
}

namespace {
/// The letters of a grouped product, by their roles.
struct GroupedLetters {
  /// Letters of the rows and of the columns of each operand and of the result.
  std::string lhsRows, lhsColumns, rhsRows, rhsColumns, outRows, outColumns;
  bool possible = true;

  /// A term of rows: a beginning of the letters of all rows, then others.
  void split(const std::string &term, const std::string &all, std::string &rows, std::string &columns) {
    for (char letter : term)
      (all.find(letter) != std::string::npos ? rows : columns) += letter;
    possible &= StringRef(all).starts_with(rows);
  }
};
} // namespace

static int64_t sizeOf(const std::string &letters, const std::string &term, const Place &place) {
  int64_t size = 1;
  for (int64_t dim : dimsOf(term, letters))
    size *= place.sizes[dim];
  return size;
}

static LogicalResult lowerGrouped(graph::GroupedContractOp op, Bufferizer &b) {
  // The operator's verifier knows that the operands have one type.
  auto bytesOf = [](Value value) -> int64_t {
    Type element = cast<ShapedType>(value.getType()).getElementType();
    return element.isF32() ? 4 : element.isBF16() || element.isF16() ? 2 : 0;
  };
  int64_t cellBytes = bytesOf(op.getLhs()), outBytes = bytesOf(op.getY());
  for (Value value : {op.getLhs(), op.getY()})
    if (bytesOf(value) == 0)
      return op.emitOpError("has no library op for ") << value.getType() << ": products are of f32, bf16 and f16";
  auto spec = graph::GroupedSpec::parse(op.getSpec(), op.getRows());
  std::string lhs = spec.terms.lhs, rhs = spec.terms.rhs, out = spec.terms.result, group(1, spec.group);
  Place left = b.placeOf(op.getLhs()), right = b.placeOf(op.getRhs());
  // Columns of the result are best adjacent.
  if (spec.byGroup && lhs.find(out.back()) != std::string::npos) {
    std::swap(lhs, rhs);
    std::swap(left, right);
  }
  GroupedLetters letters;
  letters.split(lhs, spec.rows, letters.lhsRows, letters.lhsColumns);
  letters.split(spec.byGroup ? rhs : out, spec.rows, spec.byGroup ? letters.rhsRows : letters.outRows,
                spec.byGroup ? letters.rhsColumns : letters.outColumns);
  // The remaining dimensions of the stack are the summed ones of lhs and the columns of the result, or both columns.
  std::string columns = spec.byGroup ? letters.rhsColumns : letters.outColumns;
  std::string stack = spec.byGroup ? out : rhs, both = letters.lhsColumns + columns;
  letters.possible &= stack.size() == both.size() + 1 && llvm::all_of(stack, [&](char letter) {
                        return letter == spec.group || both.find(letter) != std::string::npos;
                      });
  if (!letters.possible)
    return op.emitOpError("has no library op: rows must stand first and in one order, got: \"") << op.getSpec() << "\"";

  Place ids = asGroups(b.placeOf(op.getIds()), spec.rows, spec.rows, b);
  auto destination = b.destinationOf(op.getY());
  int64_t accumulate = destination ? destination->accumulate : int64_t(Overwrite);
  Place result = b.place(op.getY()), temporary;
  SmallVector<std::string> groups;
  if (spec.byGroup)
    groups = {group, letters.lhsColumns, letters.rhsColumns};
  else
    groups = {letters.outRows, letters.outColumns};
  SmallVector<SmallVector<int64_t>> dims;
  std::string order;
  for (const std::string &letters : groups) {
    dims.push_back(dimsOf(out, letters));
    order += letters;
  }
  auto target = result.merged(dims);
  // A sum over the picks is made anew; only the gradient adds to what is there.
  if (!target || (!spec.byGroup && accumulate != Overwrite)) {
    Place turned = result.transposed(dimsOf(out, order));
    temporary = b.storage.allocate(RankedTensorType::get(turned.sizes, turned.element), "product");
    target = asGroups(temporary, order, groups, b);
  }
  int64_t rows = ids.sizes[0], groupCount = sizeOf(group, stack, spec.byGroup ? result : right);
  int64_t inner = sizeOf(letters.lhsColumns, lhs, left);
  int64_t outer = sizeOf(columns, spec.byGroup ? rhs : out, spec.byGroup ? right : result);
  int64_t outRows = spec.byGroup ? 0 : sizeOf(letters.outRows, out, result);
  int64_t beside = spec.byGroup ? outer * cellBytes
                                : grouped_workspace::productRow(outer, outBytes, rows / std::max<int64_t>(outRows, 1));
  int64_t bytes = grouped_workspace::bytes(rows, groupCount, inner * cellBytes, beside);
  LibraryOp command;
  Value leftView = b.view(asGroups(left, lhs, {letters.lhsRows, letters.lhsColumns}, b));
  if (!spec.byGroup) {
    Value rightView = b.view(asGroups(right, rhs, {group, letters.lhsColumns, columns}, b));
    command = b.library(op, "grouped_matmul", {leftView, rightView, b.view(ids)}, b.view(*target),
                        {b.communicators.coordinate(op.getGroupAxes())}, /*updates=*/false, bytes);
  } else {
    Value rightView = b.view(asGroups(right, rhs, {letters.rhsRows, letters.rhsColumns}, b));
    int64_t adds = temporary.buffer ? int64_t(Overwrite) : accumulate;
    command = b.library(op, "grouped_matmul_grad", {leftView, rightView, b.view(ids)}, b.view(*target),
                        {b.communicators.coordinate(op.getGroupAxes()), b.builder().getI64IntegerAttr(adds)}, adds != 0,
                        bytes);
  }
  // Rows that picked a group of another rank are skipped. Packed rows are those of this rank alone: of their room the
  // mean is used, a rank's part of all picks.
  if (std::optional<ArrayAttr> axes = op.getGroupAxes()) {
    double used = 1 / double(b.mesh().product(spmd::toAxes(*axes)));
    if (auto pack = op.getIds().getDefiningOp<spmd::PackPicksOp>())
      used *= double(cast<ShapedType>(pack.getIds().getType()).getNumElements()) / double(rows);
    command.setFlops(llvm::APFloat(command.getFlops().convertToDouble() * used));
  }
  if (!temporary.buffer)
    return success();
  return b.store(temporary, {result.transposed(dimsOf(out, order)), accumulate}, op.getLoc());
}

void dtcc::exec::addExpertRules(OpRules &rules) {
  rules[graph::TopKOp::getOperationName()] = ruleOf<graph::TopKOp, lowerTopK>();
  OpRule &grouped = rules[graph::GroupedContractOp::getOperationName()] =
      ruleOf<graph::GroupedContractOp, lowerGrouped>();
  grouped.writesStrided = grouped.accumulates = true;
}
