//===- PrecisionPolicy.cpp - The float types that an op wants
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy of mixed precision, op by op. Products, convolutions, experts, attention and table
// rows take the compute type: that is where time and memory go. What sums many terms, takes
// exponentials or differences of near values stays in f32.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

/// Ops that stay in f32 as a whole: exponentials, roots, powers, losses.
#define DTCC_WIDE(OP)                                                                                                  \
  Precision OP::getOperandPrecision(unsigned) { return Precision::Wide; }                                              \
  Precision OP::getResultPrecision(unsigned) { return Precision::Wide; }
DTCC_WIDE(ExpOp)
DTCC_WIDE(LogOp)
DTCC_WIDE(Log1pOp)
DTCC_WIDE(Expm1Op)
DTCC_WIDE(SqrtOp)
DTCC_WIDE(RsqrtOp)
DTCC_WIDE(PowOp)
DTCC_WIDE(SoftmaxOp)
DTCC_WIDE(CrossEntropyOp)
DTCC_WIDE(GroupSumOp)

// Errors of a state add up over the steps, so states are f32. The factors of a step's products may be rounded.
DTCC_WIDE(RecurrenceOp)
void RecurrenceOp::setComputeType(FloatType type) { setProductTypeAttr(TypeAttr::get(type)); }

// Values in the compute type; parameters are the f32 masters, statistics are f32.
Precision LayerNormOp::getOperandPrecision(unsigned index) { return index == 0 ? Precision::Compute : Precision::Wide; }
Precision LayerNormOp::getResultPrecision(unsigned index) { return index == 0 ? Precision::Compute : Precision::Wide; }
Precision RmsNormOp::getOperandPrecision(unsigned index) { return index == 0 ? Precision::Compute : Precision::Wide; }
Precision RmsNormOp::getResultPrecision(unsigned index) { return index == 0 ? Precision::Compute : Precision::Wide; }

// As what normalises images gets them, with statistics and parameters in f32; a maximum is one of its cells.
Precision BatchNormOp::getOperandPrecision(unsigned index) { return index == 0 ? Precision::Follow : Precision::Wide; }
Precision BatchNormOp::getResultPrecision(unsigned index) { return index == 0 ? Precision::Follow : Precision::Wide; }
Precision MaxPoolOp::getOperandPrecision(unsigned) { return Precision::Follow; }
Precision MaxPoolOp::getResultPrecision(unsigned) { return Precision::Follow; }

// The backward pass reads the logarithm of the row's sum: f32.
Precision AttentionOp::getResultPrecision(unsigned index) { return index == 0 ? Precision::Compute : Precision::Wide; }

// The angles of far positions need their bits.
Precision RotaryOp::getOperandPrecision(unsigned index) { return index == 0 ? Precision::Compute : Precision::Wide; }

// Halves would round some to 0 or 1.
Precision UniformOp::getOperandPrecision(unsigned) { return Precision::Wide; }
Precision UniformOp::getResultPrecision(unsigned) { return Precision::Wide; }

// A router's weights are f32, a number a row: they are rounded with the row that they scale, once.
Precision ExpertsOp::getOperandPrecision(unsigned index) { return index == 2 ? Precision::Wide : Precision::Compute; }
Precision ExpertsOp::getResultPrecision(unsigned) { return Precision::Compute; }

// All sum in f32, and what a parameter gets is added up in f32.
bool ContractOp::canWidenResult() { return true; }
bool GroupedContractOp::canWidenResult() { return true; }
bool ConvolutionKernelGradOp::canWidenResult() { return true; }
bool ExpertsWeightGradOp::canWidenResult() { return true; }
bool ScatterAddOp::canWidenResult() { return true; }
Precision ScatterAddOp::getResultPrecision(unsigned) { return Precision::Wide; }

// A sum of halves is an f32: losses, means, and all that is decomposed into them.
Precision ReduceOp::getOperandPrecision(unsigned) { return Precision::Follow; }
Precision ReduceOp::getResultPrecision(unsigned) {
  return getKind() == Reduction::Sum ? Precision::Wide : Precision::Follow;
}
bool ReduceOp::canWidenResult() { return getKind() == Reduction::Sum; }

namespace dtcc::graph {

/// Ops that neither mix cells nor sum follow their operands; what nobody thought of is safe in f32.
static Precision defaultOf(Operation *op) {
  return isa<CellOpInterface, IndexedCellOpInterface, ElementwiseOpInterface>(op) ? Precision::Follow : Precision::Wide;
}

Precision operandPrecision(Operation *op, unsigned operand) {
  auto known = dyn_cast<PrecisionOpInterface>(op);
  return known ? known.getOperandPrecision(operand) : defaultOf(op);
}

Precision resultPrecision(Operation *op, unsigned result) {
  auto known = dyn_cast<PrecisionOpInterface>(op);
  return known ? known.getResultPrecision(result) : defaultOf(op);
}

bool isHalf(Value value) {
  auto type = dyn_cast<FloatType>(elementOf(value));
  return type && type.getWidth() < 32;
}

bool widenInPlace(Value value) {
  auto known = dyn_cast_or_null<PrecisionOpInterface>(value.getDefiningOp());
  if (!known || !known.canWidenResult())
    return false;
  auto type = cast<ShapedType>(value.getType());
  value.setType(type.clone(Float32Type::get(type.getContext())));
  return true;
}

} // namespace dtcc::graph
