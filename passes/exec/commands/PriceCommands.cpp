//===- PriceCommands.cpp - What each command takes on a machine
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/commands/PriceCommands.h"
#include "passes/exec/MachinePass.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/ProgramPrices.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_PRICECOMMANDS
#include "passes/exec/Passes.h.inc"
#include <memory>
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace dtcc::exec {
namespace {
struct PriceCommands : MachinePass<impl::PriceCommandsBase<PriceCommands>, ProgramOp> {
  using MachinePass::MachinePass;
  void run(ProgramOp program, const cost::Machine &machine, const spmd::Mesh &mesh) override {
    ProgramPrices prices(program, machine, mesh);
    program.walk([&](PhaseOp phase) {
      for (auto [command, seconds] : prices.price(phase))
        command->setAttr(kSecondsAttr, Builder(phase).getF64FloatAttr(seconds));
    });
  }
};
} // namespace
} // namespace dtcc::exec

std::unique_ptr<Pass> dtcc::exec::createPriceCommandsFor(const cost::Machine &machine) {
  return std::make_unique<PriceCommands>(machine);
}
