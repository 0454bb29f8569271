//===- OffloadValues.cpp - Offload saved activations to host memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass works on buffers, not on values, so it need not know views, parts of stacks and
// kernels in place. The commands before the interval in which no command uses a buffer keep the
// buffer. The commands after the interval get another one, which is filled from the host.
// exec-assign-streams later gives the copies streams and events, and exec-assign-slots gives
// host memory to the micro-batches in flight.
//
//===----------------------------------------------------------------------===//

#include "dialects/spmd/OnHost.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Remarks.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/Liveness.h"
#include "passes/exec/commands/Runs.h"
#include "llvm/ADT/MapVector.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_OFFLOADVALUES
#include "passes/exec/Passes.h.inc"
#include <limits>
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {
/// The commands of a phase that touch a buffer, by number.
struct PhaseUses {
  size_t phase;
  SmallVector<size_t> at;
  /// The first of them does not write over what was there.
  bool readsFirst;
  bool writes = false;
};

/// Commands of a phase that get a buffer of their own, filled before the first of them.
struct Fetch {
  BufferOp buffer, host;
  size_t phase, next;
  /// Later phases that go on with it: what they read was written there.
  SmallVector<size_t> goOn;
};

class Offloading {
public:
  Offloading(ProgramOp program, int64_t ahead)
      : program(program), runs(runsOf(program)), phases(program.getOps<PhaseOp>()), ahead(ahead) {
    for (PhaseOp phase : phases)
      commands.emplace_back(phase.getOps<CommandOpInterface>());
  }

  void run() {
    llvm::StringMap<BufferOp> waiting;
    for (auto buffer : program.getOps<BufferOp>())
      if (buffer->removeAttr(spmd::kOnHostAttr) && !buffer.getPersistent())
        waiting[buffer.getSymName()] = buffer;
    if (waiting.empty())
      return;
    for (auto &[buffer, touches] : findTouches(waiting))
      if (touches.size() == 1)
        moveWithin(buffer, touches.front());
      else if (program.getActions())
        moveAcross(buffer, touches);
    for (const Fetch &fetch : fetches)
      bringBack(fetch);
    uint64_t bytes = 0;
    llvm::DenseSet<Operation *> hosts;
    for (const Fetch &fetch : fetches)
      if (BufferOp host = fetch.host; hosts.insert(host).second)
        bytes += host.getBytes();
    remark::passed(program.getLoc(), remark::RemarkOpts::name("offloaded").category("exec-offload-values"))
        << remark::metric("Buffers", hosts.size()) << remark::metric("OfBuffers", waiting.size())
        << remark::metric("Bytes", bytes);
  }

private:
  llvm::MapVector<BufferOp, SmallVector<PhaseUses>> findTouches(const llvm::StringMap<BufferOp> &waiting) {
    llvm::MapVector<BufferOp, SmallVector<PhaseUses>> all;
    for (size_t phase = 0; phase < phases.size(); ++phase)
      for (auto [i, command] : llvm::enumerate(commands[phase]))
        for (Access access : accessesOf(command))
          if (BufferOp buffer = waiting.lookup(access.view.getBuffer())) {
            SmallVector<PhaseUses> &touches = all[buffer];
            if (touches.empty() || touches.back().phase != phase)
              touches.push_back({phase, {}, access.reads});
            PhaseUses &here = touches.back();
            here.writes |= access.writes;
            if (here.at.empty() || here.at.back() != i)
              here.at.push_back(i);
          }
    return all;
  }

  size_t aheadIn(size_t phase) const { return commandsBesideCopies(ahead, commands[phase].size()); }

  bool reads(size_t phase, size_t at, BufferOp buffer) {
    return llvm::any_of(accessesOf(commands[phase][at]),
                        [&](Access access) { return access.reads && access.view.getBuffer() == buffer.getSymName(); });
  }

  /// Offloads the buffer over its longest gap between uses, if that is longer than the planned times of both copies.
  void moveWithin(BufferOp buffer, const PhaseUses &touches) {
    size_t last = 0, next = 0;
    for (size_t i = 1; i < touches.at.size(); ++i)
      if (touches.at[i] - touches.at[i - 1] > next - last)
        last = touches.at[i - 1], next = touches.at[i];
    if (next - last > 2 * aheadIn(touches.phase) && !touches.readsFirst && reads(touches.phase, next, buffer))
      add({buffer, leave(buffer, touches.phase, last), touches.phase, next, {}});
  }

  /// The first phase makes it, each later one of the micro-batch fetches it for itself.
  void moveAcross(BufferOp buffer, MutableArrayRef<PhaseUses> touches) {
    const PhaseUses &maker = touches.front();
    ArrayRef<PhaseUses> readers = ArrayRef<PhaseUses>(touches).drop_front();
    // A phase that runs once leaves the same value for all micro-batches.
    bool once = llvm::any_of(touches, [&](const PhaseUses &each) {
      return phases[each.phase].getRepeat() != phases[maker.phase].getRepeat();
    });
    if (once || maker.readsFirst || !llvm::all_of(readers, [](const PhaseUses &each) { return each.readsFirst; }) ||
        leastDistance(maker, readers) <= 2 * aheadIn(maker.phase))
      return;
    BufferOp host = leave(buffer, maker.phase, maker.at.back());
    if (llvm::none_of(readers, [](const PhaseUses &each) { return each.writes; })) {
      for (const PhaseUses &each : readers)
        add({buffer, host, each.phase, each.at.front(), {}});
      return;
    }
    // One of them leaves something else there for the next.
    Fetch fetch{buffer, host, readers.front().phase, readers.front().at.front(), {}};
    for (const PhaseUses &each : readers.drop_front())
      fetch.goOn.push_back(each.phase);
    add(std::move(fetch));
  }

  /// Commands between the last that makes it and the first that wants it again, of the micro-batch with the fewest.
  size_t leastDistance(const PhaseUses &maker, ArrayRef<PhaseUses> readers) {
    size_t least = std::numeric_limits<size_t>::max();
    llvm::SmallDenseMap<int64_t, size_t> left; // by slot, where it was made: commands run so far
    size_t done = 0;
    for (const Run &run : runs) {
      if (run.phase == maker.phase)
        left[run.slot] = done + maker.at.back();
      for (const PhaseUses &each : readers)
        if (auto made = left.find(run.slot); each.phase == run.phase && made != left.end()) {
          least = std::min(least, done + each.at.front() - made->second);
          left.erase(made);
        }
      done += commands[run.phase].size();
    }
    return least;
  }

  /// Values come back in the order in which they are wanted.
  void add(Fetch fetch) {
    auto at = llvm::upper_bound(fetches, fetch, [](const Fetch &a, const Fetch &b) { return a.next < b.next; });
    fetches.insert(at, std::move(fetch));
  }

  BufferOp addBuffer(BufferOp like, const Twine &suffix, StringRef arena) {
    OpBuilder builder(like->getContext());
    builder.setInsertionPointAfter(like);
    std::string name = (like.getSymName() + suffix).str();
    return BufferOp::create(builder, like.getLoc(), builder.getStringAttr(name), like.getBytes(), arena, nullptr,
                            /*persistent=*/false, nullptr);
  }

  /// Copied behind that command, to memory of its own.
  BufferOp leave(BufferOp buffer, size_t phase, size_t last) {
    BufferOp host = addBuffer(buffer, ".host", hostArena());
    OpBuilder builder(buffer->getContext());
    builder.setInsertionPointAfter(commands[phase][last]);
    copy(builder, buffer, host, "to_host");
    return host;
  }

  void bringBack(const Fetch &fetch) {
    BufferOp buffer = fetch.buffer;
    StringRef arena = buffer.getArena();
    BufferOp back = addBuffer(buffer, ".back" + Twine(backs[buffer]++), arena);
    SmallVector<CommandOpInterface> &here = commands[fetch.phase];
    OpBuilder builder(here[fetch.next - std::min(aheadIn(fetch.phase), fetch.next)]);
    copy(builder, fetch.host, back, "from_host");
    llvm::DenseMap<ViewOp, Value> views;
    auto redirect = [&](ArrayRef<CommandOpInterface> users) {
      for (CommandOpInterface command : users)
        for (OpOperand &operand : command->getOpOperands())
          if (auto view = operand.get().getDefiningOp<ViewOp>(); view && view.getBuffer() == buffer.getSymName())
            operand.set(viewOf(view, back, views));
    };
    redirect(ArrayRef<CommandOpInterface>(here).drop_front(fetch.next));
    for (size_t phase : fetch.goOn)
      redirect(commands[phase]);
    for (auto [view, other] : views)
      if (view->use_empty())
        view->erase();
  }
  static Value viewOf(ViewOp view, BufferOp back, llvm::DenseMap<ViewOp, Value> &views) {
    Value &other = views[view];
    if (!other) {
      OpBuilder builder(view);
      auto made = cast<ViewOp>(builder.clone(*view));
      made.setBuffer(back.getSymName());
      other = made;
    }
    return other;
  }

  /// All bytes, by which both are alike.
  static void copy(OpBuilder &builder, BufferOp from, BufferOp to, StringRef name) {
    auto whole = [&](BufferOp buffer) -> Value {
      auto type = MemRefType::get({int64_t(buffer.getBytes())}, builder.getI8Type());
      return ViewOp::create(builder, from.getLoc(), type, buffer.getSymName(), 0, nullptr, nullptr, nullptr, nullptr,
                            nullptr);
    };
    Value in = whole(from), out = whole(to);
    CopyOp::create(builder, from.getLoc(), Type(), in, out, ValueRange(), 0, builder.getStringAttr(name));
  }

  /// The arena in host memory, which may also hold state.
  StringRef hostArena() {
    for (auto arena : program.getOps<ArenaOp>())
      if (arena.getHost())
        return arena.getSymName();
    OpBuilder start = OpBuilder::atBlockBegin(&program.getBody().front());
    return ArenaOp::create(start, program.getLoc(), kHostArena, 0, /*host=*/true).getSymName();
  }

  ProgramOp program;
  std::vector<Run> runs;
  SmallVector<PhaseOp> phases;
  SmallVector<SmallVector<CommandOpInterface>> commands; // by phase, before there were copies
  int64_t ahead;
  SmallVector<Fetch> fetches;
  llvm::DenseMap<BufferOp, unsigned> backs;
};

struct OffloadValues : dtcc::exec::impl::OffloadValuesBase<OffloadValues> {
  using OffloadValuesBase::OffloadValuesBase;
  void runOnOperation() override { Offloading(getOperation(), ahead).run(); }
};
} // namespace
