//===- PlanArena.cpp - Buffers get offsets -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Passes.h"
#include "passes/exec/commands/Liveness.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_PLANARENA
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc::exec;

namespace {
struct Planned {
  BufferOp buffer;
  const Lifetime *lifetime = nullptr;
  int64_t bytes = 0, number = 0, offset = 0;
};

/// Places `item` into the smallest gap that holds it between those of `placed`
/// (ascending offsets) that live at the same time.
int64_t findOffset(const Planned &item, ArrayRef<Planned> placed) {
  int64_t best = -1, bestGap = 0, end = 0;
  for (const Planned &other : placed) {
    if (!other.lifetime->meets(*item.lifetime))
      continue;
    int64_t gap = other.offset - end;
    if (gap >= item.bytes && (best < 0 || gap < bestGap)) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, other.offset + other.bytes);
  }
  return best < 0 ? end : best;
}

/// Greedy by size: large buffers first, ties by the order in the text, so that the
/// same program gets the same arena. Returns its bytes.
int64_t plan(SmallVector<Planned> &items) {
  llvm::sort(items, [](const Planned &a, const Planned &b) {
    return std::tie(b.bytes, a.number) < std::tie(a.bytes, b.number);
  });
  SmallVector<Planned> placed;
  int64_t top = 0;
  for (Planned &item : items) {
    item.offset = findOffset(item, placed);
    top = std::max(top, item.offset + item.bytes);
    auto after = llvm::upper_bound(placed, item, [](auto &a, auto &b) { return a.offset < b.offset; });
    placed.insert(after, item);
  }
  return top;
}

struct PlanArena : dtcc::exec::impl::PlanArenaBase<PlanArena> {
  using PlanArenaBase::PlanArenaBase;
  void runOnOperation() override {
    ProgramOp program = getOperation();
    Liveness liveness(program);
    llvm::MapVector<StringAttr, SmallVector<Planned>> arenas;
    for (auto buffer : program.getOps<BufferOp>()) {
      SmallVector<Planned> &items = arenas[buffer.getArenaAttr().getAttr()];
      int64_t bytes = llvm::alignTo(buffer.getBytes(), alignment);
      items.push_back({buffer, &liveness.lifetimeOf(buffer), bytes, int64_t(items.size())});
    }
    Builder builder(&getContext());
    for (auto arena : program.getOps<ArenaOp>()) {
      SmallVector<Planned> &items = arenas[arena.getSymNameAttr()];
      arena.setBytes(plan(items));
      for (Planned &item : items)
        item.buffer.setOffsetAttr(builder.getI64IntegerAttr(item.offset));
    }
  }
};
} // namespace
