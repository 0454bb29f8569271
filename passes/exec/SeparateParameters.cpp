//===- SeparateParameters.cpp - A communicator of parameters' own
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the ranks that share parameters are the ranks that split activations (cp alone, ep
// alone, statistics of a batch over dp), reductions of gradients share a communicator with
// exchanges that are wanted at once, and none of them moves to another stream. Over a second
// communicator of the same ranks they have an order of their own, which may.
//
// NCCL holds buffers for each, so there is one only where the parameters' part would move
// and the whole does not, and where that part is enough of what the group exchanges: the
// scales of norms, which ranks of tp sum up under sequence parallelism, are not. Blocks of
// keys on their way around a ring move with the gradients: in forecasts they lose nothing by it.
//
// Between stages of a pipeline nothing is done: a stage decides by its own program, and the
// members must have one order.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "passes/exec/ExchangeSlack.h"
#include "passes/exec/Passes.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_SEPARATEPARAMETERS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {
struct SeparateParameters : exec::impl::SeparateParametersBase<SeparateParameters> {
  using SeparateParametersBase::SeparateParametersBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    llvm::StringSet<> persistent = persistentBuffers(program);
    llvm::StringMap<std::string> apart;
    for (auto op : program.getOps<CommunicatorOp>())
      if (std::optional<StringRef> axis = program.getAxis();
          !axis || !dist::contains(dist::toAxes(op.getAxes()), axis->str()))
        apart[op.getSymName()] = (op.getSymName() + ".parameters").str();
    llvm::StringMap<double> hidden, all;
    for (auto phase : program.getOps<PhaseOp>()) {
      llvm::StringSet<> together = ExchangeSlack(phase, persistent).movable();
      llvm::StringSet<> separate = ExchangeSlack(phase, persistent, apart).movable();
      for (auto op : phase.getOps<CollectiveOp>()) {
        StringRef name = op.getCommunicator();
        double bytes = exchangedBytes(op) * (op.getSlot() ? 1 : double(phase.getRepeat()));
        all[name] += bytes;
        if (op.getOfParameters() && !together.contains(name) && separate.contains(apart.lookup(name)))
          hidden[name] += bytes;
      }
    }
    llvm::StringMap<std::string> made;
    for (auto op : llvm::make_early_inc_range(program.getOps<CommunicatorOp>())) {
      StringRef name = op.getSymName();
      if (hidden.lookup(name) == 0 || hidden.lookup(name) < least * all.lookup(name))
        continue;
      OpBuilder builder(op);
      builder.setInsertionPointAfter(op);
      made[name] = apart.lookup(name);
      CommunicatorOp::create(builder, op.getLoc(), builder.getStringAttr(made[name]), op.getAxesAttr(),
                             op.getMembersAttr(), /*ofParameters=*/true);
    }
    for (auto phase : program.getOps<PhaseOp>())
      for (auto op : phase.getOps<CollectiveOp>())
        if (auto own = made.find(op.getCommunicator()); op.getOfParameters() && own != made.end())
          op.setCommunicator(own->second);
  }
};
} // namespace
