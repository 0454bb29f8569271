//===- SeparateParameters.cpp - A communicator of parameters' own
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients and activations may be exchanged over the same ranks (cp alone, ep alone, batch
// statistics over dp). Reductions of gradients then share a communicator with exchanges that
// are needed at once, and none of them moves to another stream. A second communicator of the
// same ranks gives the reductions an order of their own, so that they can move.
//
// NCCL allocates buffers per communicator. The pass therefore adds one only if the parameters'
// exchanges would move while the whole group does not, and if they are enough of the group's
// bytes. The scales of norms, which tp ranks sum under sequence parallelism, are not enough.
// Key blocks of a ring move with the gradients: by forecast they lose nothing.
//
// Between stages of a pipeline nothing is done: a stage decides by its own program, and the
// members must have one order.
//
//===----------------------------------------------------------------------===//

#include "dialects/spmd/Spmd.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/ExchangeSlack.h"

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
          !axis || !spmd::contains(spmd::toAxes(op.getAxes()), axis->str()))
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
