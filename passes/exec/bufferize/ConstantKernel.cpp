//===- ConstantKernel.cpp - Kernels that are written by hand -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/ConstantKernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/abi/dtcc_rt.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

/// A kernel over `bytes` bytes with an empty entry block; the builder stands in it.
static LLVM::LLVMFuncOp makeKernel(OpBuilder &builder, Location loc, StringAttr name, int64_t bytes) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer, pointer, i64, i64});
  auto func = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  func->setAttr("dtcc.extent", builder.getI64IntegerAttr(bytes));
  func->setAttr("dtcc.grain", builder.getI64IntegerAttr(1 << 16));
  func->setAttr("dtcc.flops", builder.getF64FloatAttr(0));
  func->setAttr("dtcc.bytes", builder.getF64FloatAttr(2.0 * bytes));
  builder.setInsertionPointToStart(func.addEntryBlock(builder));
  return func;
}

/// The address `begin` bytes into buffer `index`.
static Value addressOf(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp func, int64_t index) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, func.getArgument(1), LLVM::GEPArg(index));
  Value base = LLVM::LoadOp::create(builder, loc, pointer, slot);
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base, func.getArgument(2));
}

LogicalResult dtcc::exec::emitConstant(Operation *op, ElementsAttr value, const Place &to, Bufferizer &b) {
  Location loc = op->getLoc();
  int64_t bytes = to.elements() * getElementBytes(to.element);
  if (bytes > (int64_t(64) << 20))
    return op->emitOpError("constant must have at most 64 MiB, got: ") << bytes << " bytes";
  Place dense = to.isDense() ? to : b.allocate(RankedTensorType::get(to.sizes, to.element), "constant");

  OpBuilder builder = OpBuilder::atBlockBegin(b.module().getBody());
  StringAttr data = b.uniqueName("constant_data"), name = b.uniqueName("constant_kernel");
  // A boolean is one byte in memory, and one bit in an attribute.
  Type stored = to.element.isInteger(1) ? Type(builder.getI8Type()) : to.element;
  DenseElementsAttr cells;
  auto type = RankedTensorType::get({to.elements()}, stored);
  if (to.element.isInteger(1)) {
    SmallVector<int8_t> bits;
    for (bool bit : value.getValues<bool>())
      bits.push_back(bit);
    cells = DenseElementsAttr::get(type, ArrayRef<int8_t>(bits));
  } else {
    SmallVector<Attribute> values(value.getValues<Attribute>());
    cells = DenseElementsAttr::get(type, values);
  }
  auto array = LLVM::LLVMArrayType::get(stored, to.elements());
  auto global = LLVM::GlobalOp::create(builder, loc, array, /*isConstant=*/true, LLVM::Linkage::Internal, data, cells);
  LLVM::LLVMFuncOp func = makeKernel(builder, loc, name, bytes);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value base = LLVM::AddressOfOp::create(builder, loc, global);
  Value from = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base, func.getArgument(2));
  Value count = LLVM::SubOp::create(builder, loc, func.getArgument(3), func.getArgument(2));
  LLVM::MemcpyOp::create(builder, loc, addressOf(builder, loc, func, 0), from, count, /*isVolatile=*/false);
  LLVM::ReturnOp::create(builder, loc, ValueRange());

  b.callKernel(name, {}, {dense});
  if (!to.isDense())
    b.copy(dense, to);
  return success();
}

void dtcc::exec::emitZeroFill(Location loc, const Place &from, const Place &to, ArrayAttr axes, Bufferizer &b) {
  OpBuilder builder = OpBuilder::atBlockBegin(b.module().getBody());
  StringAttr name = b.uniqueName("zero_fill");
  LLVM::LLVMFuncOp func = makeKernel(builder, loc, name, from.elements() * getElementBytes(from.element));
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  Value field = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), func.getArgument(0),
                                    LLVM::GEPArg(int32_t(offsetof(dtcc_rank, coordinates))));
  Value coordinates = LLVM::LoadOp::create(builder, loc, pointer, field);
  // Member 0 has coordinate 0 on every axis.
  Value any = LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(0)), zero = any;
  for (const std::string &axis : dist::toAxes(axes)) {
    auto found = llvm::find_if(b.mesh().axes, [&](const dist::MeshAxis &a) { return a.name == axis; });
    int32_t index = found - b.mesh().axes.begin();
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, i64, coordinates, LLVM::GEPArg(index));
    any = LLVM::OrOp::create(builder, loc, any, LLVM::LoadOp::create(builder, loc, i64, slot));
  }
  Value first = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, any, zero);
  Value in = addressOf(builder, loc, func, 0), out = addressOf(builder, loc, func, 1);
  Value count = LLVM::SubOp::create(builder, loc, func.getArgument(3), func.getArgument(2));
  Block *copies = func.addBlock(), *clears = func.addBlock();
  LLVM::CondBrOp::create(builder, loc, first, copies, clears);
  builder.setInsertionPointToStart(copies);
  LLVM::MemcpyOp::create(builder, loc, out, in, count, /*isVolatile=*/false);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPointToStart(clears);
  Value byte = LLVM::ConstantOp::create(builder, loc, builder.getI8Type(), builder.getI8IntegerAttr(0));
  LLVM::MemsetOp::create(builder, loc, out, byte, count, /*isVolatile=*/false);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  b.callKernel(name, {from}, {to});
}
