//===- WaitingValues.cpp - In which layouts values wait for the backward pass
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/WaitingValues.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"

using namespace mlir;

namespace dtcc::spmd {

WaitingValues::Work WaitingValues::workOf(Operation *op, plan::Recompute mode) {
  graph::Phase phase = graph::getPhase(op);
  if (phase != graph::Phase::Forward)
    return phase == graph::Phase::WeightGradient ? Work::WeightGradient : Work::InputGradient;
  const StepValues::Values &gone = values.gone(mode);
  if (llvm::none_of(op->getResults(), [&](Value result) { return gone.contains(result); }))
    return Work::Forward;
  if (auto found = known[size_t(mode)].find(op); found != known[size_t(mode)].end())
    return found->second;
  Work work = Work::WeightGradient;
  for (Operation *user : op->getUsers())
    if (isa<FactorOpInterface>(user) && workOf(user, mode) == Work::InputGradient)
      work = Work::InputGradient;
  return known[size_t(mode)][op] = work;
}

/// A rank's part of what was gathered lies in that.
static bool liesIn(const WaitingValues::Waiting &part, const WaitingValues::Waiting &whole) {
  return part.value == whole.value && part.layout != whole.layout &&
         llvm::all_of(llvm::zip_equal(whole.layout.dims, part.layout.dims), [](auto dims) {
           return llvm::all_of(std::get<0>(dims),
                               [&](const std::string &axis) { return contains(std::get<1>(dims), axis); });
         });
}

/// The first op among `isReader` that reads a value in a layout; null if none does.
Operation *WaitingValues::firstReader(Value value, const Layout &layout,
                                      llvm::function_ref<bool(Operation *)> isReader) const {
  Operation *first = nullptr;
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner(), *like = blocks.representative(op);
    if (isa<FactorOpInterface>(like) && isReader(op) && layoutsOf(like).operands[use.getOperandNumber()] == layout &&
        (!first || op->isBeforeInBlock(first)))
      first = op;
  }
  return first;
}

llvm::SmallVector<WaitingValues::Waiting> WaitingValues::find(Value root, plan::Recompute mode, Work maker) {
  auto isLate = [&](Operation *op) { return workOf(op, mode) > maker; };
  bool isRead = isa_and_present<graph::ReadOp>(root.getDefiningOp());
  llvm::SmallVector<Waiting> kept;
  auto keep = [&](Waiting waiting) {
    for (Waiting &each : kept)
      if (each.value == waiting.value && each.layout == waiting.layout) {
        each.ofWeights |= waiting.ofWeights;
        return;
      }
    kept.push_back(std::move(waiting));
  };
  std::function<void(Value, const Layout &, Value, Layout)> walk = [&](Value value, const Layout &has, Value holder,
                                                                       Layout held) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = blocks.representative(use.getOwner());
      if (!isa<FactorOpInterface>(user))
        continue;
      Layout want = layoutsOf(user).operands[use.getOperandNumber()];
      if (isa<graph::ReshapeOp>(user) || (isa<graph::CastOp>(user) && values.isFree(user->getResult(0)))) {
        Layout after = layoutsOf(user).results[0];
        Value view = use.getOwner()->getResult(0);
        want == has ? walk(view, after, holder, held) : walk(view, after, value, want);
        continue;
      }
      if (!isLate(use.getOwner()))
        continue;
      Operation *early = want == has ? nullptr : firstReader(value, want, [&](Operation *reader) {
        // Recomputed ops do not read parameters a second time.
        return isRead ? graph::getPhase(reader) == graph::Phase::Forward : workOf(reader, mode) == maker;
      });
      bool ofWeights = workOf(use.getOwner(), mode) == Work::WeightGradient;
      if (early)
        keep({value, want, ofWeights, early});
      else if (holder != root || !isRead)
        keep({holder, held, ofWeights});
    }
  };
  Operation *like = blocks.representative(root.getDefiningOp());
  Layout own = layoutOf(like->getResult(cast<OpResult>(root).getResultNumber()));
  walk(root, own, root, own);
  llvm::SmallVector<Waiting> result;
  for (const Waiting &each : kept) {
    auto whole = llvm::find_if(kept, [&](const Waiting &other) { return liesIn(each, other); });
    if (whole == kept.end())
      result.push_back(each);
  }
  for (Waiting &each : result)
    each.ofWeights |= llvm::any_of(kept, [&](const Waiting &part) { return part.ofWeights && liesIn(part, each); });
  return result;
}

llvm::SmallVector<WaitingValues::Waiting> WaitingValues::findBrought(Value parameter) {
  llvm::SmallVector<Waiting> brought;
  std::function<void(Value, const Layout &)> walk = [&](Value value, const Layout &has) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = blocks.representative(use.getOwner());
      if (!isa<FactorOpInterface>(user))
        continue;
      Layout want = layoutsOf(user).operands[use.getOperandNumber()];
      if (want != has &&
          llvm::none_of(brought, [&](const Waiting &each) { return each.value == value && each.layout == want; }))
        brought.push_back({value, want});
      if (isa<graph::ReshapeOp>(user) || (isa<graph::CastOp>(user) && values.isFree(user->getResult(0))))
        walk(use.getOwner()->getResult(0), layoutsOf(user).results[0]);
    }
  };
  Operation *like = blocks.representative(parameter.getDefiningOp());
  walk(parameter, layoutOf(like->getResult(0)));
  return brought;
}

} // namespace dtcc::spmd
