//===- PrecisionInterface.td - The float types that an op wants
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface by which graph-lower-precision asks each op for its types. All answers are in one table, PrecisionPolicy.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_PRECISIONINTERFACE
#define DTCC_DIALECTS_GRAPH_PRECISIONINTERFACE

include "mlir/IR/OpBase.td"

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let description = [{
    The float types of an op where a step computes in bf16 or f16. Ops that work on
    single cells need not implement it: they follow their operands. Other ops without
    it stay in f32.
  }];
  let cppNamespace = "::dtcc::graph";
  let methods = [
    InterfaceMethod<"What float operand `index` should be.", "::dtcc::graph::Precision", "getOperandPrecision",
                    (ins "unsigned":$index), "", [{ return ::dtcc::graph::Precision::Compute; }]>,
    InterfaceMethod<"What float result `index` should be.", "::dtcc::graph::Precision", "getResultPrecision",
                    (ins "unsigned":$index), "", [{ return ::dtcc::graph::Precision::Compute; }]>,
    InterfaceMethod<[{Whether the op sums in f32 and can give an f32 result of narrower operands without
                      first rounding it.}],
                    "bool", "canWidenResult", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{Tells an op whose tensors are f32 and that multiplies matrices inside the compute type, to which
                      the factors of these products may be rounded.}],
                    "void", "setComputeType", (ins "::mlir::FloatType":$type), "", [{ return; }]>,
  ];
}

/// Ops with answers of their own, in PrecisionPolicy.cpp.
class Graph_Precision<list<string> methods> : DeclareOpInterfaceMethods<PrecisionOpInterface, methods>;
defvar Graph_OwnPrecision = Graph_Precision<["getOperandPrecision", "getResultPrecision"]>;

#endif // DTCC_DIALECTS_GRAPH_PRECISIONINTERFACE
