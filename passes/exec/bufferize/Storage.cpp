//===- Storage.cpp - Memory that a program declares -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/Storage.h"
#include "dialects/graph/Graph.h"
#include "passes/exec/commands/Liveness.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

Value exec::createView(OpBuilder &builder, Location loc, const Place &place) {
  IntegerAttr slotStride, blockDim;
  FlatSymbolRefAttr blockOf;
  if (place.slotStride)
    slotStride = builder.getI64IntegerAttr(place.slotStride);
  if (place.blockOf) {
    assert(!place.isTorn() && "a view names the dimension along which blocks follow each other");
    blockDim = builder.getI64IntegerAttr(*place.blockDim());
    blockOf = FlatSymbolRefAttr::get(place.blockOf);
  }
  return ViewOp::create(builder, loc, place.type(), FlatSymbolRefAttr::get(place.buffer),
                        builder.getI64IntegerAttr(place.offset), slotStride, /*slots=*/nullptr,
                        /*slot_order=*/nullptr, blockDim, blockOf);
}

Storage::Storage(ModuleOp module, const SymbolTable &symbols, bool usesHost) : symbols(symbols), usesHost(usesHost) {
  for (Operation &op : module.getOps())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      names.insert(symbol.getName());
}

OpBuilder Storage::declarations() {
  return firstPhase ? OpBuilder(firstPhase) : OpBuilder::atBlockEnd(&program.getBody().front());
}

StringAttr Storage::uniqueName(StringRef prefix) {
  for (unsigned &i = firstFree[prefix];; ++i)
    if (std::string name = (prefix + "_" + Twine(i)).str(); names.insert(name).second)
      return StringAttr::get(program.getContext(), name);
}

ArenaOp Storage::arena(StringRef name, bool host) {
  ArenaOp &op = arenas[name];
  if (!op) {
    OpBuilder start = OpBuilder::atBlockBegin(&program.getBody().front());
    op = ArenaOp::create(start, program.getLoc(), name, 0, host);
  }
  return op;
}

StringAttr Storage::addBuffer(StringRef name, int64_t bytes, StringRef arenaName, bool persistent) {
  OpBuilder builder = declarations();
  StringAttr symbol = builder.getStringAttr(name);
  auto op = BufferOp::create(builder, program.getLoc(), symbol, bytes,
                             arena(arenaName, arenaName == kHostArena).getSymName(), nullptr, persistent, nullptr);
  buffers[symbol] = {persistent, op};
  return symbol;
}

Place Storage::allocate(ShapedType type, StringRef name, bool persistent) {
  StringAttr buffer = addBuffer(uniqueName(name), getBytes(type), persistent ? "inputs" : "activations", persistent);
  return Place::dense(buffer, type);
}

bool Storage::isTransient(FlatSymbolRefAttr symbol) const {
  spmd::BucketRole role = bucketOp(symbol).getRole();
  return role == spmd::BucketRole::Transient ||
         (role == spmd::BucketRole::Gradient && program->hasAttr(graph::kEarlyAttr));
}

Place Storage::bucket(FlatSymbolRefAttr symbol) {
  auto [entry, isNew] = buckets.try_emplace(symbol.getAttr());
  if (!isNew)
    return entry->second;
  spmd::BucketOp op = bucketOp(symbol);
  int64_t share = op.getLength() / mesh.product(spmd::toAxes(op.getFlat()));
  auto type = RankedTensorType::get({share}, op.getElementType());
  // A transient bucket is memory while a command touches it; nobody writes over it before that.
  bool stays = !isTransient(symbol);
  StringRef where = stays ? "state" : "activations";
  if (usesHost && op.getHost())
    where = kHostArena;
  StringAttr buffer = addBuffer(symbol.getValue(), getBytes(type), where, stays);
  BufferInfo &info = buffers.find(buffer)->second;
  info.persistent = true;
  info.op.setBucketAttr(symbol);
  return entry->second = Place::dense(buffer, type);
}

Place Storage::scalarPlace(ScalarKind kind, ArrayRef<int64_t> shape) {
  std::optional<Place> &known = scalars[unsigned(kind)];
  if (known)
    return *known;
  Builder builder(program.getContext());
  Type element = kind == ScalarKind::step ? Type(builder.getI64Type()) : builder.getF32Type();
  auto type = RankedTensorType::get(shape, element);
  // Bucket names may not clash with these: they hold a dot or come from the spmd level.
  known = Place::dense(addBuffer(uniqueName(stringifyScalarKind(kind)), getBytes(type), "state", true), type);
  showScalar(kind, *known);
  return *known;
}

void Storage::showScalar(ScalarKind kind, const Place &place) {
  OpBuilder builder = declarations();
  Value where = createView(builder, program.getLoc(), place);
  ScalarOp::create(builder, program.getLoc(), kind, where);
}

Place Storage::inputPlace(spmd::InputOp op) {
  auto [entry, isNew] = inputs.try_emplace({op.getNameAttr(), op.getLayout()});
  if (!isNew)
    return entry->second;
  entry->second = allocate(op.getType(), op.getName(), /*persistent=*/true);
  OpBuilder builder = declarations();
  auto layout = cast<spmd::TensorType>(op.getLayout());
  SmallVector<Attribute> axes(layout.getAxes().begin(), layout.getAxes().end());
  auto role = symbolizeInputRole(op.getRole().value_or("data")).value_or(InputRole::data);
  SmallVector<int64_t> padded(layout.getPadded().empty() ? layout.getShape() : layout.getPadded());
  Value where = createView(builder, program.getLoc(), entry->second);
  InputOp::create(builder, op.getLoc(), op.getName(), role, where, builder.getDenseI64ArrayAttr(layout.getShape()),
                  builder.getDenseI64ArrayAttr(padded), builder.getArrayAttr(axes), op.getBoundsAttr());
  return entry->second;
}

Place Storage::workspace(int64_t bytes) {
  if (!scratch)
    scratch = bufferOp(addBuffer(uniqueName("workspace"), 0, "workspace", /*persistent=*/true));
  scratch.setBytes(std::max<int64_t>(scratch.getBytes(), bytes));
  return Place::dense(scratch.getSymNameAttr(),
                      RankedTensorType::get({bytes}, IntegerType::get(program.getContext(), 8)));
}
