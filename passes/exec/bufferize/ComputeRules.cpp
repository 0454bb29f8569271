//===- ComputeRules.cpp - Bufferization of fused kernels -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/OpRules.h"
#include "passes/exec/codegen/KernelDomain.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

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

void dtcc::exec::addComputeRules(OpRules &rules) {
  OpRule &fused = rules[FusedOp::getOperationName()] = ruleOf<FusedOp, lowerFused>();
  fused.writesStrided = fused.accumulates = true;
  fused.mayRound = [](Value, Type, const Bufferizer &) { return true; };
}
