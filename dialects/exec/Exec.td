//===- Exec.td - The exec dialect: what each rank does -*- tablegen -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect and the base class of its ops. Ops stand by stage: FusedOps.td
// before bufferization, ProgramOps.td and CommandOps.td after it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_EXEC_EXEC
#define DTCC_DIALECTS_EXEC_EXEC

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::dtcc::exec";
  let summary = "The program of a rank: commands over buffers at offsets";
  let description = [{
    One program for all ranks. Before bufferization the dialect has one op,
    `exec.fused`, around the graph ops that one generated kernel computes. After it a
    program is `exec.program`: buffers in arenas, communicators, and phases of
    commands over views. A command is exactly one row of the command table of
    runtime/abi/dtcc_rt.h; emission adds nothing to it.
  }];
  let useDefaultTypePrinterParser = 1;
  // Programs have the actions of the sharding level.
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

#endif // DTCC_DIALECTS_EXEC_EXEC
