//===- ExchangeSlack.cpp - Which exchanges of a phase can hide
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/exec/commands/ExchangeSlack.h"

using namespace mlir;
using namespace dtcc::exec;

std::optional<StringRef> ExchangeSlack::communicatorOf(size_t at) {
  if (auto collective = dyn_cast<CollectiveOp>(commands[at].getOperation())) {
    auto own = collective.getOfParameters() ? apart.find(collective.getCommunicator()) : apart.end();
    return own != apart.end() ? StringRef(own->second) : collective.getCommunicator();
  }
  if (auto send = dyn_cast<SendOp>(commands[at].getOperation()))
    return send.getCommunicator();
  return std::nullopt;
}

bool ExchangeSlack::conflict(size_t a, size_t b) {
  return dtcc::exec::conflict(accessesOf(commands[a]), accessesOf(commands[b]));
}

bool ExchangeSlack::isSum(size_t collective) {
  size_t at = collective + 1;
  if (at == commands.size() || !isa<CollectiveOp>(commands[collective].getOperation()) ||
      !isa<KernelOp>(commands[at].getOperation()) || !conflict(collective, at))
    return false;
  return commands[at]->getNumResults() == 0 && llvm::all_of(accessesOf(commands[at]), [&](Access access) {
           return !access.writes || persistent.contains(access.view.getBuffer());
         });
}

size_t ExchangeSlack::lastPlaceOfSum(size_t collective) {
  size_t i = collective + 2;
  for (; i < commands.size() && !conflict(collective + 1, i); ++i)
    if (auto next = dyn_cast<CollectiveOp>(commands[i].getOperation());
        next && communicatorOf(i) == communicatorOf(collective) && next.getKind() != CollectiveKind::AllGather)
      break;
  return i;
}

bool ExchangeSlack::hasSlack(size_t at) {
  bool sum = isSum(at);
  size_t end = sum ? lastPlaceOfSum(at) : commands.size();
  for (size_t i = at + 1 + sum; i < end && !conflict(at, i); ++i)
    if (isa<KernelOp, LibraryOp>(commands[i].getOperation()))
      return true;
  return false;
}

llvm::StringSet<> ExchangeSlack::movable() {
  struct Sums {
    double slack = 0, all = 0;
  };
  struct Exchanges {
    Sums commands, bytes;
    bool ofParameters = true, ofActivations = true;
  };
  llvm::StringMap<Exchanges> exchanges;
  for (size_t i = 0; i < commands.size(); ++i)
    if (std::optional<StringRef> communicator = communicatorOf(i)) {
      Exchanges &sums = exchanges[*communicator];
      auto collective = dyn_cast<CollectiveOp>(commands[i].getOperation());
      bool ofParameters = collective && collective.getOfParameters();
      sums.ofParameters &= ofParameters;
      sums.ofActivations &= !ofParameters;
      bool slack = hasSlack(i);
      double bytes = collective ? exchangedBytes(collective) : 0;
      for (auto [sum, weight] : {std::pair(&sums.commands, 1.0), {&sums.bytes, bytes}}) {
        sum->slack += slack ? weight : 0;
        sum->all += weight;
      }
    }
  llvm::StringSet<> result;
  for (const auto &entry : exchanges) {
    const auto &[commands, bytes, ofParameters, ofActivations] = entry.second;
    const Sums &sums = ofParameters ? bytes : commands;
    if ((ofActivations ? 4 : 2) * sums.slack > sums.all)
      result.insert(entry.first());
  }
  return result;
}

double dtcc::exec::exchangedBytes(CollectiveOp op) {
  int64_t most = 0;
  for (ValueRange views : {ValueRange(op.getIns()), ValueRange(op.getOuts())})
    for (Value view : views) {
      auto type = cast<MemRefType>(view.getType());
      most = std::max(most, getBytes(type));
    }
  return double(most);
}

llvm::StringSet<> dtcc::exec::persistentBuffers(ProgramOp program) {
  llvm::StringSet<> names;
  for (auto buffer : program.getOps<BufferOp>())
    if (buffer.getPersistent())
      names.insert(buffer.getSymName());
  return names;
}
