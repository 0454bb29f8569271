//===- PriceCommands.cpp - What each command takes on a machine
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/commands/PriceCommands.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/ProgramPrices.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_PRICECOMMANDS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace dtcc::exec {
namespace {
struct PriceCommands : impl::PriceCommandsBase<PriceCommands> {
  using PriceCommandsBase::PriceCommandsBase;
  explicit PriceCommands(const cost::Machine &machine) : machine(machine) {}

  void runOnOperation() override {
    if (!machine) {
      std::string error;
      std::optional<cost::Cluster> found = cost::parseCluster(cluster, error);
      if (!found) {
        getOperation()->emitError("exec-price-commands: ") << error;
        return signalPassFailure();
      }
      machine = cost::Machine::of(*found);
    }
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      auto mesh = getOperation().lookupSymbol<spmd::MeshOp>(program.getMeshAttr());
      if (!mesh) {
        program.emitOpError("must name an spmd.mesh, got: ") << program.getMeshAttr();
        return signalPassFailure();
      }
      spmd::Mesh axes = spmd::toMesh(mesh);
      ProgramPrices prices(program, *machine, axes);
      program.walk([&](PhaseOp phase) {
        for (auto [command, seconds] : prices.price(phase))
          command->setAttr(kSecondsAttr, Builder(phase).getF64FloatAttr(seconds));
      });
    }
  }

  std::optional<cost::Machine> machine;
};
} // namespace
} // namespace dtcc::exec

std::unique_ptr<Pass> dtcc::exec::createPriceCommandsFor(const cost::Machine &machine) {
  return std::make_unique<PriceCommands>(machine);
}
