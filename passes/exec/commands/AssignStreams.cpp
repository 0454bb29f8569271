//===- AssignStreams.cpp - Exchanges and copies beside the commands that compute
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass moves communicators, not single commands: all collectives of one group in
// a phase stay in one order, which is then the same on every rank. So do the messages that a
// phase sends over a channel. Received messages do not move: they are needed at once.
//
// If micro-batches accumulate shards of gradients, a sum stands right behind each reduction
// and would wait for it at once. Nothing in the phase reads the sum, so it moves behind the work
// that follows, up to the next reduction of the group. At most one more bucket of a
// unit's gradients is then alive, and sums stay in their order: the bits are the same.
//
// Other ranks must not wait behind reductions of gradients. If both move in a phase, messages and
// collectives of activations get a stream of their own, and reductions of their groups stand behind them.
//
// Copies to memory of the host and from there have a stream each: the link goes both ways at
// once, and what is fetched does not stand behind what is put away.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/ExchangeSlack.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <array>

namespace dtcc::exec {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {

class PhaseStreams : ExchangeSlack {
public:
  /// Names of the buffers that outlive the phase, and of those in host memory.
  struct Buffers {
    llvm::StringSet<> persistent, onHost;
  };
  /// `inFlight` bounds the exchanges that have not ended when another is issued. `behind` is the number of commands
  /// for which a copy to the host may be under way.
  struct Limits {
    int64_t inFlight, behind;
  };
  PhaseStreams(PhaseOp phase, const Limits &limits, const Buffers &buffers)
      : ExchangeSlack(phase, buffers.persistent), limits(limits), buffers(buffers) {
    this->limits.behind = commandsBesideCopies(limits.behind, commands.size());
  }

  void run() {
    llvm::StringSet<> moved = movable();
    findLasting(moved);
    sinkSums(moved);
    sinkReductions(moved);
    for (size_t i = 0; i < commands.size(); ++i)
      if (Stream stream = streamOf(i, moved); stream != Computes)
        issue(i, stream);
      else
        waitForAll(i);
  }

private:
  enum Stream : size_t { Computes, Exchanges, ToHost, FromHost, Urgent };
  static constexpr size_t kStreams = 5;

  /// Whether a command holds memory while it is under way that is free otherwise. Reductions of gradients that all
  /// micro-batches add up, and gathers of exec-defer-gathers, hold none: their buffers are always there.
  bool holdsMemory(size_t at) {
    return llvm::any_of(commands[at]->getOperands(), [&](Value operand) {
      auto view = operand.getDefiningOp<ViewOp>();
      return view && !buffers.persistent.contains(view.getBuffer());
    });
  }

  bool isOnHost(Value view) const { return buffers.onHost.contains(view.getDefiningOp<ViewOp>().getBuffer()); }

  Stream streamOf(size_t at, const llvm::StringSet<> &moved) {
    if (std::optional<StringRef> communicator = communicatorOf(at)) {
      if (!moved.contains(*communicator))
        return Computes;
      return lasting.empty() || lasting.contains(*communicator) ? Exchanges : Urgent;
    }
    auto copy = dyn_cast<CopyOp>(commands[at].getOperation());
    if (copy && isOnHost(copy.getOuts()[0]))
      return ToHost;
    return copy && isOnHost(copy.getIns()[0]) ? FromHost : Computes;
  }

  /// Communicators that move and are of parameters alone.
  void findLasting(const llvm::StringSet<> &moved) {
    llvm::StringSet<> others;
    for (CommandOpInterface command : commands)
      if (auto collective = dyn_cast<CollectiveOp>(command.getOperation()))
        (collective.getOfParameters() ? lasting : others).insert(collective.getCommunicator());
    for (StringRef name : llvm::to_vector(lasting.keys()))
      if (others.contains(name) || !moved.contains(name))
        lasting.erase(name);
  }

  void sinkSums(const llvm::StringSet<> &moved) {
    for (size_t i = 0; i < commands.size(); ++i) {
      auto collective = dyn_cast<CollectiveOp>(commands[i].getOperation());
      if (!collective || !moved.contains(collective.getCommunicator()) || !isSum(i))
        continue;
      size_t place = lastPlaceOfSum(i);
      if (place == i + 2)
        continue;
      commands[i + 1]->moveAfter(commands[place - 1]);
      std::rotate(commands.begin() + i + 1, commands.begin() + i + 2, commands.begin() + place);
    }
  }

  /// Moves reductions of gradients that would stand between messages and collectives of activations to the end of the
  /// phase, in their order. They sum over a group of theirs what another group has summed, for which they wait, and the
  /// next message would wait with them. Nothing in the phase reads what they make, and it lies in memory that is always
  /// there.
  void sinkReductions(const llvm::StringSet<> &moved) {
    if (lasting.empty())
      return;
    SmallVector<CommandOpInterface> kept, sunk;
    for (size_t i = commands.size(); i-- > 0;) {
      auto collective = dyn_cast<CollectiveOp>(commands[i].getOperation());
      bool sinks = collective && collective.getOfParameters() && moved.contains(collective.getCommunicator()) &&
                   !lasting.contains(collective.getCommunicator()) && !holdsMemory(i) &&
                   llvm::none_of(llvm::seq(i + 1, commands.size()), [&](size_t later) {
                     return conflict(i, later) && !llvm::is_contained(sunk, commands[later]);
                   });
      (sinks ? sunk : kept).push_back(commands[i]);
    }
    if (sunk.empty())
      return;
    for (CommandOpInterface command : llvm::reverse(sunk))
      command->moveBefore(command->getBlock(), command->getBlock()->end());
    commands.assign(kept.rbegin(), kept.rend());
    commands.append(sunk.rbegin(), sunk.rend());
  }

  /// Returns the event of a command. A command without an event is replaced by one that has an event.
  Value eventOf(size_t at) {
    Operation *op = commands[at];
    if (op->getNumResults())
      return op->getResult(0);
    OpBuilder builder(op);
    Operation *made =
        Operation::create(op->getLoc(), op->getName(), EventType::get(op->getContext()), op->getOperands(),
                          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(), BlockRange(), 0);
    builder.insert(made);
    op->erase();
    commands[at] = cast<CommandOpInterface>(made);
    return made->getResult(0);
  }

  /// `after` is a part of the operands that the interface only shows.
  void addWait(size_t at, Value event) {
    llvm::TypeSwitch<Operation *>(commands[at].getOperation())
        .Case<KernelOp, LibraryOp, CollectiveOp, CopyOp, FillOp, SendOp, ReceiveOp>(
            [&](auto op) { op.getAfterMutable().append(event); });
  }

  /// A stream beside the first.
  struct Side {
    SmallVector<size_t> issued;
    /// The numbers of those issued commands whose memory is taken while they are under way.
    SmallVector<int64_t> bounded;
    /// For each issued command: the last command of each stream that ends before it, and the number of commands of the
    /// compute stream before it.
    SmallVector<std::array<int64_t, kStreams>> ends;
    SmallVector<int64_t> computed;
    /// The last issued command that the compute stream has waited for.
    int64_t waited = -1;
  };

  /// The last command of a stream behind number `from` of it that touches what `at` does, one of them writing; else -1.
  int64_t lastConflict(const Side &side, size_t at, int64_t from) {
    for (int64_t i = int64_t(side.issued.size()) - 1; i > from; --i)
      if (conflict(side.issued[i], at))
        return i;
    return -1;
  }

  void issue(size_t at, Stream stream) {
    Side &mine = sides[stream];
    std::array<int64_t, kStreams> ends;
    ends.fill(-1);
    if (!mine.issued.empty())
      ends = mine.ends.back();
    // A command of a side stream runs no earlier than its place in the text. Gathers would otherwise take memory from
    // the start of the action.
    if (last && (mine.issued.empty() || mine.computed.back() != computed))
      addWait(at, eventOf(*last));
    for (size_t other = Exchanges; other < kStreams; ++other) {
      const Side &its = sides[other];
      int64_t before = std::max(ends[other], its.waited), end = other == stream ? -1 : lastConflict(its, at, before);
      ends[other] = std::max(before, end);
      if (end < 0)
        continue;
      addWait(at, eventOf(its.issued[end]));
      for (size_t third = Exchanges; third < kStreams; ++third)
        ends[third] = std::max(ends[third], its.ends[end][third]);
    }
    llvm::TypeSwitch<Operation *>(commands[at].getOperation()).Case<CollectiveOp, SendOp, CopyOp>([&](auto op) {
      op.setStream(stream);
    });
    ends[stream] = int64_t(mine.issued.size());
    if (holdsMemory(at))
      mine.bounded.push_back(ends[stream]);
    mine.issued.push_back(at);
    mine.ends.push_back(ends);
    mine.computed.push_back(computed);
  }

  /// The last command of the side stream that must have ended. This bounds the commands under way, and so their memory.
  int64_t lastThatEnds(Stream stream, const Side &side) const {
    if (stream == Exchanges || stream == Urgent) {
      int64_t ended = int64_t(side.bounded.size()) - 1 - limits.inFlight;
      return ended < 0 ? -1 : side.bounded[ended];
    }
    // A copy from the host holds its memory from its start to its use, whenever it ends.
    if (stream == FromHost)
      return -1;
    return int64_t(llvm::upper_bound(side.computed, computed - limits.behind) - side.computed.begin()) - 1;
  }

  void waitForAll(size_t at) {
    std::array<int64_t, kStreams> ends;
    for (size_t stream = Exchanges; stream < kStreams; ++stream) {
      const Side &side = sides[stream];
      ends[stream] = std::max({side.waited, lastConflict(side, at, side.waited), lastThatEnds(Stream(stream), side)});
    }
    // A command that has ended waited for others, so these have ended too. Record that: their memory is free.
    for (size_t stream = Exchanges; stream < kStreams; ++stream)
      if (ends[stream] > sides[stream].waited)
        for (size_t other = Exchanges; other < kStreams; ++other)
          ends[other] = std::max(ends[other], sides[stream].ends[ends[stream]][other]);
    for (size_t stream = Exchanges; stream < kStreams; ++stream)
      if (Side &side = sides[stream]; ends[stream] > side.waited) {
        addWait(at, eventOf(side.issued[ends[stream]]));
        side.waited = ends[stream];
      }
    last = at;
    ++computed;
  }

  Limits limits;
  const Buffers &buffers;
  llvm::StringSet<> lasting;
  std::array<Side, kStreams> sides;
  /// The last command of the compute stream so far, and the number of its commands.
  std::optional<size_t> last;
  int64_t computed = 0;
};

struct AssignStreams : dtcc::exec::impl::AssignStreamsBase<AssignStreams> {
  using AssignStreamsBase::AssignStreamsBase;
  void runOnOperation() override {
    llvm::StringSet<> hosts;
    for (auto arena : getOperation().getOps<ArenaOp>())
      if (arena.getHost())
        hosts.insert(arena.getSymName());
    PhaseStreams::Buffers buffers{persistentBuffers(getOperation()), {}};
    for (auto buffer : getOperation().getOps<BufferOp>())
      if (hosts.contains(buffer.getArena()))
        buffers.onHost.insert(buffer.getSymName());
    for (auto phase : getOperation().getOps<PhaseOp>())
      PhaseStreams(phase, {std::max<int64_t>(1, inFlight), behind}, buffers).run();
    if (getContext().getRemarkEngine())
      tell();
  }

  /// Tells for each phase how many of its commands run beside the compute stream.
  void tell() {
    for (auto phase : getOperation().getOps<PhaseOp>()) {
      size_t moved = 0, exchanges = 0;
      for (auto command : phase.getOps<CommandOpInterface>()) {
        moved += command.getStream() != 0;
        exchanges += isa<CollectiveOp, SendOp>(command.getOperation());
      }
      remark::passed(phase.getLoc(), remark::RemarkOpts::name("streams").category(getArgument()))
          << remark::metric("Phase", phase.getSymName().str()) << remark::metric("OnSideStreams", moved)
          << remark::metric("Exchanges", exchanges);
    }
  }
};
} // namespace
