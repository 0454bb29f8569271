//===- StepBlocks.cpp - A training step as a row of blocks, most of them alike
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/StepBlocks.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "planner/step/CutStages.h"
#include <algorithm>
#include <map>

using namespace mlir;

namespace dtcc::spmd {

StepBlocks::StepBlocks(func::FuncOp step, size_t most, const Pins &pins, const GivenPlacement *given) : function(step) {
  Constraints constraints{pins, given};
  for (StepPiece &piece : findPieces(step))
    row.push_back({piece.origin, 0, std::move(piece.entering)});
  collect();
  classify(constraints);
  joinPairs(most, constraints);
  for (Operation &op : step.front())
    if (representative(&op) == &op)
      unique.push_back(&op);
  findFlows();
}

void StepBlocks::findFlows() {
  llvm::StringMap<Operation *> reads;
  llvm::DenseMap<Operation *, unsigned> order;
  for (Operation &op : function.front()) {
    order[&op] = order.size();
    if (auto read = dyn_cast<graph::ReadOp>(op))
      reads.try_emplace(read.getState(), representative(&op));
  }
  std::map<std::vector<const void *>, size_t> known;
  for (Operation &op : function.front())
    for (OpResult result : op.getResults()) {
      Flow flow{representative(&op)->getResult(result.getResultNumber()), {}, 1};
      SmallVector<OpOperand *> operands;
      for (OpOperand &use : result.getUses())
        operands.push_back(&use);
      llvm::sort(operands, [&](OpOperand *a, OpOperand *b) {
        return std::pair(order[a->getOwner()], a->getOperandNumber()) <
               std::pair(order[b->getOwner()], b->getOperandNumber());
      });
      for (OpOperand *use : operands) {
        if (auto update = dyn_cast<graph::UpdateOp>(use->getOwner())) {
          int64_t gradient = int64_t(use->getOperandNumber()) - update.getGradients().getBeginOperandIndex();
          if (gradient < 0 || gradient >= int64_t(update.getStates().size()))
            continue;
          if (Operation *read = reads.lookup(cast<FlatSymbolRefAttr>(update.getStates()[gradient]).getValue()))
            flow.readers.push_back({read, 0});
        } else {
          flow.readers.push_back({representative(use->getOwner()), use->getOperandNumber()});
        }
      }
      std::vector<const void *> key{flow.value.getAsOpaquePointer()};
      for (auto [reader, operand] : flow.readers) {
        key.push_back(reader);
        key.push_back(reinterpret_cast<const void *>(uintptr_t(operand)));
      }
      auto [at, isNew] = known.try_emplace(std::move(key), uses.size());
      if (isNew)
        uses.push_back(std::move(flow));
      else
        ++uses[at->second].times;
    }
}

std::optional<uint32_t> StepBlocks::blockOf(Operation *op) const {
  auto found = places.find(op);
  return found == places.end() ? std::nullopt : std::optional(found->second.first);
}

Operation *StepBlocks::representative(Operation *op) const {
  auto found = places.find(op);
  if (found == places.end())
    return op;
  auto [block, place] = found->second;
  return ops[firsts[row[block].type]][place];
}

llvm::SmallVector<Operation *> StepBlocks::alike(Operation *op) const {
  auto found = places.find(op);
  if (found == places.end())
    return {op};
  auto [block, place] = found->second;
  llvm::SmallVector<Operation *> result;
  for (uint32_t each : members[row[block].type])
    result.push_back(ops[each][place]);
  return result;
}

Operation *StepBlocks::typical(Operation *op) const {
  auto found = places.find(op);
  if (found == places.end())
    return op;
  auto [block, place] = found->second;
  llvm::ArrayRef<uint32_t> same = members[row[block].type];
  return ops[same[same.size() / 2]][place];
}

/// A parameter, with the cast that makes what its readers compute in, belongs to the block of its first reader: it is
/// there that a stage has it, though it may be read before what goes from the block before to that one.
static Operation *readerOf(Operation *op) {
  while (isa<graph::ReadOp, graph::CastOp>(op) &&
         (op->getNumOperands() == 0 || op->getOperand(0).getDefiningOp<graph::ReadOp>())) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (graph::getOrigin(user) && !isa<graph::UpdateOp>(user) && (!first || user->isBeforeInBlock(first)))
        first = user;
    if (!first)
      break;
    op = first;
  }
  return op;
}

void StepBlocks::collect() {
  ops.assign(row.size(), {});
  places.clear();
  for (Operation &op : function.front()) {
    if (!graph::getOrigin(&op) || row.empty() || isa<graph::UpdateOp>(op))
      continue;
    int64_t origin = *graph::getOrigin(readerOf(&op));
    auto after = std::upper_bound(row.begin(), row.end(), origin,
                                  [](int64_t each, const Block &block) { return each < block.origin; });
    uint32_t block = after == row.begin() ? 0 : after - row.begin() - 1;
    places[&op] = {block, ops[block].size()};
    ops[block].push_back(&op);
  }
}

/// All that makes two blocks alike: ops and their attributes, but for their numbers and the names of states, and
/// which of their results they read. What comes from other blocks counts by its type.
std::string StepBlocks::signatureOf(uint32_t block, const Constraints &constraints) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  int64_t begin = row[block].origin;
  for (Operation *op : ops[block]) {
    // Types and attributes are unique in their context: their addresses name them.
    out << op->getName().getAsOpaquePointer() << '@' << *graph::getOrigin(op) - begin;
    // Each read names a state of its own, and each op of random numbers a sequence of them.
    StringRef own = isa<graph::ReadOp>(op) ? "state" : isa<graph::DropoutOp, graph::UniformOp>(op) ? "id" : "origin";
    for (NamedAttribute attribute : op->getAttrs())
      if (attribute.getName() != "origin" && attribute.getName() != own)
        out << ' ' << attribute.getName().getAsOpaquePointer() << attribute.getValue().getAsOpaquePointer();
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      auto state = function->getParentOfType<ModuleOp>().lookupSymbol<graph::StateOp>(read.getState());
      out << (state && state.getTrainable());
    }
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      auto place = producer ? places.find(producer) : places.end();
      if (place != places.end() && place->second.first == block)
        out << " %" << place->second.second << '.' << cast<OpResult>(operand).getResultNumber();
      else
        out << (producer ? " ?" : " #") << operand.getType().getAsOpaquePointer();
      // The first layer reads what lies otherwise than what the others read.
      if (producer && isa<FactorOpInterface>(producer) && graph::getPhase(producer) == graph::Phase::Forward)
        out << producer->getName().getAsOpaquePointer();
    }
    if (constraints.given)
      out << constraints.given->signatureOf(op);
    for (Value result : op->getResults()) {
      out << " ->" << result.getType().getAsOpaquePointer();
      bool updates = llvm::any_of(result.getUsers(), [](Operation *user) { return isa<graph::UpdateOp>(user); });
      out << updates << constraints.pins.signatureOf(result);
    }
    out << '\n';
  }
  return text;
}

void StepBlocks::classify(const Constraints &constraints) {
  std::map<std::string, uint32_t> known;
  firsts.clear();
  counts.clear();
  members.clear();
  for (uint32_t block = 0; block < row.size(); ++block) {
    auto [at, isNew] = known.try_emplace(signatureOf(block, constraints), uint32_t(firsts.size()));
    if (isNew) {
      firsts.push_back(block);
      counts.push_back(0);
      members.emplace_back();
    }
    row[block].type = at->second;
    ++counts[at->second];
    members[at->second].push_back(block);
  }
}

/// Attention and feed-forward part become a layer: a long row of few types is searched sooner.
void StepBlocks::joinPairs(size_t most, const Constraints &constraints) {
  while (row.size() > most) {
    std::map<std::pair<uint32_t, uint32_t>, size_t> pairs;
    std::pair<uint32_t, uint32_t> best{};
    // From the end: a pair ends where the last one does.
    for (size_t i = row.size(); i-- > 1;) {
      std::pair<uint32_t, uint32_t> pair{row[i - 1].type, row[i].type};
      if (pair.first != pair.second && ++pairs[pair] > pairs[best])
        best = pair;
    }
    if (pairs[best] < 4)
      return;
    std::vector<Block> joined;
    for (size_t i = 0; i < row.size(); ++i) {
      joined.push_back(row[i]);
      if (i + 1 < row.size() && std::pair(row[i].type, row[i + 1].type) == best)
        ++i;
    }
    row = std::move(joined);
    collect();
    classify(constraints);
  }
}

} // namespace dtcc::spmd
