//===- FusedOps.cpp - Verifiers of fused ops and kernel functions -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"

using namespace mlir;
using namespace dtcc::exec;

LogicalResult FusedOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("body must take the operands' types");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("body must end in exec.yield");
  if (yield.getValues().getTypes() != getOutputs().getTypes())
    return yield.emitOpError("must yield the result types of exec.fused");
  return success();
}

YieldOp FuncOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

MemRefType FuncOp::getInputBuffer(unsigned i) { return cast<MemRefType>(cast<TypeAttr>(getBuffers()[i]).getValue()); }

MemRefType FuncOp::getOutputBuffer(unsigned i) { return getInputBuffer(getBody().front().getNumArguments() + i); }

/// A buffer must hold its tensor: equal shape and element type, known strides.
static LogicalResult verifyBuffer(FuncOp op, Attribute buffer, Type tensor) {
  auto memref = dyn_cast<MemRefType>(cast<TypeAttr>(buffer).getValue());
  auto shaped = cast<ShapedType>(tensor);
  if (!memref || memref.getShape() != shaped.getShape() || memref.getElementType() != shaped.getElementType())
    return op.emitOpError("buffer must have the shape and element type of ") << tensor << ", got: " << buffer;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)) || llvm::any_of(strides, ShapedType::isDynamic) ||
      offset != 0)
    return op.emitOpError("buffer must have static strides and no offset, got: ") << buffer;
  return success();
}

LogicalResult FuncOp::verifyRegions() {
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("body must end in exec.yield");
  SmallVector<Type> tensors(block.getArgumentTypes());
  llvm::append_range(tensors, yield.getValues().getTypes());
  if (getBuffers().size() != tensors.size())
    return emitOpError("must have one buffer per argument and yielded value: ")
           << tensors.size() << ", got: " << getBuffers().size();
  for (auto [buffer, tensor] : llvm::zip_equal(getBuffers(), tensors))
    if (failed(verifyBuffer(*this, buffer, tensor)))
      return failure();

  size_t outputs = yield.getValues().size();
  if (getAccumulate().size() != outputs || getInPlace().size() != outputs)
    return emitOpError("accumulate and in_place must have one entry per yielded value: ") << outputs;
  for (int64_t mode : getAccumulate())
    if (mode < 0 || mode > 2)
      return emitOpError("accumulate must be 0, 1 or 2, got: ") << mode;
  for (auto [i, argument] : llvm::enumerate(getInPlace())) {
    if (argument < -1 || argument >= int64_t(block.getNumArguments()))
      return emitOpError("in_place must name an argument or be -1, got: ") << argument;
    if (argument >= 0 && getInputBuffer(argument) != getOutputBuffer(i))
      return emitOpError("in_place must name a buffer of equal type: ")
             << getInputBuffer(argument) << " is not " << getOutputBuffer(i);
  }
  return success();
}
