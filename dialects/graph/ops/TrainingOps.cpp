//===- TrainingOps.cpp - Verifiers of state and its update
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

LogicalResult StateOp::verify() {
  auto type = cast<ShapedType>(getType());
  if (product(type.getShape()) != product(getSavedShape()))
    return emitOpError() << "saved_shape must have as many cells as the type, got: "
                         << static_cast<int64_t>(product(getSavedShape())) << " and "
                         << static_cast<int64_t>(product(type.getShape()));
  if (!getValue() && !getInit())
    return emitOpError("needs a value or an init");
  if (auto value = getValue()) {
    auto valueType = cast<ShapedType>(value->getType());
    bool floats = isa<FloatType>(valueType.getElementType()) && isa<FloatType>(type.getElementType());
    if ((valueType.getElementType() != type.getElementType() && !floats) || valueType.getShape() != type.getShape())
      return emitOpError() << "value must have the shape of the state, and its element type or another of floats, got: "
                           << valueType;
  }
  for (Attribute slot : getSlotsAttr() ? getSlotsAttr().getValue() : ArrayRef<Attribute>())
    if (auto slotType = cast<ElementsAttr>(slot).getShapedType();
        slotType.getShape() != getSavedShape() || slotType.getElementType() != type.getElementType())
      return emitOpError() << "slots must have the saved shape and the element type of the state, got: " << slotType;
  if (getLrScale() && !(getLrScale()->convertToDouble() >= 0))
    return emitOpError() << "lr_scale must be at least 0, got: " << getLrScale()->convertToDouble();
  if (getWeightDecay() && !(getWeightDecay()->convertToDouble() >= 0))
    return emitOpError() << "weight_decay must be at least 0, got: " << getWeightDecay()->convertToDouble();
  if (getTrainable() && !isa<FloatType>(type.getElementType()))
    return emitOpError() << "a trainable state must hold floats, got: " << type.getElementType();
  return success();
}

/// Finds the state and checks that `type` is its type; local and distributed values
/// of a state differ in shape and are checked where they are made.
static LogicalResult verifyAccess(Operation *op, FlatSymbolRefAttr name, Type type, SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state)
    return op->emitOpError() << "must name a graph.state, got: " << name;
  if (isa<RankedTensorType>(type) && type != state.getType())
    return op->emitOpError() << "type must be that of " << name << ", " << state.getType() << ", got: " << type;
  return success();
}

SmallVector<StateAccess, 1> ReadOp::getStateAccesses() { return {{StateAccessKind::Read, getState(), getY()}}; }
SmallVector<StateAccess, 1> WriteOp::getStateAccesses() { return {{StateAccessKind::Write, getState(), getX()}}; }
SmallVector<StateAccess, 1> UpdateOp::getStateAccesses() {
  SmallVector<StateAccess, 1> accesses;
  for (auto [state, gradient] : llvm::zip_equal(getStates(), getGradients()))
    accesses.push_back({StateAccessKind::Update, cast<FlatSymbolRefAttr>(state).getValue(), gradient});
  return accesses;
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAccess(*this, getStateAttr(), getY().getType(), symbols);
}
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAccess(*this, getStateAttr(), getX().getType(), symbols);
}
LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto [name, gradient] : llvm::zip_equal(getStates(), getGradients())) {
    if (failed(verifyAccess(*this, cast<FlatSymbolRefAttr>(name), gradient.getType(), symbols)))
      return failure();
    auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, cast<FlatSymbolRefAttr>(name));
    if (!state.getTrainable())
      return emitOpError() << "must update trainable states only, got: " << name;
  }
  if (auto scaling = getLossScale())
    for (FlatSymbolRefAttr name : {scaling->getScale(), scaling->getStreak(), scaling->getSkipped()}) {
      auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, name);
      auto type = state ? cast<ShapedType>(state.getType()) : ShapedType();
      if (!state || type.getRank() != 0 || !type.getElementType().isF32())
        return emitOpError() << "loss scale must name states of one f32, got: " << name;
    }
  return success();
}

LogicalResult UpdateOp::verify() {
  if (getStates().size() != getGradients().size())
    return emitOpError() << "needs one gradient a state, got: " << getGradients().size() << " for "
                         << getStates().size();
  if (!isa<OptimizerAttrInterface>(getOptimizer()))
    return emitOpError() << "optimizer must be #graph.adam, #graph.sgd or another optimizer of the dialect, got: "
                         << getOptimizer();
  if (double average = getAverage().convertToDouble(); !(average >= 0 && average < 1))
    return emitOpError() << "average must be at least 0 and less than 1, got: " << average;
  if (getClip().isNegative())
    return emitOpError() << "clip must not be negative, got: " << getClip().convertToDouble();
  if (getEarly() && (getClip().isNonZero() || getLossScale()))
    return emitOpError("an early update must have neither clip nor loss scale, which need all gradients");
  // In a pipeline, each stage that reads a state gives its part of the gradient.
  llvm::DenseSet<Attribute> seen;
  for (auto [state, gradient] : llvm::zip_equal(getStates(), getGradients()))
    if (Operation *op = gradient.getDefiningOp(); !seen.insert(state).second && !(op && op->hasAttr("stage")))
      return emitOpError() << "must update a state once, got twice: " << state;
  return success();
}
