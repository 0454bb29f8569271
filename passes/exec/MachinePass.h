//===- MachinePass.h - Passes that ask what a program does on a machine
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler gives such a pass the machine that it compiles for. In a list of passes as text the option `cluster`
// names a preset instead.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_MACHINEPASS_H
#define DTCC_PASSES_EXEC_MACHINEPASS_H

#include "dialects/spmd/Spmd.h"
#include "mlir/Pass/Pass.h"
#include "planner/cluster/Machine.h"
#include <memory>

namespace dtcc::exec {

/// exec-chunk-exchanges, exec-defer-gathers, exec-fill-exchanges and exec-price-commands for a machine that no
/// --cluster names.
std::unique_ptr<mlir::Pass> createChunkExchangesFor(const cost::Machine &machine);
std::unique_ptr<mlir::Pass> createDeferGathersFor(const cost::Machine &machine);
std::unique_ptr<mlir::Pass> createFillExchangesFor(const cost::Machine &machine);
std::unique_ptr<mlir::Pass> createPriceCommandsFor(const cost::Machine &machine);

/// The mesh of a program by the name that it has in the program's module. Fails with a message if there is none.
template <typename Program> mlir::FailureOr<spmd::Mesh> meshOf(Program program) {
  auto module = program->template getParentOfType<mlir::ModuleOp>();
  if (auto mesh = module.template lookupSymbol<spmd::MeshOp>(program.getMeshAttr()))
    return spmd::toMesh(mesh);
  program.emitOpError("must name an spmd.mesh, got: ") << program.getMeshAttr();
  return mlir::failure();
}

/// A pass over all programs of a module. `Base`: what Passes.td declares, with an option `cluster`.
template <typename Base, typename Program> class MachinePass : public Base {
public:
  using Base::Base;
  explicit MachinePass(const cost::Machine &machine) : machine(machine) {}

  void runOnOperation() final {
    mlir::ModuleOp module = this->getOperation();
    if (!machine) {
      std::string error;
      std::optional<cost::Cluster> found = cost::parseCluster(this->cluster, error);
      if (!found) {
        module.emitError() << this->getArgument() << ": " << error;
        return this->signalPassFailure();
      }
      machine = cost::Machine::of(*found);
    }
    for (auto program : module.template getOps<Program>()) {
      mlir::FailureOr<spmd::Mesh> mesh = meshOf(program);
      if (failed(mesh))
        return this->signalPassFailure();
      run(program, *machine, *mesh);
    }
  }

protected:
  virtual void run(Program program, const cost::Machine &machine, const spmd::Mesh &mesh) = 0;

private:
  std::optional<cost::Machine> machine;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_MACHINEPASS_H
