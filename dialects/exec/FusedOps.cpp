//===- FusedOps.cpp - Verifiers of fused ops and kernel functions -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/graph/ContractSpec.h"

using namespace mlir;
using namespace dtcc;
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

LogicalResult ProductOp::verify() {
  if (failed(graph::verifyContraction(*this, getSpec(), getLhs(), getRhs(), getY())))
    return failure();
  auto spec = graph::ContractSpec::parse(getSpec());
  auto typeOf = [](Value value) { return cast<ShapedType>(value.getType()); };
  llvm::SmallDenseMap<char, int64_t> sizes;
  for (auto [letters, value] : {std::pair(spec.lhs, getLhs()), {spec.rhs, getRhs()}, {spec.result, getY()}})
    for (auto [letter, size] : llvm::zip_equal(letters, typeOf(value).getShape()))
      if (sizes.try_emplace(letter, size).first->second != size)
        return emitOpError("letter '") << letter << "' must have one size, got: " << sizes[letter] << " and " << size;
  std::string columns;
  SmallVector<int64_t> columnSizes;
  for (char letter : spec.rhs) {
    if (StringRef(spec.result).contains(letter) && StringRef(spec.lhs).contains(letter))
      return emitOpError("must have no batch, got the letter '") << letter << "' in all of \"" << getSpec() << '"';
    if (StringRef(spec.result).contains(letter)) {
      columns += letter;
      columnSizes.push_back(sizes[letter]);
    }
  }
  if (int(getGelu()) + int(bool(getSlope())) + int(bool(getSums())) > 1 || (getBias() && (getSlope() || getSums())))
    return emitOpError("must have a bias, gelu or both, or a slope, or sums");
  if (getKept() && !getGelu())
    return emitOpError("must take gelu to keep what it was taken of");
  if (getSums()) {
    if (getSums().getType() != typeOf(getY()).clone(columnSizes))
      return emitOpError("sums must be ") << typeOf(getY()).clone(columnSizes) << ", got: " << getSums().getType();
    return success();
  }
  StringRef last = StringRef(spec.result).take_back(columns.size());
  if (!llvm::all_of(last, [&](char letter) { return StringRef(columns).contains(letter); }))
    return emitOpError("letters of rhs alone must stand last in the result, got: \"") << getSpec() << '"';
  auto row = typeOf(getY()).clone(typeOf(getY()).getShape().take_back(columns.size()));
  if (getBias() && getBias().getType() != row)
    return emitOpError("bias must be ") << row << ", got: " << getBias().getType();
  for (Value same : {getSlope(), getKept()})
    if (same && same.getType() != getY().getType())
      return emitOpError("must take and keep activations as ") << getY().getType() << ", got: " << same.getType();
  return success();
}

YieldOp FuncOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

MemRefType FuncOp::getInputBuffer(unsigned i) { return cast<MemRefType>(cast<TypeAttr>(getBuffers()[i]).getValue()); }

MemRefType FuncOp::getOutputBuffer(unsigned i) { return getInputBuffer(getBody().front().getNumArguments() + i); }

/// Whether values of type `from` are rounded when they are stored as `to`.
static bool rounds(Type from, Type to) {
  auto wide = dyn_cast<FloatType>(from), narrow = dyn_cast<FloatType>(to);
  return wide && narrow && narrow.getWidth() < wide.getWidth();
}

/// A buffer must hold its tensor: equal shape, known strides, and the element type, or a narrower one if it `mayRound`.
static LogicalResult verifyBuffer(FuncOp op, Attribute buffer, Type tensor, bool mayRound) {
  auto memref = dyn_cast<MemRefType>(cast<TypeAttr>(buffer).getValue());
  auto shaped = cast<ShapedType>(tensor);
  if (!memref || memref.getShape() != shaped.getShape() ||
      (memref.getElementType() != shaped.getElementType() &&
       !(mayRound && rounds(shaped.getElementType(), memref.getElementType()))))
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
  for (auto [number, buffer, tensor] : llvm::enumerate(getBuffers(), tensors))
    if (failed(verifyBuffer(*this, buffer, tensor, /*mayRound=*/number >= block.getNumArguments())))
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
