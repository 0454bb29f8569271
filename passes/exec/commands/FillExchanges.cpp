//===- FillExchanges.cpp - Work for the time of exchanges
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backward pass sends gradients of activations from layer to layer, and the ranks of tp, cp and ep wait for the
// exchanges on this way. The gradients of weights are not on it. A device has something to do during an exchange if
// such commands stand behind the exchange and before the first command that needs its result. Megatron-LM calls this
// the bulk overlap of tensor parallelism (NVIDIA Transformer Engine, ub_bulk_wgrad and ub_bulk_dgrad). In a forward
// pass queries can be made while keys and values travel.
//
// Each exchange first moves up to behind the last command that it depends on. Then the nearest commands before it that
// it does not depend on move behind it, until their time is that of the exchange: first those that no exchange depends
// on, so that messages to other stages do not wait for more. The order of two commands that share a buffer stays, so
// all bits do. The order of the collectives of activations among each other stays, too; reductions of gradients may
// move with what they wait for. All ranks of a group run the same program, so their order is the same everywhere.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/MachinePass.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/ExchangeSlack.h"
#include "passes/exec/commands/ProgramPrices.h"
#include "llvm/ADT/DenseSet.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_FILLEXCHANGES
#include "passes/exec/Passes.h.inc"
#include <memory>
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {

/// How many commands before an exchange are looked at: those of some two layers. What moves lives longer.
constexpr size_t kWindow = 64;

class PhaseFiller {
public:
  /// `persistent`: names of the buffers that outlive the phase.
  PhaseFiller(PhaseOp phase, const ProgramPrices &prices, const llvm::StringSet<> &persistent) : phase(phase) {
    for (auto command : phase.getOps<CommandOpInterface>())
      commands.push_back(describe(command, prices));
    ExchangeSlack slack(phase, persistent);
    for (size_t i = 0; i + 1 < commands.size(); ++i)
      commands[i + 1].sums = !commands[i].exchange && slack.isSum(i);
  }

  void run() {
    findNeeded();
    raiseExchanges();
    for (size_t at = 0; at < commands.size(); ++at) {
      if (!commands[at].exchange) {
        pending = std::max(0.0, pending - commands[at].computing());
        continue;
      }
      pending += commands[at].seconds;
      at = fill(at);
    }
    if (commands.empty())
      return;
    // Views stand before all commands, which may go anywhere then.
    Block &block = phase.getBody().front();
    for (const Command &command : commands)
      command.op->moveBefore(&block, block.end());
  }

private:
  struct Command {
    Operation *op;
    SmallVector<Access> accesses;
    /// Whether it is a collective of activations or a message to another stage. Rings are left out: attention already
    /// stands beside them.
    bool exchange = false;
    /// Whether it communicates in any way, so that other ranks wait for it or it waits for them.
    bool communicates = false;
    /// Right behind a reduction of gradients, whose result it adds up. exec-assign-streams moves it.
    bool sums = false;
    /// Whether it may move behind an exchange: it computes, or reduces gradients.
    bool moves = false;
    /// Whether an exchange of the phase depends on it.
    bool needed = false;
    /// Whether the command already overlaps with an exchange.
    bool taken = false;
    double seconds = 0;
    double computing() const { return isa<KernelOp, LibraryOp>(op) ? seconds : 0; }
    /// Whether it moves only because others do: by itself it gains nothing behind an exchange.
    bool rides() const { return communicates || sums; }
  };

  static Command describe(CommandOpInterface op, const ProgramPrices &prices) {
    Command command{op.getOperation(), accessesOf(op)};
    auto collective = dyn_cast<CollectiveOp>(op.getOperation());
    command.communicates = isa<CommunicationOpInterface>(op.getOperation());
    command.exchange = isa<SendOp>(op.getOperation()) ||
                       (collective && !collective.getOfParameters() && collective.getKind() != CollectiveKind::Shift);
    command.moves = isa<KernelOp, LibraryOp>(op.getOperation()) ||
                    (collective && collective.getOfParameters() && collective.getKind() != CollectiveKind::AllGather);
    command.seconds = prices.seconds(op);
    return command;
  }

  /// Buffers count, not their parts.
  void findNeeded() {
    llvm::DenseSet<Attribute> read;
    for (Command &command : llvm::reverse(commands)) {
      command.needed = command.exchange || llvm::any_of(command.accesses, [&](Access access) {
                         return access.writes && read.contains(access.view.getBufferAttr());
                       });
      if (command.needed)
        for (Access access : command.accesses)
          if (access.reads)
            read.insert(access.view.getBufferAttr());
    }
  }

  static bool conflict(const Command &a, const Command &b) { return dtcc::exec::conflict(a.accesses, b.accesses); }

  void move(size_t from, size_t to) {
    auto begin = commands.begin();
    if (to < from)
      std::rotate(begin + to, begin + from, begin + from + 1);
    else
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
  }

  /// Moves exchanges up past commands that compute.
  void raiseExchanges() {
    for (size_t at = 0; at < commands.size(); ++at) {
      if (!commands[at].exchange)
        continue;
      size_t to = at;
      while (to > 0 && !commands[to - 1].communicates && !commands[to - 1].sums &&
             !conflict(commands[to - 1], commands[at]))
        --to;
      // The compute stream waits where many exchanges are under way, so the next ones go on behind some work.
      while (to < at && to >= kExchangesInFlight &&
             llvm::all_of(
                 ArrayRef(commands).slice(to - kExchangesInFlight, kExchangesInFlight),
                 [](const auto &each) { return each.exchange; }))
        ++to;
      move(at, to);
    }
  }

  /// Moves commands behind the exchange until those before its first reader take as long as what is pending. Returns
  /// the place of the exchange.
  size_t fill(size_t exchange) {
    double missing = pending;
    for (size_t i = exchange + 1; i < commands.size() && missing > 0 && !conflict(commands[exchange], commands[i]);
         ++i) {
      missing -= commands[i].computing();
      commands[i].taken = true;
    }
    // Commands that other exchanges depend on move last: they would delay those.
    for (bool needed : {false, true})
      exchange = choose(exchange, needed, missing);
    return exchange;
  }

  /// Moves the nearest commands behind the exchange until they take `missing` seconds, which falls by those.
  size_t choose(size_t exchange, bool needed, double &missing) {
    // Chosen commands, the last first.
    SmallVector<size_t> chosen;
    size_t first = exchange > kWindow ? exchange - kWindow : 0;
    for (size_t i = exchange; i-- > first && missing > 0;) {
      const Command &candidate = commands[i];
      if (!candidate.moves || candidate.taken || (candidate.needed && !needed) || !mayPass(i, exchange, chosen))
        continue;
      chosen.push_back(i);
      missing -= candidate.rides() ? 0 : candidate.computing();
    }
    while (!chosen.empty() && commands[chosen.back()].rides())
      chosen.pop_back();
    for (size_t i : chosen) {
      commands[i].taken = true;
      move(i, exchange);
      --exchange;
    }
    return exchange;
  }

  /// Whether a command may move behind the exchange with those that are chosen.
  bool mayPass(size_t at, size_t exchange, ArrayRef<size_t> chosen) const {
    for (size_t i = at + 1; i <= exchange; ++i)
      if (!llvm::is_contained(chosen, i) && conflict(commands[at], commands[i]))
        return false;
    return true;
  }

  PhaseOp phase;
  std::vector<Command> commands;
  /// Seconds of exchanges that nothing runs beside so far.
  double pending = 0;
};

struct FillExchanges : MachinePass<dtcc::exec::impl::FillExchangesBase<FillExchanges>, ProgramOp> {
  using MachinePass::MachinePass;
  void run(ProgramOp program, const cost::Machine &machine, const spmd::Mesh &mesh) override {
    ProgramPrices prices(program, machine, mesh);
    llvm::StringSet<> persistent = persistentBuffers(program);
    for (auto phase : program.getOps<PhaseOp>())
      PhaseFiller(phase, prices, persistent).run();
  }
};
} // namespace

std::unique_ptr<Pass> dtcc::exec::createFillExchangesFor(const cost::Machine &machine) {
  return std::make_unique<FillExchanges>(machine);
}
