//===- AdvanceUpdates.cpp - Parameters change once their gradients are complete
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An early update (graph::kEarlyAttr) reads its own gradient and what is known behind the forward pass. The pass moves
// its commands into the phase that makes the gradients, each behind the last command that touches its buffers: the one
// that completes the gradient, or one that still reads the parameter. A gradient is then alive for a part of the
// backward pass, and exec-plan-arena gives its bytes to the next (Lv et al. 2023, "Full Parameter Fine-tuning for Large
// Language Models with Limited Resources", call this LOMO). The order of two commands that share a buffer stays, so the
// bits are those of late updates.
//
// A command that would wait for a collective at once moves on to the next reduction of gradients, so that the reduction
// overlaps with the work between. At most one more bucket of gradients is then alive.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/Liveness.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_ADVANCEUPDATES
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {

/// Places by the numbers of the commands that the phase of the gradients had at first: a command that moves stands
/// behind one of them, and behind all that moved there before it.
class Advance {
public:
  Advance(PhaseOp gradients, PhaseOp update)
      : gradients(gradients), update(update), commands(gradients.getOps<CommandOpInterface>()), moved(commands.size()) {
    for (auto [number, command] : llvm::enumerate(commands)) {
      note(command, int64_t(number));
      if (isReduction(command))
        reductions.push_back(int64_t(number));
    }
  }

  void run() {
    for (auto command : update.getOps<CommandOpInterface>()) {
      int64_t place = placeOf(command);
      note(command, place);
      if (place < int64_t(commands.size()))
        moved[place].push_back(command);
    }
    for (auto [command, behind] : llvm::zip_equal(commands, moved))
      for (CommandOpInterface next : llvm::reverse(behind))
        move(next, command);
  }

private:
  /// The last commands that touch a buffer, by their places; -1: none.
  struct Touched {
    int64_t read = -1, written = -1;
    /// Whether a collective wrote it last.
    bool byCollective = false;
  };

  static bool isReduction(Operation *command) {
    auto collective = dyn_cast<CollectiveOp>(command);
    return collective && collective.getOfParameters() && collective.getKind() != CollectiveKind::AllGather;
  }

  /// Memory that a library op uses for itself does not count: nobody reads it.
  template <typename Fn> static void forEachAccess(CommandOpInterface command, Fn fn) {
    SmallVector<Access> accesses = accessesOf(command);
    for (Access access : ArrayRef(accesses).drop_back(command.getScratch().size()))
      fn(access, access.view.getBufferAttr().getAttr());
  }

  void note(CommandOpInterface command, int64_t place) {
    forEachAccess(command, [&](Access access, StringAttr buffer) {
      Touched &touched = buffers[buffer];
      if (access.writes)
        touched.written = place, touched.byCollective = isa<CollectiveOp>(command.getOperation());
      if (access.reads)
        touched.read = std::max(touched.read, place);
    });
  }

  /// Behind which command of the phase of the gradients a command may stand. It stays in the update phase, whose place
  /// is the number of all commands, if it touches what one does that stays, or nothing that the gradients' phase does.
  int64_t placeOf(CommandOpInterface command) {
    int64_t place = -1;
    bool waits = false;
    forEachAccess(command, [&](Access access, StringAttr buffer) {
      const Touched &touched = buffers[buffer];
      if (int64_t last = access.writes ? std::max(touched.read, touched.written) : touched.written; last >= place) {
        waits = (last == place && waits) || (last == touched.written && touched.byCollective);
        place = last;
      }
    });
    if (place < 0)
      return int64_t(commands.size());
    auto next = llvm::upper_bound(reductions, place);
    return waits && next != reductions.end() ? *next - 1 : place;
  }

  void move(CommandOpInterface command, Operation *after) {
    command->moveAfter(after);
    command->setAttr(kOfUpdateAttr, UnitAttr::get(command->getContext()));
    OpBuilder builder(command);
    for (OpOperand &operand : command->getOpOperands())
      if (auto view = operand.get().getDefiningOp<ViewOp>(); view && view->getParentOp() == update)
        operand.set(builder.clone(*view)->getResult(0));
  }

  PhaseOp gradients, update;
  SmallVector<CommandOpInterface> commands;
  std::vector<SmallVector<CommandOpInterface, 1>> moved;
  SmallVector<int64_t> reductions;
  llvm::DenseMap<StringAttr, Touched> buffers;
};

struct AdvanceUpdates : dtcc::exec::impl::AdvanceUpdatesBase<AdvanceUpdates> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(graph::kEarlyAttr))
      return;
    PhaseOp before;
    for (auto phase : getOperation().getOps<PhaseOp>()) {
      if (phase.getSymName() == spmd::kUpdatePhase && before) {
        assert(before.getRepeat() == 1 && "updates are early if one run completes the gradients");
        Advance(before, phase).run();
        return;
      }
      before = phase;
    }
  }
};
} // namespace
