//===- AssignStreams.cpp - Collectives and messages beside the commands that compute
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What moves is decided by communicator, not by command: all collectives of one group in
// a phase stay in one order, which is then the same on every rank. So do the messages of a
// channel that a phase sends; what it receives is wanted at once.
//
// Where micro-batches add up shares of gradients, a sum stands right behind each reduction
// and would wait for it at once. Nothing in the phase reads it: it moves behind the work
// that follows, up to the next reduction of the group. So at most one more bucket of a
// unit's gradients is held, and sums stay in their order: the bits are the same.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Liveness.h"
#include "passes/exec/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc::exec;

namespace {

class PhaseStreams {
public:
  PhaseStreams(PhaseOp phase, int64_t inFlight, const llvm::StringSet<> &persistent)
      : commands(phase.getOps<CommandOpInterface>()), inFlight(std::max<int64_t>(1, inFlight)), persistent(persistent) {
  }

  void run() {
    llvm::StringSet<> moved = choose();
    if (moved.empty())
      return;
    sinkSums(moved);
    for (size_t i = 0; i < commands.size(); ++i)
      if (std::optional<StringRef> communicator = communicatorOf(i); communicator && moved.contains(*communicator))
        issue(i);
      else
        waitForAll(i);
  }

private:
  static constexpr uint64_t kStream = 1;

  /// Of what may move; else none.
  std::optional<StringRef> communicatorOf(size_t at) {
    if (auto collective = dyn_cast<CollectiveOp>(commands[at].getOperation()))
      return collective.getCommunicator();
    if (auto send = dyn_cast<SendOp>(commands[at].getOperation()))
      return send.getCommunicator();
    return std::nullopt;
  }

  bool conflict(size_t a, size_t b) {
    for (Access x : accessesOf(commands[a]))
      for (Access y : accessesOf(commands[b]))
        if (x.view.getBuffer() == y.view.getBuffer() && (x.writes || y.writes))
          return true;
    return false;
  }

  /// Whether the command behind the collective adds what that brings to state, and does nothing else.
  bool isSum(size_t collective) {
    size_t at = collective + 1;
    if (at == commands.size() || !isa<CollectiveOp>(commands[collective].getOperation()) ||
        !isa<KernelOp>(commands[at].getOperation()) || !conflict(collective, at))
      return false;
    return commands[at]->getNumResults() == 0 && llvm::all_of(accessesOf(commands[at]), [&](Access access) {
             return !access.writes || persistent.contains(access.view.getBuffer());
           });
  }

  /// Before which command the sum behind the collective may stand at the latest.
  size_t lastPlaceOfSum(size_t collective) {
    auto of = cast<CollectiveOp>(commands[collective].getOperation());
    size_t i = collective + 2;
    for (; i < commands.size() && !conflict(collective + 1, i); ++i)
      if (auto next = dyn_cast<CollectiveOp>(commands[i].getOperation());
          next && next.getCommunicator() == of.getCommunicator() && next.getKind() != CollectiveKind::all_gather)
        break;
    return i;
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

  /// Whether something is computed between the command and the first that needs it or its memory.
  bool hasSlack(size_t at) {
    bool sum = isSum(at);
    size_t end = sum ? lastPlaceOfSum(at) : commands.size();
    for (size_t i = at + 1 + sum; i < end && !conflict(at, i); ++i)
      if (isa<KernelOp, LibraryOp>(commands[i].getOperation()))
        return true;
    return false;
  }

  /// Communicators most of whose commands have something to hide behind.
  llvm::StringSet<> choose() {
    llvm::StringMap<std::pair<int64_t, int64_t>> counts; // with slack, all
    for (size_t i = 0; i < commands.size(); ++i)
      if (std::optional<StringRef> communicator = communicatorOf(i)) {
        auto &[slack, all] = counts[*communicator];
        slack += hasSlack(i);
        ++all;
      }
    llvm::StringSet<> result;
    for (const auto &entry : counts)
      if (2 * entry.second.first > entry.second.second)
        result.insert(entry.first());
    return result;
  }

  /// The event of a command, which is made again if it has none.
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

  void issue(size_t at) {
    // It runs no earlier than it stands: gathers would else take memory from the start.
    if (at && (issued.empty() || issued.back() != at - 1))
      addWait(at, eventOf(at - 1));
    llvm::TypeSwitch<Operation *>(commands[at].getOperation()).Case<CollectiveOp, SendOp>([](auto op) {
      op.setStream(kStream);
    });
    issued.push_back(at);
  }

  void waitForAll(size_t at) {
    int64_t last = waited;
    for (int64_t i = issued.size() - 1; i > waited; --i)
      if (conflict(issued[i], at)) {
        last = i;
        break;
      }
    // A bound on what is on its way is one on the memory that it holds.
    last = std::max<int64_t>(last, int64_t(issued.size()) - 1 - inFlight);
    if (last > waited) {
      addWait(at, eventOf(issued[last]));
      waited = last;
    }
  }

  SmallVector<CommandOpInterface> commands;
  int64_t inFlight;
  /// Names of the buffers that outlive the phase.
  const llvm::StringSet<> &persistent;
  /// Commands of the second stream, and the last of them that the first has waited for.
  SmallVector<size_t> issued;
  int64_t waited = -1;
};

struct AssignStreams : dtcc::exec::impl::AssignStreamsBase<AssignStreams> {
  using AssignStreamsBase::AssignStreamsBase;
  void runOnOperation() override {
    llvm::StringSet<> persistent;
    for (auto buffer : getOperation().getOps<BufferOp>())
      if (buffer.getPersistent())
        persistent.insert(buffer.getSymName());
    for (auto phase : getOperation().getOps<PhaseOp>())
      PhaseStreams(phase, inFlight, persistent).run();
  }
};
} // namespace
