//===- OptimizerInterface.td - What passes know of an optimizer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimizer is an attribute; a new one is its row in GraphAttrs.td, its formulas in
// Optimizers.cpp, and its library op.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_OPTIMIZERINTERFACE
#define DTCC_DIALECTS_GRAPH_OPTIMIZERINTERFACE

include "mlir/IR/OpBase.td"

def OptimizerAttrInterface : AttrInterface<"OptimizerAttrInterface"> {
  let cppNamespace = "::dtcc::graph";
  let methods = [
    InterfaceMethod<"Suffixes of the names under which the slots of a parameter are saved; one a slot.",
                    "::llvm::SmallVector<::llvm::StringRef>", "getSlotNames">,
    InterfaceMethod<"The learning rate where the command line gives none.", "double", "getLearningRate">,
    InterfaceMethod<"The weight decay of parameters that decay.", "double", "getDecay">,
    InterfaceMethod<"The mnemonic in runtime/abi/LibraryOps.def.", "::llvm::StringRef", "getLibraryOp">,
    InterfaceMethod<"That op's attributes behind the bucket and the coordinate: i64 and f64.",
                    "::llvm::SmallVector<::mlir::Attribute>", "getLibraryParameters", (ins "::mlir::Builder":$builder)>,
    InterfaceMethod<[{The meaning, for one cell in f64: gradient `g` of the mean, `rate` (the learning rate of the
                      parameter), `decay` (0 where the parameter does not), `step` from 1. Updates the parameter and its
                      slots; every stored number goes through `rounded`. An optimizer of whole tensors computes their
                      direction instead, into `p`; with factors, that of the first step of a tensor of one cell.}],
                    "void", "updateCell", (ins "double":$g, "double":$rate, "double":$decay, "int64_t":$step,
                    "double &":$p, "::llvm::ArrayRef<double *>":$slots,
                    "::llvm::function_ref<double(double)>":$rounded)>,
    InterfaceMethod<[{The optimizer of a parameter with this saved shape: this one, or the one that it leaves other
                      tensors than matrices to, as `by_element` asks.}],
                    "::dtcc::graph::OptimizerAttrInterface", "optimizerOf",
                    (ins "::llvm::ArrayRef<int64_t>":$savedShape, "bool":$byElement), "", "return $_attr;">,
    InterfaceMethod<[{The reductions over a whole tensor that a step needs. An optimizer that needs any has a library op
                      that makes the direction of the step, getLibraryOp(), and steps by `apply_direction`.}],
                    "::dtcc::graph::TensorNeed", "getTensorNeed", (ins), "", "return ::dtcc::graph::TensorNeed::None;">,
    InterfaceMethod<[{The vectors that this optimizer keeps of a tensor with this saved shape, whole on every rank. Besides
                      them it may have slots, which are as large as the tensor.}],
                    "::llvm::SmallVector<::dtcc::graph::TensorFactor>", "getFactors",
                    (ins "::llvm::ArrayRef<int64_t>":$savedShape), "", "return {};">,
    InterfaceMethod<[{The codes in which a slot holds its values, a dtcc_codes. All slots of an optimizer have codes, or none
                      (runtime/abi/BlockCodes.h).}],
                    "int64_t", "getSlotCodes", (ins "int64_t":$slot), "", "return 0;">,
    InterfaceMethod<"Attributes of the library op that makes whole directions of those of a bucket, or of apply_direction.",
                    "::llvm::SmallVector<::mlir::Attribute>", "getTensorParameters", (ins "::mlir::Builder":$builder),
                    "", "return {};">,
  ];
}

#endif // DTCC_DIALECTS_GRAPH_OPTIMIZERINTERFACE
