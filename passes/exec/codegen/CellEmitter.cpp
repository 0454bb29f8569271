//===- CellEmitter.cpp - The code of one cell of a kernel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers are addressed with the LLVM dialect: a kernel sees bare pointers, no memref
// descriptors. Booleans are bytes in memory and i1 in registers.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/CellEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/exec/codegen/WidenHalves.h"

using namespace mlir;

namespace dtcc::exec {

Value CellEmitter::constantI64(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

Value CellEmitter::splat(Value scalar) {
  return vector::BroadcastOp::create(builder, loc, lanesOf(scalar.getType()), scalar);
}

bool CellEmitter::isRowLevel(Value value) const {
  return domain.kind == KernelKind::Row &&
         llvm::none_of(domain.maps.lookup(value), [&](int64_t dim) { return domain.isReduced(dim); });
}

Value CellEmitter::vectorOf(Value value) {
  if (isRowLevel(value))
    return splat(scalarOf(value));
  if (Value known = cells.lookup(value))
    return known;
  Value result;
  Operation *op = value.getDefiningOp();
  if (auto access = accesses.find(value); access != accesses.end()) {
    result = access->second.pointer ? loadVector(access->second)
                                    : iotaVector(access->second, cast<ShapedType>(value.getType()).getElementType());
  } else if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    result = constantOf(constant, /*vector=*/true);
  } else if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
    result = vectorOf(broadcast.getX());
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(vectorOf(operand));
    result = cellOf(op, operands, /*vector=*/true);
  }
  return cells[value] = result;
}

Value CellEmitter::scalarOf(Value value) {
  if (Value known = rowCells.lookup(value))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  if (innerLoop)
    builder.setInsertionPoint(innerLoop);
  Value result;
  Operation *op = value.getDefiningOp();
  if (auto access = accesses.find(value); access != accesses.end()) {
    if (access->second.pointer) {
      result = loadScalar(access->second);
    } else {
      result = offsetOf(access->second);
      Type elementType = cast<ShapedType>(value.getType()).getElementType();
      if (isa<FloatType>(elementType))
        result = arith::SIToFPOp::create(builder, loc, elementType, result);
      else if (elementType != result.getType())
        result = arith::TruncIOp::create(builder, loc, elementType, result);
    }
  } else if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    result = constantOf(constant, /*vector=*/false);
  } else if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
    result = scalarOf(broadcast.getX());
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(scalarOf(operand));
    result = cellOf(op, operands, /*vector=*/false);
  }
  return rowCells[value] = result;
}

Value CellEmitter::cellOf(Operation *op, ValueRange operands, bool vector) {
  auto indexed = dyn_cast<graph::IndexedCellOpInterface>(op);
  if (!indexed)
    return cast<graph::ElementwiseOpInterface>(op).buildCell(builder, loc, operands);
  const CellAccess &access = indices.find(op->getResult(0))->second;
  Value index = vector ? laneOffsets(access, offsetOf(access)) : offsetOf(access);
  return indexed.buildIndexedCell(builder, loc, operands, index, seed, step);
}

Value CellEmitter::constantOf(graph::ConstantOp op, bool vector) {
  auto value = cast<DenseElementsAttr>(op.getValue()).getSplatValue<TypedAttr>();
  if (!vector)
    return arith::ConstantOp::create(builder, loc, value);
  VectorType type = lanesOf(value.getType());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, Attribute(value)));
}

// The indices of loops that do not exist at row level (inside a row) are absent.
Value CellEmitter::offsetOf(const CellAccess &access) {
  Value offset = access.start ? constantI64(access.start) : Value();
  if (access.offset)
    offset = offset ? arith::AddIOp::create(builder, loc, offset, access.offset).getResult() : access.offset;
  for (auto [index, stride] : llvm::zip(here.indices, access.strides)) {
    if (stride == 0 || !index)
      continue;
    Value term = stride == 1 ? index : arith::MulIOp::create(builder, loc, index, constantI64(stride)).getResult();
    offset = offset ? arith::AddIOp::create(builder, loc, offset, term).getResult() : term;
  }
  return offset ? offset : constantI64(0);
}

static Type memoryType(Type elementType) {
  return elementType.isInteger(1) ? IntegerType::get(elementType.getContext(), 8) : bitsOfHalf(elementType);
}

/// A cell as it is computed with, of what memory holds, and back.
static Value fromMemory(OpBuilder &builder, Location loc, Value stored, Type elementType) {
  if (elementType.isBF16() || elementType.isF16())
    return fromHalf(builder, loc, stored, elementType);
  if (!elementType.isInteger(1))
    return stored;
  auto vector = dyn_cast<VectorType>(stored.getType());
  return arith::TruncIOp::create(builder, loc, vector ? Type(vector.clone(elementType)) : elementType, stored);
}
static Value toMemory(OpBuilder &builder, Location loc, Value value, Type elementType) {
  if (elementType.isBF16() || elementType.isF16())
    return toHalf(builder, loc, value, elementType);
  if (!elementType.isInteger(1))
    return value;
  Type memory = memoryType(elementType);
  auto vector = dyn_cast<VectorType>(value.getType());
  return arith::ExtUIOp::create(builder, loc, vector ? Type(vector.clone(memory)) : memory, value);
}

static unsigned alignmentOf(Type elementType) { return std::max(1u, elementType.getIntOrFloatBitWidth() / 8); }

Value CellEmitter::addressOf(const CellAccess &access, Value offset) {
  return LLVM::GEPOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                             memoryType(access.elementType), access.pointer, ValueRange{offset});
}

Value CellEmitter::laneOffsets(const CellAccess &access, Value offset) {
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(lane * access.strides.back());
  VectorType type = lanesOf(builder.getI64Type());
  Value each = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef(steps)));
  return arith::AddIOp::create(builder, loc, splat(offset), each);
}

unsigned CellEmitter::vectorAlignment(Type memory) const {
  // Wider ones are read and written in parts.
  return aligned ? std::min(alignmentOf(memory) * unsigned(lanes), kVectorBytes) : alignmentOf(memory);
}

static Value allLanes(OpBuilder &builder, Location loc, VectorType i1) {
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(i1, true));
}

Value CellEmitter::loadScalar(const CellAccess &access) {
  Value address = addressOf(access, offsetOf(access));
  Type memory = memoryType(access.elementType);
  Value value = LLVM::LoadOp::create(builder, loc, memory, address, alignmentOf(memory));
  return fromMemory(builder, loc, value, access.elementType);
}

Value CellEmitter::loadVector(const CellAccess &access) {
  int64_t stride = access.strides.back();
  if (stride == 0)
    return splat(loadScalar(access));
  Type memory = memoryType(access.elementType);
  VectorType type = lanesOf(memory);
  VectorType i1 = lanesOf(builder.getI1Type());
  Value offset = offsetOf(access);
  Value value;
  if (stride == 1 && !here.mask) {
    value = LLVM::LoadOp::create(builder, loc, type, addressOf(access, offset), vectorAlignment(memory));
  } else {
    Value nothing = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    Value mask = here.mask ? here.mask : allLanes(builder, loc, i1);
    if (stride == 1) {
      value = LLVM::MaskedLoadOp::create(builder, loc, type, addressOf(access, offset), mask, nothing,
                                         builder.getI32IntegerAttr(alignmentOf(memory)));
    } else {
      Type pointers = VectorType::get({lanes}, LLVM::LLVMPointerType::get(builder.getContext()));
      Value addresses =
          LLVM::GEPOp::create(builder, loc, pointers, memory, access.pointer, ValueRange{laneOffsets(access, offset)});
      value = LLVM::masked_gather::create(builder, loc, type, addresses, mask, nothing,
                                          builder.getI32IntegerAttr(alignmentOf(memory)));
    }
  }
  return fromMemory(builder, loc, value, access.elementType);
}

Value CellEmitter::iotaVector(const CellAccess &access, Type elementType) {
  Value counts = laneOffsets(access, offsetOf(access));
  VectorType type = lanesOf(elementType);
  if (isa<FloatType>(elementType))
    return arith::SIToFPOp::create(builder, loc, type, counts);
  if (elementType.isInteger(64))
    return counts;
  return arith::TruncIOp::create(builder, loc, type, counts);
}

/// old + value, or value where the memory starts anew.
static Value accumulated(OpBuilder &builder, Location loc, Value old, Value value, int64_t accumulate,
                         Value firstSlot) {
  Value sum = arith::AddFOp::create(builder, loc, old, value);
  if (accumulate == 1)
    return sum;
  return arith::SelectOp::create(builder, loc, firstSlot, value, sum);
}

void CellEmitter::storeScalar(const CellAccess &access, Value scalar, int64_t accumulate, Value firstSlot) {
  if (accumulate)
    scalar = accumulated(builder, loc, loadScalar(access), scalar, accumulate, firstSlot);
  Type memory = memoryType(access.elementType);
  scalar = toMemory(builder, loc, scalar, access.elementType);
  LLVM::StoreOp::create(builder, loc, scalar, addressOf(access, offsetOf(access)), alignmentOf(memory));
}

void CellEmitter::storeVector(const CellAccess &access, Value vector, int64_t accumulate, Value firstSlot) {
  if (accumulate)
    vector = accumulated(builder, loc, loadVector(access), vector, accumulate, firstSlot);
  Type memory = memoryType(access.elementType);
  vector = toMemory(builder, loc, vector, access.elementType);
  Value offset = offsetOf(access);
  if (access.strides.back() == 1 && !here.mask) {
    LLVM::StoreOp::create(builder, loc, vector, addressOf(access, offset), vectorAlignment(memory));
    return;
  }
  if (access.strides.back() == 1) {
    LLVM::MaskedStoreOp::create(builder, loc, vector, addressOf(access, offset), here.mask,
                                builder.getI32IntegerAttr(alignmentOf(memory)));
    return;
  }
  Value mask = here.mask ? here.mask : allLanes(builder, loc, lanesOf(builder.getI1Type()));
  Type pointers = VectorType::get({lanes}, LLVM::LLVMPointerType::get(builder.getContext()));
  Value addresses =
      LLVM::GEPOp::create(builder, loc, pointers, memory, access.pointer, ValueRange{laneOffsets(access, offset)});
  LLVM::masked_scatter::create(builder, loc, vector, addresses, mask, builder.getI32IntegerAttr(alignmentOf(memory)));
}

} // namespace dtcc::exec
