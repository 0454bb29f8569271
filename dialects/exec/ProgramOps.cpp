//===- ProgramOps.cpp - Verifiers of programs, buffers and views -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

LogicalResult ProgramOp::verifyRegions() {
  if (!getActions())
    return success();
  SmallVector<std::pair<StringRef, int64_t>> phases;
  for (auto phase : getBody().getOps<PhaseOp>())
    phases.push_back({phase.getSymName(), phase.getRepeat()});
  return verifyPhaseRuns(*this, getActions()->getRuns(), phases);
}

LogicalResult BufferOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto arena = symbols.lookupNearestSymbolFrom<ArenaOp>(*this, getArenaAttr());
  if (!arena)
    return emitOpError("must name an exec.arena, got: ") << getArenaAttr();
  if (auto offset = getOffset(); offset && *offset + getBytes() > arena.getBytes())
    return emitOpError("must end inside its arena of ") << arena.getBytes() << " bytes, got: " << *offset + getBytes();
  return success();
}

/// Returns the strides and the offset of a type, without affine maps if the buffer is row-major, as most are.
static LogicalResult getStridesAndOffset(MemRefType type, SmallVectorImpl<int64_t> &strides, int64_t &offset) {
  if (!type.getLayout().isIdentity() || !type.hasStaticShape())
    return type.getStridesAndOffset(strides, offset);
  offset = 0;
  strides.assign(type.getRank(), 1);
  for (int64_t dim = type.getRank() - 1; dim > 0; --dim)
    strides[dim - 1] = strides[dim] * type.getDimSize(dim);
  return success();
}

SmallVector<int64_t> dtcc::exec::getStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getStridesAndOffset(type, strides, offset)))
    strides.clear();
  return strides;
}

bool dtcc::exec::isDense(MemRefType type) {
  int64_t expected = 1;
  // Named: an adaptor holds a reference, which would outlive a temporary.
  SmallVector<int64_t> strides = getStrides(type);
  for (auto [size, stride] : llvm::reverse(llvm::zip_equal(type.getShape(), strides))) {
    if (size != 1 && stride != expected)
      return false;
    expected *= size;
  }
  return true;
}

int64_t dtcc::exec::getSpan(MemRefType type) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), getStrides(type))) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return (last + 1) * getElementBytes(type.getElementType());
}

LogicalResult SlotOrderOp::verify() {
  if (getOrder().empty())
    return emitOpError("must have a slot for each micro-batch, got none");
  if (const auto *bad = llvm::find_if(getOrder(), [](int64_t slot) { return slot < 0; }); bad != getOrder().end())
    return emitOpError("slot must be at least 0, got: ") << *bad;
  return success();
}

LogicalResult ViewOp::verify() {
  MemRefType type = getView().getType();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getStridesAndOffset(type, strides, offset)) || offset != 0 ||
      llvm::any_of(strides, [](int64_t s) { return ShapedType::isDynamic(s) || s < 0; }))
    return emitOpError("type must have static strides of at least 0 and no offset, got: ") << type;
  if (!type.getElementType().isIntOrFloat())
    return emitOpError("element type must be an integer or a float, got: ") << type.getElementType();
  if (getSlots() && !getSlotStride())
    return emitOpError("must have a slot stride to use slots again, got slots: ") << *getSlots();
  if (getSlotOrder() && (getSlots() || !getSlotStride()))
    return emitOpError("must have a slot stride and no number of slots to follow an order, got: ")
           << getSlotOrderAttr();
  if (getBlockDim() && int64_t(*getBlockDim()) >= type.getRank())
    return emitOpError("block dimension must be below the rank ") << type.getRank() << ", got: " << *getBlockDim();
  if (getOffset() % getElementBytes(type.getElementType()) != 0)
    return emitOpError("offset must be a multiple of the element size, got: ") << getOffset();
  return success();
}

LogicalResult ViewOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto buffer = symbols.lookupNearestSymbolFrom<BufferOp>(*this, getBufferAttr());
  if (!buffer)
    return emitOpError("must name an exec.buffer, got: ") << getBufferAttr();
  if (getBlockOfAttr() && !symbols.lookupNearestSymbolFrom<CommunicatorOp>(*this, getBlockOfAttr()))
    return emitOpError("block must be of an exec.communicator, got: ") << getBlockOfAttr();
  if (getSlotOrderAttr() && !symbols.lookupNearestSymbolFrom<SlotOrderOp>(*this, getSlotOrderAttr()))
    return emitOpError("must follow an exec.slot_order, got: ") << getSlotOrderAttr();
  // Further slots and blocks are checked where the mesh is known: by exec-verify.
  if (int64_t end = getOffset() + getSpan(getView().getType()); end > int64_t(buffer.getBytes()))
    return emitOpError("must end inside its buffer of ") << buffer.getBytes() << " bytes, got: " << end;
  return success();
}

LogicalResult InputOp::verify() {
  size_t rank = getSizes().size();
  if (getPadded().size() != rank || getAxes().size() != rank)
    return emitOpError("must have sizes, padded sizes and axes of one rank: ") << rank;
  if (getView() && cast<MemRefType>(getView().getType()).getRank() != int64_t(rank))
    return emitOpError("view must have the rank of the input: ") << rank;
  if (getBounds() && getBounds()->size() != 3)
    return emitOpError("bounds must be lower, upper and ignore");
  for (Attribute axes : getAxes())
    if (!isa<ArrayAttr>(axes) || !llvm::all_of(cast<ArrayAttr>(axes), llvm::IsaPred<StringAttr>))
      return emitOpError("axes must be a list of names per dimension, got: ") << axes;
  return success();
}
