//===- LowerPrecision.cpp - Compute in bf16 or f16
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over @loss, before it is differentiated: the gradient of a cast is a cast, so
// the backward pass needs no policy of its own. What types an op wants is its own
// knowledge (dialects/graph/PrecisionPolicy.cpp); here is only where casts stand.
//
// Values that depend on states and constants alone ("weak" ones) stay in f32 until an op
// with data reads them: a parameter is converted once, behind the transposes and parts
// that are taken of it, and its gradient is an f32 from there on.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHLOWERPRECISION
#include "passes/graph/Passes.h.inc"

namespace {

class Lowering {
public:
  Lowering(func::FuncOp function, FloatType half)
      : function(function), half(half), single(Float32Type::get(function.getContext())),
        builder(function.getContext()) {}

  LogicalResult run() {
    Operation *end = function.front().getTerminator();
    for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator()))
      if (failed(visit(&op)))
        return failure();
    builder.setInsertionPoint(end);
    for (OpOperand &result : end->getOpOperands())
      if (isFloat(result.get()))
        convert(result, single);
    return success();
  }

private:
  LogicalResult visit(Operation *op);
  /// The type of an op that follows its operands.
  FloatType followed(Operation *op) const;
  FloatType typeFor(Precision precision, FloatType follow) const {
    return precision == Precision::Compute ? half : precision == Precision::Wide ? single : follow;
  }
  void convert(OpOperand &operand, FloatType type);
  /// `value` in `type`, made at the insertion point or before.
  Value converted(Value value, FloatType type);

  func::FuncOp function;
  FloatType half, single;
  OpBuilder builder;
  llvm::DenseSet<Value> weak;
  llvm::DenseMap<std::pair<Value, Type>, Value> known;
};

FloatType Lowering::followed(Operation *op) const {
  FloatType widest;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<FloatType>(elementOf(operand)); type && !weak.contains(operand))
      if (!widest || widest.getWidth() < type.getWidth())
        widest = type;
  return widest;
}

Value Lowering::converted(Value value, FloatType type) {
  if (elementOf(value) == type)
    return value;
  Value &result = known[{value, type}];
  if (result)
    return result;
  Build b(builder, value.getLoc());
  auto shaped = cast<ShapedType>(value.getType()).clone(type);
  Value made;
  if (auto number = splatValue(value))
    made = b.splat(shaped, *number);
  else if (auto repeated = value.getDefiningOp<BroadcastOp>(); repeated && weak.contains(value))
    made = b.broadcast(converted(repeated.getX(), type), shaped, repeated.getDims());
  else
    made = b.cast(value, type);
  // The map may have grown.
  return known[{value, type}] = made;
}

void Lowering::convert(OpOperand &operand, FloatType type) {
  Value value = operand.get();
  if (elementOf(value) == type)
    return;
  // A product that nobody else reads gives f32 at once.
  if (type == single && isHalf(value) && value.hasOneUse() && widenInPlace(value))
    return;
  operand.set(converted(value, type));
}

LogicalResult Lowering::visit(Operation *op) {
  auto isReal = [](Value value) { return isFloat(value); };
  if (llvm::none_of(op->getResults(), isReal) && llvm::none_of(op->getOperands(), isReal))
    return success();
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())))
    if (isReal(value) && elementOf(value) != single && elementOf(value) != half)
      return op->emitOpError() << "must compute in f32 to be lowered to " << half << ", got: " << value.getType();
  FloatType follow = followed(op);
  bool computes = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    computes |= isReal(op->getOperand(i)) && operandPrecision(op, i) == Precision::Compute;
  if (!follow && !computes) {
    weak.insert(op->result_begin(), op->result_end());
    return success();
  }
  if (!follow)
    follow = half;
  if (auto cast = dyn_cast<CastOp>(op)) {
    // The model's own: to f32 it is kept (of f32 it is nothing), to the compute type it is one of ours.
    if (isReal(cast.getY()) && elementOf(cast.getX()) == elementOf(cast.getY())) {
      cast.getY().replaceAllUsesWith(cast.getX());
      cast.erase();
    }
    return success();
  }
  builder.setInsertionPoint(op);
  for (OpOperand &operand : op->getOpOperands())
    if (isReal(operand.get()))
      convert(operand, typeFor(operandPrecision(op, operand.getOperandNumber()), follow));
  for (OpResult result : op->getResults())
    if (isReal(result))
      result.setType(llvm::cast<ShapedType>(result.getType())
                         .clone(typeFor(resultPrecision(op, result.getResultNumber()), follow)));
  if (auto known = dyn_cast<PrecisionOpInterface>(op))
    known.setComputeType(half);
  return success();
}

struct LowerPrecision : impl::GraphLowerPrecisionBase<LowerPrecision> {
  using GraphLowerPrecisionBase::GraphLowerPrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp function = findLoss(module);
    if (!function)
      return signalPassFailure();
    auto half = llvm::StringSwitch<FloatType>(compute)
                    .Case("bf16", BFloat16Type::get(&getContext()))
                    .Case("f16", Float16Type::get(&getContext()))
                    .Default(nullptr);
    if (!half) {
      module.emitError() << "compute type must be bf16 or f16, got: " << compute.getValue();
      return signalPassFailure();
    }
    if (failed(Lowering(function, half).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dtcc::graph
