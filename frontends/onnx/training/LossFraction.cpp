//===- training/LossFraction.cpp - A loss as one sum over another
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/training/LossFraction.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Graph.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The value without casts, and without reshapes of scalars.
static Value bare(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<graph::CastOp, graph::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether no state is read for a value, so that its gradient reaches none.
static bool isOfData(Value value) {
  llvm::SetVector<Value> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i)
    if (Operation *op = open[i].getDefiningOp()) {
      if (isa<graph::ReadOp>(op))
        return false;
      open.insert(op->operand_begin(), op->operand_end());
    }
  return true;
}

/// Whether a value counts samples: micro-batches add it up.
static bool isCount(Value value) {
  value = bare(value);
  if (auto labels = value.getDefiningOp<graph::CrossEntropyOp>())
    return value == labels.getCount();
  auto sum = value.getDefiningOp<graph::ReduceOp>();
  return sum && sum.getKind() == Reduction::Sum && isOfData(value);
}

/// The labels that a count counts and the label that it leaves out: of a cross entropy, or a sum of comparisons with
/// it.
static std::optional<std::pair<Value, int64_t>> labelsOf(Value count) {
  if (auto loss = count.getDefiningOp<graph::CrossEntropyOp>(); loss && loss.getIgnoreIndex())
    return std::pair(bare(loss.getLabels()), static_cast<int64_t>(*loss.getIgnoreIndex()));
  auto sum = count.getDefiningOp<graph::ReduceOp>();
  if (!sum)
    return std::nullopt;
  Value flags = bare(sum.getX());
  auto negated = flags.getDefiningOp<graph::NotOp>();
  auto compare = (negated ? bare(negated.getX()) : flags).getDefiningOp<graph::CompareOp>();
  if (!compare || compare.getPredicate() != (negated ? graph::Predicate::eq : graph::Predicate::ne))
    return std::nullopt;
  std::optional<double> label = graph::splatValue(compare.getRhs());
  if (!label)
    return std::nullopt;
  return std::pair(bare(compare.getLhs()), static_cast<int64_t>(*label));
}

static bool isSameCount(Value a, Value b) {
  a = bare(a), b = bare(b);
  return a == b || (labelsOf(a) && labelsOf(a) == labelsOf(b));
}

namespace {
/// A term of a loss: `factor` times a sum over a count.
struct Term {
  double factor;
  Value sum, count;
};
} // namespace

/// Adds the terms of `factor` times a loss. False if it is no sum of such terms over one count.
static bool addTerms(Value loss, double factor, SmallVectorImpl<Term> &terms) {
  Operation *op = bare(loss).getDefiningOp();
  if (!op)
    return false;
  if (isa<graph::AddOp, graph::SubOp>(op))
    return addTerms(op->getOperand(0), factor, terms) &&
           addTerms(op->getOperand(1), isa<graph::SubOp>(op) ? -factor : factor, terms);
  if (isa<graph::NegOp>(op))
    return addTerms(op->getOperand(0), -factor, terms);
  if (isa<graph::MulOp>(op))
    for (unsigned constant : {0u, 1u})
      if (std::optional<double> times = graph::splatValue(op->getOperand(constant)))
        return addTerms(op->getOperand(1 - constant), factor * *times, terms);
  if (!isa<graph::DivOp>(op))
    return false;
  Value over = op->getOperand(1);
  if (std::optional<double> divisor = graph::splatValue(over))
    return addTerms(op->getOperand(0), factor / *divisor, terms);
  if (!isCount(over) || (!terms.empty() && !isSameCount(over, terms.front().count)))
    return false;
  terms.push_back({factor, op->getOperand(0), over});
  return true;
}

std::optional<LossFraction> dtcc::onnx::findLossFraction(OpBuilder &builder, Value loss) {
  SmallVector<Term> terms;
  if (!addTerms(loss, 1, terms))
    return std::nullopt;
  graph::Build b(builder, loss.getLoc());
  Value sum;
  for (const Term &term : terms) {
    Value own = term.sum;
    // A product that sums of other samples may still be added to, unlike an elementwise one.
    if (term.factor != 1)
      own = graph::ContractOp::create(builder, loss.getLoc(), own.getType(), ",->", own, b.splat(own, term.factor));
    sum = sum ? b.add(sum, own) : own;
  }
  return LossFraction{sum, terms.front().count};
}
