//===- AssignSlots.cpp - Memory for the micro-batches in flight
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule V9 of docs/verification.md: what a phase leaves for a later one of the same micro-batch must
// outlast the micro-batches that begin in between. How many are under way at a time
// follows from the actions, for each buffer: from its first to its last use. Virtual stages of an
// interleaved schedule are full at different times, so that their buffers share memory.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Passes.h"
#include "passes/exec/commands/Liveness.h"
#include "passes/exec/commands/Runs.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>
#include <tuple>

namespace dtcc::exec {
#define GEN_PASS_DEF_ASSIGNSLOTS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc::exec;

namespace {
struct SlotUse {
  llvm::SmallSetVector<size_t, 4> phases;
  bool isInput = false;
  /// A phase reads what another phase left.
  bool isKept = false;
};

/// The first and the last action at which each micro-batch is in a buffer; begin > end: it never is.
using Lives = SmallVector<Interval>;

bool meet(const Interval &a, const Interval &b) {
  return a.begin <= a.end && b.begin <= b.end && a.begin <= b.end && b.begin <= a.end;
}

/// The least number of slots with which no two micro-batches that live at the same time
/// share one, if micro-batch s has slot s mod that number.
int64_t slotsFor(const Lives &lives) {
  for (int64_t slots = 1, count = lives.size(); slots < count; ++slots) {
    bool fits = true;
    for (int64_t a = 0; fits && a < count; ++a)
      for (int64_t b = a + slots; fits && b < count; b += slots)
        fits = !meet(lives[a], lives[b]);
    if (fits)
      return slots;
  }
  return std::max<int64_t>(1, lives.size());
}

/// A buffer with a value of each micro-batch in flight.
struct Kept {
  BufferOp buffer;
  const SlotUse *use;
  Lives lives;
  /// The number of slots that it needs for itself.
  int64_t slots = 1;
};

/// Buffers of one size and arena that no phase uses two of, as those of the virtual stages of an interleaved schedule:
/// one is full while another is not.
struct Pool {
  SmallVector<const Kept *> members;
  llvm::SmallDenseSet<size_t> phases;
};

/// For each member, the slot of each micro-batch: the least free one when it begins. No assignment of intervals takes
/// fewer, as one that takes slot n finds n others alive (Gupta, Lee and Leung, 1979). Second: the number of slots.
std::pair<SmallVector<SmallVector<int64_t>>, int64_t> shareSlots(const Pool &pool) {
  struct Value {
    Interval life;
    size_t member, microBatch;
  };
  std::vector<Value> values;
  SmallVector<SmallVector<int64_t>> orders;
  for (auto [member, kept] : llvm::enumerate(pool.members)) {
    orders.emplace_back(kept->lives.size(), 0);
    for (auto [microBatch, life] : llvm::enumerate(kept->lives))
      if (life.begin <= life.end)
        values.push_back({life, member, microBatch});
  }
  llvm::sort(values, [](const Value &a, const Value &b) {
    return std::tie(a.life.begin, a.member, a.microBatch) < std::tie(b.life.begin, b.member, b.microBatch);
  });
  std::set<int64_t> free;
  std::multimap<int64_t, int64_t> ends; // by the last action
  int64_t count = 0;
  for (const Value &value : values) {
    while (!ends.empty() && ends.begin()->first < value.life.begin)
      free.insert(ends.extract(ends.begin()).mapped());
    int64_t slot = free.empty() ? count++ : free.extract(free.begin()).value();
    ends.emplace(value.life.end, slot);
    orders[value.member][value.microBatch] = slot;
  }
  return {std::move(orders), std::max<int64_t>(1, count)};
}

struct AssignSlots : dtcc::exec::impl::AssignSlotsBase<AssignSlots> {
  using AssignSlotsBase::AssignSlotsBase;
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (!program.getActions())
      return; // a phase that repeats keeps nothing
    SmallVector<PhaseOp> phases(program.getOps<PhaseOp>());
    llvm::StringMap<SlotUse> uses;
    views.clear();
    orders.clear();
    program.walk([&](ViewOp view) { views[view.getBuffer()].push_back(view); });
    for (auto input : program.getOps<InputOp>())
      if (input.getView()) {
        StringRef buffer = input.getView().getDefiningOp<ViewOp>().getBuffer();
        uses[buffer].isInput = !holdsAll(buffer);
      }
    for (auto [number, phase] : llvm::enumerate(phases))
      for (auto command : phase.getOps<CommandOpInterface>())
        for (Access access : accessesOf(command)) {
          SlotUse &use = uses[access.view.getBuffer()];
          use.isKept |= use.phases.insert(number) && access.reads;
        }
    std::vector<Run> runs = runsOf(program);
    std::vector<Kept> all;
    for (auto buffer : program.getOps<BufferOp>()) {
      const SlotUse &use = uses[buffer.getSymName()];
      if (use.phases.empty() || (buffer.getPersistent() && !use.isInput) || (!use.isInput && !use.isKept))
        continue;
      // A phase that runs once leaves the same value for all micro-batches.
      if (llvm::any_of(use.phases, [&](size_t phase) { return phases[phase].getRepeat() == 1; }))
        continue;
      Lives lives = livesOf(use, runs, phases[use.phases.back()].getRepeat());
      int64_t slots = slotsFor(lives);
      all.push_back({buffer, &use, std::move(lives), slots});
    }
    for (const Pool &pool : poolsOf(all))
      if (failed(assign(pool)))
        return signalPassFailure();
  }

  /// Whether an input holds the samples of all micro-batches, each of which reads a part. The host then writes the same
  /// cells for each of them.
  bool holdsAll(StringRef buffer) const {
    return llvm::any_of(views.lookup(buffer), [](ViewOp view) { return view.getSlotStride().has_value(); });
  }

  static Lives livesOf(const SlotUse &use, ArrayRef<Run> runs, int64_t count) {
    Lives lives(count, Interval{0, -1});
    SmallVector<int64_t> entered(count, -1);
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
    return lives;
  }

  /// Each buffer joins the first pool that it may be in; inputs, which the host finds by number, have pools of their
  /// own.
  SmallVector<Pool> poolsOf(ArrayRef<Kept> all) const {
    SmallVector<Pool> pools;
    std::map<std::pair<StringRef, int64_t>, SmallVector<size_t>> alike; // by arena and stride
    for (const Kept &kept : all) {
      BufferOp buffer = kept.buffer;
      SmallVector<size_t> &known = alike[{buffer.getArena(), strideOf(buffer)}];
      auto *place = llvm::find_if(known, [&](size_t number) {
        return llvm::none_of(kept.use->phases, [&](size_t phase) { return pools[number].phases.contains(phase); });
      });
      bool joins = !kept.use->isInput && place != known.end();
      if (!joins)
        pools.emplace_back();
      Pool &pool = joins ? pools[*place] : pools.back();
      if (!joins && !kept.use->isInput)
        known.push_back(pools.size() - 1);
      pool.members.push_back(&kept);
      pool.phases.insert_range(kept.use->phases);
    }
    return pools;
  }

  /// The buffers of a pool share one memory if that is less than what they need by themselves.
  LogicalResult assign(const Pool &pool) {
    int64_t apart = 0;
    bool isInput = false;
    for (const Kept *kept : pool.members) {
      apart += kept->slots;
      isInput |= kept->use->isInput;
    }
    if (!isInput)
      if (auto [slotsOf, count] = shareSlots(pool); count < apart)
        return share(pool, slotsOf, count);
    for (const Kept *kept : pool.members) {
      if (kept->slots == 1)
        continue;
      BufferOp buffer = kept->buffer;
      Builder builder(buffer);
      int64_t stride = strideOf(buffer);
      for (ViewOp view : views[buffer.getSymName()]) {
        if (failed(checkWhole(view, kept->slots)))
          return failure();
        view.setSlotStrideAttr(builder.getI64IntegerAttr(stride));
        view.setSlotsAttr(builder.getI64IntegerAttr(kept->slots));
      }
      buffer.setBytes(stride * kept->slots);
    }
    return success();
  }

  LogicalResult share(const Pool &pool, ArrayRef<SmallVector<int64_t>> slotsOf, int64_t count) {
    BufferOp shared = pool.members.front()->buffer;
    Builder builder(shared);
    int64_t stride = strideOf(shared);
    for (auto [member, kept] : llvm::enumerate(pool.members)) {
      BufferOp buffer = kept->buffer;
      FlatSymbolRefAttr order = orderFor(member, slotsOf[member]);
      for (ViewOp view : views[buffer.getSymName()]) {
        if (failed(checkWhole(view, count)))
          return failure();
        view.setBufferAttr(FlatSymbolRefAttr::get(shared.getSymNameAttr()));
        view.setSlotStrideAttr(builder.getI64IntegerAttr(stride));
        view.setSlotOrderAttr(order);
      }
      if (buffer != shared)
        buffer.erase();
    }
    shared.setBytes(stride * count);
    return success();
  }

  static LogicalResult checkWhole(ViewOp view, int64_t slots) {
    if (!view.getSlotStride())
      return success();
    return view.emitOpError("cannot look at a part for each slot of what has memory for ") << slots << " slots";
  }

  /// The op with this order for the members of pools that have this number: two members of a pool never have one op,
  /// which exec-verify tells them apart by.
  FlatSymbolRefAttr orderFor(size_t member, ArrayRef<int64_t> order) {
    StringAttr &name = orders[{member, order.vec()}];
    if (!name) {
      ProgramOp program = getOperation();
      OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
      name = builder.getStringAttr("slots." + Twine(orders.size() - 1));
      SlotOrderOp::create(builder, program.getLoc(), name, order);
    }
    return FlatSymbolRefAttr::get(name);
  }

  int64_t strideOf(BufferOp buffer) const { return llvm::alignTo(buffer.getBytes(), alignment); }

  llvm::StringMap<SmallVector<ViewOp>> views; // by buffer
  std::map<std::pair<size_t, std::vector<int64_t>>, StringAttr> orders;
};
} // namespace
