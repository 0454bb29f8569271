//===- AssignSlots.cpp - Memory for the micro-batches in flight
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule V9 of docs/verification.md: what a phase leaves for a later one of the same micro-batch must
// outlast the micro-batches that begin in between. How many are under way at a time
// follows from the actions, for each buffer by itself: from its first to its last use.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Passes.h"
#include "passes/exec/commands/Liveness.h"
#include "passes/exec/commands/Runs.h"
#include "llvm/Support/MathExtras.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_ASSIGNSLOTS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc::exec;

namespace {
struct SlotUse {
  llvm::SmallDenseSet<size_t> phases;
  bool isInput = false;
  /// A phase reads what another phase left.
  bool isKept = false;
};

/// The least number of slots with which no two micro-batches that live at the same time
/// share one. `lives`: by micro-batch, first and last action; begin > end: it is not used.
int64_t slotsFor(ArrayRef<Interval> lives) {
  for (int64_t slots = 1, count = lives.size(); slots < count; ++slots) {
    bool fits = true;
    for (int64_t a = 0; fits && a < count; ++a)
      for (int64_t b = a + slots; fits && b < count; b += slots)
        fits = lives[a].end < lives[b].begin || lives[b].end < lives[a].begin || lives[a].end < lives[a].begin ||
               lives[b].end < lives[b].begin;
    if (fits)
      return slots;
  }
  return std::max<int64_t>(1, lives.size());
}

struct AssignSlots : dtcc::exec::impl::AssignSlotsBase<AssignSlots> {
  using AssignSlotsBase::AssignSlotsBase;
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (!program.getActions())
      return; // a phase that repeats keeps nothing
    SmallVector<PhaseOp> phases(program.getOps<PhaseOp>());
    llvm::StringMap<SlotUse> uses;
    llvm::StringMap<SmallVector<ViewOp>> views;
    program.walk([&](ViewOp view) { views[view.getBuffer()].push_back(view); });
    for (auto input : program.getOps<InputOp>())
      if (input.getView())
        uses[input.getView().getDefiningOp<ViewOp>().getBuffer()].isInput = true;
    for (auto [number, phase] : llvm::enumerate(phases))
      for (auto command : phase.getOps<CommandOpInterface>())
        for (Access access : accessesOf(command)) {
          SlotUse &use = uses[access.view.getBuffer()];
          use.isKept |= use.phases.insert(number).second && access.reads;
        }
    std::vector<Run> runs = runsOf(program);
    for (auto buffer : program.getOps<BufferOp>()) {
      const SlotUse &use = uses[buffer.getSymName()];
      if (use.phases.empty() || (buffer.getPersistent() && !use.isInput))
        continue;
      if (!use.isInput && !use.isKept)
        continue;
      if (failed(assign(buffer, use, runs, phases, views[buffer.getSymName()])))
        return signalPassFailure();
    }
  }

  LogicalResult assign(BufferOp buffer, const SlotUse &use, ArrayRef<Run> runs, MutableArrayRef<PhaseOp> phases,
                       ArrayRef<ViewOp> views) {
    int64_t count = 1;
    for (size_t phase : use.phases) {
      // A phase that runs once leaves the same value for all micro-batches.
      if (phases[phase].getRepeat() == 1)
        return success();
      count = phases[phase].getRepeat();
    }
    SmallVector<Interval> lives(count, Interval{0, -1});
    llvm::SmallVector<int64_t> entered(count, -1);
    for (auto [number, run] : llvm::enumerate(runs)) {
      if (run.slot >= count)
        continue;
      if (entered[run.slot] < 0)
        entered[run.slot] = number;
      if (!use.phases.contains(run.phase))
        continue;
      // The host writes the inputs of a micro-batch when it is entered.
      if (lives[run.slot].end < 0)
        lives[run.slot].begin = use.isInput ? entered[run.slot] : int64_t(number);
      lives[run.slot].end = number;
    }
    int64_t slots = slotsFor(lives);
    if (slots == 1)
      return success();
    OpBuilder builder(buffer);
    int64_t stride = llvm::alignTo(buffer.getBytes(), alignment);
    for (ViewOp view : views) {
      if (view.getSlotStride())
        return view.emitOpError("cannot look at a part for each slot of what has memory for ") << slots << " slots";
      view.setSlotStrideAttr(builder.getI64IntegerAttr(stride));
      view.setSlotsAttr(builder.getI64IntegerAttr(slots));
    }
    buffer.setBytes(stride * slots);
    return success();
  }
};
} // namespace
