//===- ProgramPrices.h - What the commands of a program take on a machine
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model of the search (planner/cost), asked about what is left of the model: kernels
// by the bytes that they move, products and attention by their sizes, collectives by what
// their groups send. What ops of the library compute is a row of a table.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_COMMANDS_PROGRAMPRICES_H
#define DTCC_PASSES_EXEC_COMMANDS_PROGRAMPRICES_H

#include "dialects/exec/Exec.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "planner/cluster/Machine.h"
#include "planner/cost/Kernels.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <optional>

namespace dtcc::exec {

class ProgramPrices {
public:
  ProgramPrices(ProgramOp program, const cost::Machine &machine, const spmd::Mesh &mesh)
      : stage(program.getStage().value_or(0)), machine(machine), mesh(mesh), kernels(machine.device, machine.constants),
        besideGathers(machine.device, machine.constants, {false, /*gathering=*/true, false}) {
    for (auto op : program.getOps<CommunicatorOp>())
      communicators[op.getSymName()] = op;
    for (auto op : program.getOps<ArenaOp>())
      if (op.getHost())
        hostArenas.insert(op.getSymName());
    for (auto op : program.getOps<BufferOp>())
      if (hostArenas.contains(op.getArena()))
        hostBuffers.insert(op.getSymName());
    for (auto op : program->getParentOfType<mlir::ModuleOp>().getOps<mlir::LLVM::LLVMFuncOp>())
      functions[op.getSymNameAttr()] = op;
  }

  using Priced = std::pair<CommandOpInterface, double>;
  /// The seconds of each command of a phase, in the order of the text. Kernels are slower beside collectives of other
  /// streams, as in the search (cost/Step, Constants.def): products while parameters are gathered, and all kernels by a
  /// share of the time for which collectives run beside them. All kernels of a phase bear that share, since no order of
  /// the streams is known here. A collective that one run of the phase has alone is beside the kernels of that run, and
  /// no others: what is left of it when the run ends is waited for.
  llvm::SmallVector<Priced> price(PhaseOp phase);
  /// Seconds of a command alone. The slowest of so many ranks is waited for.
  double seconds(CommandOpInterface command) const { return machine.straggling() * ownSeconds(command); }

private:
  /// Whether a command is a collective that a kernel may run beside.
  bool runsBeside(CommandOpInterface command) const {
    return !machine.isCpu() && command.getStream() != 0 && isa<CollectiveOp>(command);
  }
  /// Whether a command is one of the kernels of the first stream.
  static bool computes(CommandOpInterface command) {
    return command.getStream() == 0 && !isa<CommunicationOpInterface>(*command);
  }
  /// For how many seconds kernels run beside collectives in one run of a phase with these commands: the run of `slot`,
  /// or one that has no collective of its own.
  double besideCollectives(llvm::ArrayRef<Priced> commands, std::optional<int64_t> slot) const;
  double ownSeconds(CommandOpInterface command) const;
  double secondsOfLibrary(LibraryOp op) const;
  double secondsOfKernel(KernelOp op) const;
  double secondsOfExchange(CommunicationOpInterface op) const;
  double secondsOfCollective(const Communication &exchange) const;
  double secondsOfReceive(const Communication &message) const;
  double secondsOfCopy(CopyOp op) const;
  /// Time of a command that only moves bytes. A GPU starts a kernel in the time in which it moves some megabytes.
  double secondsOfStream(double bytes) const { return atLeastStarted(kernels.secondsForStream(bytes)); }
  double atLeastStarted(double seconds) const {
    return machine.isCpu() ? seconds : std::max(seconds, machine.constants.launch);
  }
  cost::Group groupOf(CommunicatorOp op) const;

  int64_t stage;
  const cost::Machine &machine;
  const spmd::Mesh &mesh;
  /// Rates of kernels alone, and of kernels beside gathers of parameters.
  cost::Kernels kernels, besideGathers;
  /// Whether the phase gathers parameters beside its kernels.
  bool gathers = false;
  llvm::StringMap<CommunicatorOp> communicators;
  llvm::DenseMap<mlir::StringAttr, mlir::LLVM::LLVMFuncOp> functions;
  llvm::StringSet<> hostArenas, hostBuffers;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_PROGRAMPRICES_H
