//===- CommandOps.cpp - Verifiers of commands -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "runtime/abi/dtcc_rt.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

std::optional<uint32_t> dtcc::exec::getLibraryOp(StringRef mnemonic) {
  return llvm::StringSwitch<std::optional<uint32_t>>(mnemonic)
#define DTCC_LIBRARY_OP(NAME, MNEMONIC, DESCRIPTION) .Case(MNEMONIC, DTCC_LIB_##NAME)
#include "runtime/abi/LibraryOps.def"
      .Default(std::nullopt);
}

bool dtcc::exec::opStreams(StringRef mnemonic) {
  std::optional<uint32_t> op = getLibraryOp(mnemonic);
  return op && dtcc_streams(*op);
}

double dtcc::exec::bytesMoved(CommandOpInterface command) {
  auto bytes = [](Value view) { return double(getBytes(cast<MemRefType>(view.getType()))); };
  double moved = 0;
  for (Value view : command.getIns())
    moved += bytes(view);
  for (auto [index, view] : llvm::enumerate(command.getOuts()))
    moved += bytes(view) * (command.readsOut(index) ? 2 : 1);
  return moved;
}

std::optional<uint8_t> dtcc::exec::getDType(Type type) {
  if (type.isF32())
    return DTCC_F32;
  if (type.isF64())
    return DTCC_F64;
  if (type.isBF16())
    return DTCC_BF16;
  if (type.isF16())
    return DTCC_F16;
  if (!type.isInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return DTCC_I64;
  case 32:
    return DTCC_I32;
  case 16:
    return DTCC_I16;
  case 8:
    return DTCC_I8;
  case 1:
    return DTCC_BOOL;
  default:
    return std::nullopt;
  }
}

LogicalResult KernelOp::verify() {
  if (getAccumulates() && getAccumulates()->size() != getOuts().size())
    return emitOpError("accumulates must have one entry per output: ") << getOuts().size();
  return success();
}

LogicalResult LibraryOp::verify() {
  if (!getLibraryOp(getOp()))
    return emitOpError("must name an op of runtime/abi/LibraryOps.def, got: \"") << getOp() << '"';
  for (Attribute attribute : getParameters()) {
    bool known = isa<FlatSymbolRefAttr, UnitAttr>(attribute) ||
                 (isa<IntegerAttr>(attribute) && cast<IntegerAttr>(attribute).getType().isSignlessInteger(64)) ||
                 (isa<FloatAttr>(attribute) && cast<FloatAttr>(attribute).getType().isF64());
    if (!known)
      return emitOpError("parameter must be an i64, an f64, a symbol or unit, got: ") << attribute;
  }
  if (getPredicated()) {
    // A library of products asks none: with one, our own kernels would multiply, far slower.
    if (getOp() == "matmul" || getOp() == "matmul_epilogue")
      return emitOpError("cannot have a predicate: libraries of products read none, got: \"") << getOp() << '"';
    auto type = getIns().empty() ? MemRefType() : cast<MemRefType>(getIns().back().getType());
    if (!type || type.getNumElements() != 1 || !type.getElementType().isInteger(32))
      return emitOpError("must have one i32 as last input, its predicate");
  }
  return success();
}

/// Fails unless the command has `ins` inputs and `outs` outputs.
template <typename Op> static LogicalResult verifyCounts(Op op, size_t ins, size_t outs) {
  if (op.getIns().size() != ins || op.getOuts().size() != outs)
    return op.emitOpError("must have ") << ins << " inputs and " << outs << " outputs, got: " << op.getIns().size()
                                        << " and " << op.getOuts().size();
  return success();
}

/// The sizes are the image's matter: they depend on the group.
static LogicalResult verifyRowExchange(CollectiveOp op) {
  // With or without the room for rows that wait to be sent.
  size_t outs = op.getKind() == CollectiveKind::CombineRows ? 3 : 2;
  if (failed(verifyCounts(op, 2, std::max(outs, std::min<size_t>(op.getOuts().size(), outs + 1)))))
    return failure();
  auto type = [](Value value) { return cast<MemRefType>(value.getType()); };
  for (ValueRange views : {ValueRange(op.getIns()), ValueRange(op.getOuts())})
    for (Value view : views)
      if (!isDense(type(view)))
        return op.emitOpError("views must be dense, got: ") << type(view);
  if (type(op.getIns()[0]).getElementType() != type(op.getOuts()[0]).getElementType())
    return op.emitOpError("must have one element type");
  if (!type(op.getIns()[1]).getElementType().isInteger() || !type(op.getOuts().back()).getElementType().isInteger(64))
    return op.emitOpError("picks and lists must be integers, got: ")
           << type(op.getIns()[1]) << " and " << type(op.getOuts().back());
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (auto phase = (*this)->getParentOfType<PhaseOp>(); getSlot() && *getSlot() >= phase.getRepeat())
    return emitOpError("slot must be one of the ") << phase.getRepeat() << " of its phase, got: " << *getSlot();
  const CollectiveInfo &info = infoOf(getKind());
  if (info.in == Extent::None)
    return verifyCounts(*this, 0, 0);
  bool exchangesRows = info.traffic == Traffic::ToPicked;
  if (exchangesRows != getExperts().has_value())
    return emitOpError("must have a member's number of experts if it moves rows to them, and only then");
  if (getRoom() && !exchangesRows)
    return emitOpError("must have no room for rows, because it moves none to experts");
  if (exchangesRows)
    return verifyRowExchange(*this);
  if (failed(verifyCounts(*this, 1, 1)))
    return failure();
  auto in = cast<MemRefType>(getIns()[0].getType()), out = cast<MemRefType>(getOuts()[0].getType());
  if (in.getElementType() != out.getElementType())
    return emitOpError("must have one element type");
  for (MemRefType type : {in, out})
    if (!isDense(type))
      return emitOpError("views must be dense, got: ") << type;
  if (info.in == info.out && in.getNumElements() != out.getNumElements())
    return emitOpError("input and output must have one size, got: ")
           << in.getNumElements() << " and " << out.getNumElements();
  return success();
}

LogicalResult SendOp::verify() {
  if (failed(verifyCounts(*this, 1, 0)))
    return failure();
  auto type = cast<MemRefType>(getIns()[0].getType());
  return isDense(type) ? success() : emitOpError("view must be dense, got: ") << type;
}

LogicalResult ReceiveOp::verify() {
  if (failed(verifyCounts(*this, 0, 1)))
    return failure();
  auto type = cast<MemRefType>(getOuts()[0].getType());
  return isDense(type) ? success() : emitOpError("view must be dense, got: ") << type;
}

LogicalResult CopyOp::verify() {
  if (failed(verifyCounts(*this, 1, 1)))
    return failure();
  auto in = cast<MemRefType>(getIns()[0].getType()), out = cast<MemRefType>(getOuts()[0].getType());
  if (in.getShape() != out.getShape() || in.getElementType() != out.getElementType())
    return emitOpError("both sides must have one shape and element type, got: ") << in << " and " << out;
  return success();
}

LogicalResult FillOp::verify() {
  if (failed(verifyCounts(*this, 0, 1)))
    return failure();
  Type element = cast<MemRefType>(getOuts()[0].getType()).getElementType();
  if (getValue().getType() != element)
    return emitOpError("value must have the element type ") << element << ", got: " << getValue();
  return success();
}

//===----------------------------------------------------------------------===//
// The communication interface of commands
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Value view) { return getBytes(cast<MemRefType>(view.getType())); }
/// Number and type of elements. Sender and receiver may order dimensions differently.
static std::string describeView(Value view) {
  auto type = cast<MemRefType>(view.getType());
  std::string text;
  llvm::raw_string_ostream(text) << type.getNumElements() << " x " << type.getElementType();
  return text;
}

SmallVector<Communication, 1> CollectiveOp::getCommunications() {
  Communication exchange;
  exchange.collective = getKind();
  exchange.reduction = getReduction();
  exchange.communicator = getCommunicatorAttr();
  exchange.once = getSlot().has_value();
  if (exchange.info().in != Extent::None) {
    exchange.bytesIn = bytesOf(getIns()[0]);
    exchange.bytesOut = bytesOf(getOuts()[0]);
  }
  if (exchange.info().traffic == Traffic::ToPicked)
    exchange.picks = cast<MemRefType>(getIns()[1].getType()).getShape().back();
  return {exchange};
}
std::string CollectiveOp::describeContent() { return llvm::join(llvm::map_range(getOuts(), describeView), " of "); }

SmallVector<Communication, 1> SendOp::getCommunications() {
  Communication message;
  message.communicator = getCommunicatorAttr();
  message.bytesIn = bytesOf(getIns().front());
  message.sends = true;
  message.peer = getPeer();
  message.room = getRoom();
  return {message};
}
std::string SendOp::describeContent() { return describeView(getIns().front()); }

SmallVector<Communication, 1> ReceiveOp::getCommunications() {
  Communication message;
  message.communicator = getCommunicatorAttr();
  message.bytesOut = bytesOf(getOuts().front());
  message.peer = getPeer();
  return {message};
}
std::string ReceiveOp::describeContent() { return describeView(getOuts().front()); }
