//===- Commands.cpp - How bufferization emits commands -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The half of Bufferizer that emits.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/interfaces/Work.h"
#include "passes/exec/bufferize/Bufferizer.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

Value Bufferizer::view(const Place &place) { return createView(commands, source.getLoc(), place); }

Place Bufferizer::dense(const Place &place, StringRef name) { return place.isDense() ? place : copied(place, name); }

Place Bufferizer::copied(const Place &place, StringRef name) {
  Place result = storage.allocate(RankedTensorType::get(place.sizes, place.element), name);
  copy(place, result);
  return result;
}

Place Bufferizer::toCutByTime(const Place &whole) {
  Place place = kept.contains(whole.buffer) ? copied(whole, "whole") : whole;
  cutByTime.insert(place.buffer);
  return place;
}

void Bufferizer::copy(const Place &from, const Place &to, StringRef name) {
  if (from.isTorn() || to.isTorn())
    return copy(from.withBlockDim(), to.withBlockDim(), name);
  Value in = view(from), out = view(to);
  CopyOp::create(commands, here, Type(), in, out, ValueRange(), 0, commands.getStringAttr(name));
}

void Bufferizer::fill(const Place &place, TypedAttr value) {
  if (place.isTorn())
    return fill(place.withBlockDim(), value);
  Value out = view(place);
  FillOp::create(commands, here, Type(), ValueRange(), out, ValueRange(), 0, commands.getStringAttr("fill"), value);
}

LogicalResult Bufferizer::store(const Place &from, const Destination &to, Location loc) {
  if (!to.accumulate && from.element == to.place.element) {
    copy(from, to.place);
    return success();
  }
  if (from.isTorn() || to.place.isTorn())
    return store(from.withBlockDim(), {to.place.withBlockDim(), to.accumulate}, loc);
  // A kernel of one addition to zero: the generator adds its result to memory, or rounds it to the type there.
  auto type = RankedTensorType::get(from.sizes, from.element);
  Block body;
  Value x = body.addArgument(type, loc);
  OpBuilder builder(loc.getContext());
  builder.setInsertionPointToEnd(&body);
  Value negated = graph::NegOp::create(builder, loc, type, x);
  Value same = graph::NegOp::create(builder, loc, type, negated);
  YieldOp::create(builder, loc, same);
  return kernel(loc, "accumulate", body, {from}, {to}, {-1});
}

LibraryOp Bufferizer::library(Operation *op, StringRef mnemonic, ValueRange ins, ValueRange outs,
                              ArrayRef<Attribute> parameters, bool updates, int64_t workspaceBytes) {
  SmallVector<Value, 1> scratch;
  if (workspaceBytes && !targetMemory.plansWorkspace)
    scratch.push_back(view(storage.workspace(workspaceBytes)));
  return LibraryOp::create(commands, op->getLoc(), Type(), ins, outs, ValueRange(), 0,
                           commands.getStringAttr(op->getName().stripDialect()), commands.getStringAttr(mnemonic),
                           commands.getArrayAttr(parameters), scratch, updates, llvm::APFloat(flopsOf(op).value_or(0)));
}

CollectiveOp Bufferizer::collective(CollectiveKind kind, Reduction reduction, ArrayAttr axes, const Place &in,
                                    const Place &out, ArrayRef<int64_t> members) {
  Value from = view(in), to = view(out);
  return CollectiveOp::create(
      commands, here, Type(), from, to, ValueRange(), 0, commands.getStringAttr(mnemonicOf(kind)), kind, reduction,
      communicators.over(axes, members).getValue(), /*slot=*/IntegerAttr(), /*ofParameters=*/false, IntegerAttr(),
      /*room=*/IntegerAttr());
}

void Bufferizer::callKernel(StringRef symbol, ArrayRef<Place> ins, ArrayRef<Place> outs, ArrayRef<bool> accumulates) {
  SmallVector<Value> inputs, outputs;
  for (const Place &place : ins)
    inputs.push_back(view(place));
  for (const Place &place : outs)
    outputs.push_back(view(place));
  KernelOp::create(commands, here, Type(), inputs, outputs, ValueRange(), 0, StringAttr(), symbol,
                   llvm::is_contained(accumulates, true) ? commands.getDenseBoolArrayAttr(accumulates)
                                                         : DenseBoolArrayAttr());
}

/// Buffers and body, with operands by number. Names, attributes and types are unique: their addresses tell them apart.
static Bufferizer::KernelKey signatureOf(FuncOp func) {
  Bufferizer::KernelKey key{func.getBuffersAttr().getAsOpaquePointer(), func.getAccumulateAttr().getAsOpaquePointer(),
                            func.getInPlaceAttr().getAsOpaquePointer()};
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto add = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    key.push_back(value.getType().getAsOpaquePointer());
  };
  for (BlockArgument argument : func.getBody().front().getArguments())
    add(argument);
  for (Operation &op : func.getBody().front()) {
    key.push_back(op.getName().getAsOpaquePointer());
    key.push_back(op.getPropertiesAsAttribute().getAsOpaquePointer());
    for (Value operand : op.getOperands())
      key.push_back(reinterpret_cast<const void *>(numbers.lookup(operand)));
    for (Value result : op.getResults())
      add(result);
  }
  return key;
}

LogicalResult Bufferizer::kernel(Location loc, StringRef name, Block &body, ArrayRef<Place> inputs,
                                 ArrayRef<Destination> outputs, ArrayRef<int64_t> inPlace) {
  OpBuilder builder(program);
  SmallVector<Attribute> types;
  SmallVector<int64_t> accumulate;
  SmallVector<Place> outs;
  for (const Place &place : inputs)
    types.push_back(TypeAttr::get(place.type()));
  for (const Destination &output : outputs) {
    types.push_back(TypeAttr::get(output.place.type()));
    accumulate.push_back(output.accumulate);
    outs.push_back(output.place);
  }
  auto func = FuncOp::create(builder, loc, "kernel", builder.getArrayAttr(types), accumulate, inPlace);
  IRMapping mapping;
  Block &copy = func.getBody().emplaceBlock();
  for (BlockArgument argument : body.getArguments())
    mapping.map(argument, copy.addArgument(argument.getType(), loc));
  OpBuilder inside = OpBuilder::atBlockEnd(&copy);
  for (Operation &op : body)
    // Origins and names of layers would make equal bodies differ.
    inside.clone(op, mapping)->setDiscardableAttrs(ArrayRef<NamedAttribute>());

  std::string &symbol = kernels[signatureOf(func)];
  if (symbol.empty()) {
    symbol = storage.uniqueName(name).str();
    func.setSymName(symbol);
  } else {
    func.erase();
  }
  SmallVector<bool> adds;
  for (int64_t mode : accumulate)
    adds.push_back(mode != Overwrite);
  callKernel(symbol, inputs, outs, adds);
  return success();
}
