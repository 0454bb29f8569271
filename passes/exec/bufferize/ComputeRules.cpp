//===- ComputeRules.cpp - Fused kernels and products -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Graph.h"
#include "passes/exec/bufferize/OpRules.h"
#include "passes/exec/codegen/KernelDomain.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

//===----------------------------------------------------------------------===//
// Fused kernels
//===----------------------------------------------------------------------===//

/// The operand whose memory result `index` of a fused op may take: both walk the whole
/// domain of the kernel, so that a cell is read before it is written; it dies here, has
/// the same box, and no other operand or result lies in its buffer.
static int64_t findInPlace(FusedOp op, unsigned index, Bufferizer &b, ArrayRef<int64_t> taken,
                           const FailureOr<KernelDomain> &domain) {
  Value result = op.getResult(index);
  Block &body = op.getBody().front();
  if (b.destinationOf(result) || failed(domain) || !domain->isFullValue(body.getTerminator()->getOperand(index)))
    return -1;
  auto type = cast<ShapedType>(result.getType());
  for (auto [i, operand] : llvm::enumerate(op.getInputs())) {
    const Place &place = b.placeOf(operand);
    bool same = place.isDense() && !place.blockOf && ArrayRef<int64_t>(place.sizes) == type.getShape() &&
                place.element == type.getElementType();
    bool alone = llvm::none_of(llvm::enumerate(op.getInputs()), [&](auto other) {
      return other.index() != i && b.placeOf(other.value()).buffer == place.buffer;
    });
    if (same && alone && domain->isFullValue(body.getArgument(i)) && !llvm::is_contained(taken, int64_t(i)) &&
        b.diesAt(operand, op))
      return i;
  }
  return -1;
}

static LogicalResult lowerFused(FusedOp op, Bufferizer &b) {
  SmallVector<Place> inputs;
  for (Value operand : op.getInputs())
    inputs.push_back(b.placeOf(operand));
  SmallVector<Operation *> ops;
  for (Operation &inner : op.getBody().front().without_terminator())
    ops.push_back(&inner);
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  auto domain = KernelDomain::analyze(ops, [&](Value value) { return llvm::is_contained(yielded, value); });
  SmallVector<Bufferizer::Destination> outputs;
  SmallVector<int64_t> inPlace;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    inPlace.push_back(findInPlace(op, i, b, inPlace, domain));
    if (inPlace.back() >= 0) {
      b.setPlace(result, inputs[inPlace.back()]);
      outputs.push_back({inputs[inPlace.back()], Overwrite});
    } else {
      auto destination = b.destinationOf(result);
      outputs.push_back({b.place(result), destination ? destination->accumulate : int64_t(Overwrite)});
    }
  }
  return b.kernel(op.getLoc(), op.getName().value_or("fused"), op.getBody().front(), inputs, outputs, inPlace);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// One side of a product: its letters and where it lies.
struct Term {
  StringRef letters;
  Place place;
  int64_t stride(char letter) const { return place.strides[letters.find(letter)]; }
  int64_t size(char letter) const { return place.sizes[letters.find(letter)]; }
};
} // namespace

/// The letters of `group` as dimensions of `term`.
static SmallVector<int64_t> dimsOf(const Term &term, StringRef group) {
  SmallVector<int64_t> dims;
  for (char letter : group)
    dims.push_back(term.letters.find(letter));
  return dims;
}

/// The letters for which `keep` holds, outermost first as they lie in `term`.
static std::string ordered(const Term &term, llvm::function_ref<bool(char)> keep) {
  std::string letters;
  llvm::copy_if(term.letters, std::back_inserter(letters), keep);
  auto key = [&](char c) { return std::pair(-term.stride(c), term.letters.find(c)); };
  llvm::sort(letters, [&](char a, char c) { return key(a) < key(c); });
  return letters;
}

/// `term` as [batch, rows, columns], if each group lies as one dimension and the
/// library can walk it: along rows or columns without gaps.
static std::optional<Place> asMatrix(const Term &term, StringRef batch, StringRef rows, StringRef columns) {
  auto matrix = term.place.merged({dimsOf(term, batch), dimsOf(term, rows), dimsOf(term, columns)});
  if (!matrix)
    return std::nullopt;
  auto unit = [&](int64_t dim) { return matrix->sizes[dim] == 1 || matrix->strides[dim] == 1; };
  // Repeated cells (stride 0) are no matrix of the library's.
  for (int64_t dim : {1, 2})
    if (matrix->sizes[dim] > 1 && matrix->strides[dim] == 0)
      return std::nullopt;
  if (!unit(1) && !unit(2))
    return std::nullopt;
  return matrix;
}

/// `term` copied to the order batch, rows, columns where it cannot be read as it lies.
static Place readMatrix(Term term, StringRef batch, StringRef rows, StringRef columns, Bufferizer &b) {
  if (auto matrix = asMatrix(term, batch, rows, columns))
    return *matrix;
  std::string order = (batch + rows + columns).str();
  Place from = term.place.transposed(dimsOf(term, order));
  Place to = b.allocate(RankedTensorType::get(from.sizes, from.element), "packed");
  b.copy(from, to, "pack");
  return *asMatrix({order, to}, batch, rows, columns);
}

static LogicalResult lowerContract(graph::ContractOp op, Bufferizer &b) {
  for (Type type : {op.getLhs().getType(), op.getRhs().getType(), op.getY().getType()})
    if (auto element = dyn_cast<FloatType>(cast<ShapedType>(type).getElementType()); !element || element.isF64())
      return op.emitOpError("has no library op for ") << type << ": products are of f32, bf16 and f16";
  auto spec = graph::ContractSpec::parse(op.getSpec());
  Term lhs{spec.lhs, b.placeOf(op.getLhs())}, rhs{spec.rhs, b.placeOf(op.getRhs())};
  auto destination = b.destinationOf(op.getY());
  Place result = b.place(op.getY());
  Term out{spec.result, result};
  auto in = [](const Term &term, char letter) { return term.letters.contains(letter); };
  // Rows and columns follow the result, so that it need not be copied; sums follow the larger operand.
  std::string batch = ordered(out, [&](char c) { return in(lhs, c) && in(rhs, c); });
  std::string rows = ordered(out, [&](char c) { return in(lhs, c) && !in(rhs, c); });
  std::string columns = ordered(out, [&](char c) { return !in(lhs, c) && in(rhs, c); });
  const Term &larger = lhs.place.elements() >= rhs.place.elements() ? lhs : rhs;
  std::string sums = ordered(larger, [&](char c) { return in(lhs, c) && in(rhs, c) && !in(out, c); });

  Place left = readMatrix(lhs, batch, rows, sums, b), right = readMatrix(rhs, batch, sums, columns, b);
  Bufferizer::Destination target{result, destination ? destination->accumulate : int64_t(Overwrite)};
  auto matrix = asMatrix(out, batch, rows, columns);
  Place temporary;
  if (!matrix) {
    std::string order = batch + rows + columns;
    temporary =
        b.allocate(RankedTensorType::get(result.transposed(dimsOf(out, order)).sizes, result.element), "product");
    matrix = asMatrix({order, temporary}, batch, rows, columns);
  }
  int64_t accumulate = temporary.buffer ? int64_t(Overwrite) : target.accumulate;
  OpBuilder &builder = b.builder();
  b.library(op, "matmul", {b.view(left), b.view(right)}, b.view(*matrix),
            {builder.getI64IntegerAttr(accumulate), builder.getI64IntegerAttr(0)}, accumulate != 0);
  if (!temporary.buffer)
    return success();
  return b.store(temporary, {result.transposed(dimsOf(out, batch + rows + columns)), target.accumulate}, op.getLoc());
}

void dtcc::exec::addComputeRules(OpRules &rules) {
  auto everywhere = [](OpRule rule) {
    rule.writesStrided = rule.accumulates = true;
    return rule;
  };
  rules[FusedOp::getOperationName()] = everywhere(ruleOf<FusedOp, lowerFused>());
  rules[graph::ContractOp::getOperationName()] = everywhere(ruleOf<graph::ContractOp, lowerContract>());
}
