//===- PlanArena.cpp - The pass that gives buffers their offsets in an arena -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/Liveness.h"
#include "passes/exec/commands/PlacedBuffers.h"
#include <map>
#include <tuple>

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

/// Greedy by size: large buffers first, ties by the order in the text, so that the
/// same program gets the same arena. Returns its bytes.
int64_t plan(SmallVector<Planned> &items) {
  llvm::sort(items, [](const Planned &a, const Planned &b) {
    return std::tie(b.bytes, a.number) < std::tie(a.bytes, b.number);
  });
  PlacedBuffers placed;
  int64_t top = 0;
  for (Planned &item : items) {
    item.offset = placed.findOffset(*item.lifetime, item.bytes);
    placed.insert(*item.lifetime, item.offset, item.bytes);
    top = std::max(top, item.offset + item.bytes);
  }
  return top;
}

/// The most bytes that live at a time: no plan has a smaller arena.
int64_t mostLive(ArrayRef<Planned> items) {
  std::map<int64_t, int64_t> changes;
  for (const Planned &item : items)
    for (const Interval &interval : item.lifetime->intervals) {
      changes[interval.begin] += item.bytes;
      changes[interval.end + 1] -= item.bytes;
    }
  int64_t live = 0, most = 0;
  for (auto [command, bytes] : changes)
    most = std::max(most, live += bytes);
  return most;
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
      int64_t apart = 0;
      for (const Planned &item : items)
        apart += item.bytes;
      remark::passed(program.getLoc(), remark::RemarkOpts::name("planned").category(getArgument()))
          << remark::metric("Arena", arena.getSymName().str()) << remark::metric("Bytes", arena.getBytes())
          << remark::metric("BytesAlive", mostLive(items)) << remark::metric("BytesWithoutReuse", apart)
          << remark::metric("Buffers", items.size());
      for (Planned &item : items)
        item.buffer.setOffsetAttr(builder.getI64IntegerAttr(item.offset));
    }
  }
};
} // namespace
