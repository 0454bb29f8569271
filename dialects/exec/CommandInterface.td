//===- CommandInterface.td - What a command touches -*- tablegen -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_EXEC_COMMANDINTERFACE
#define DTCC_DIALECTS_EXEC_COMMANDINTERFACE

include "mlir/IR/OpBase.td"

def Exec_CommandOpInterface : OpInterface<"CommandOpInterface"> {
  let description = [{ A command, for analyses of the memory that it uses and of its order. }];
  let cppNamespace = "::dtcc::exec";
  let methods = [
    InterfaceMethod<"Views that it reads.", "::mlir::OperandRange", "getIns">,
    InterfaceMethod<"Views that it writes.", "::mlir::OperandRange", "getOuts">,
    InterfaceMethod<"Scratch memory: the command reads no earlier content of it and leaves none.", "::mlir::ValueRange", "getScratch", (ins),
                    [{}], [{ return {}; }]>,
    InterfaceMethod<"Whether it reads the memory of output `index` too (sums, updates in place).", "bool", "readsOut",
                    (ins "unsigned":$index), [{}], [{ return false; }]>,
    InterfaceMethod<"Whether it accesses each cell at most once, in order, so that its views may be in host memory.", "bool",
                    "streams", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<"Events that it waits for.", "::mlir::OperandRange", "getAfter">,
    InterfaceMethod<"Its stream.", "uint64_t", "getStream">,
  ];
}

#endif // DTCC_DIALECTS_EXEC_COMMANDINTERFACE
