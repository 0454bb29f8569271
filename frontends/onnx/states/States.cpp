//===- States.cpp - The states that an import has made
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/states/States.h"
#include "dialects/graph/SavedAs.h"
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

Tensor States::make(const StoredTensor &stored, StringRef name, bool hasValue) {
  std::string symbol = name.str();
  for (int i = 1; !symbols.insert(symbol).second; ++i)
    symbol = (name + "." + Twine(i)).str();
  OpBuilder builder(function);
  Location loc = NameLoc::get(builder.getStringAttr(name), fileLoc);
  auto op = graph::StateOp::create(builder, loc, symbol, stored.type, graph::StateRole::parameter, /*trainable=*/true,
                                   /*decay=*/true, name, stored.type.getShape(),
                                   hasValue ? stored.toResource() : ElementsAttr(), graph::InitAttr(), ArrayAttr(),
                                   FloatAttr(), FloatAttr());
  Tensor read = emitter.fromValue(graph::ReadOp::create(emitter.getBuilder(), loc, stored.type,
                                                        FlatSymbolRefAttr::get(builder.getContext(), symbol)));
  if (stored.stored != stored.type.getElementType())
    op->setAttr(graph::kStoredTypeAttr, TypeAttr::get(stored.stored));
  byName[name] = list.size();
  list.push_back({name.str(), stored, op, read, {}});
  return read;
}

State *States::find(StringRef name) {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &list[found->second];
}

State *States::find(const Tensor &read) {
  auto found = llvm::find_if(list, [&](const State &state) { return state.read == read; });
  return found == list.end() ? nullptr : &*found;
}

Tensor States::latest(const Tensor &read) {
  if (State *state = find(read))
    if (auto written = writes.find(state->op.getSymName()); written != writes.end())
      return written->second;
  return read;
}

void States::write(State &state, const Tensor &value) {
  writes[state.op.getSymName()] = value;
  buffers.insert(state.name);
}

void States::emitWrites() {
  OpBuilder &builder = emitter.getBuilder();
  for (const auto &[symbol, value] : writes)
    graph::WriteOp::create(builder, emitter.getLoc(), FlatSymbolRefAttr::get(builder.getContext(), symbol),
                           emitter.value(value));
}
