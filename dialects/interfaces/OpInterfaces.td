//===- OpInterfaces.td - What passes know of an op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything a pass must know about an op stands in these interfaces, declared
// beside the op, never in a switch over op kinds elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_OPINTERFACES
#define DTCC_DIALECTS_INTERFACES_OPINTERFACES

include "mlir/IR/OpBase.td"

def FactorOpInterface : OpInterface<"FactorOpInterface"> {
  let description = [{
    The op's loops, as a map from dimensions to factors: see Factors.h. The
    generic verifier checks all shapes by it.
  }];
  let cppNamespace = "::dtcc";
  let methods = [
    InterfaceMethod<"The factor map of this instance, from its present types.",
                    "::dtcc::FactorMap", "getFactorMap">,
  ];
  // After the op's own verifier, so that getFactorMap may rely on valid attributes.
  let verifyWithRegions = 1;
  let verify = [{
    return ::dtcc::verifyFactorMap($_op, ::llvm::cast<::dtcc::FactorOpInterface>($_op).getFactorMap());
  }];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let description = [{
    How to build the backward ops. `resultGrads` has one entry a result, null where
    nothing flows back; `operandGrads` arrives with one null entry an operand and
    receives the gradients. Gradients have the type of their operand. Only those
    with `wanted` set need be built. The caller tags what the builder creates with
    the origin of the forward op (see Origin.h).
  }];
  let cppNamespace = "::dtcc";
  let methods = [
    InterfaceMethod<"Builds the gradient ops.", "::mlir::LogicalResult", "buildGradient",
                    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads,
                         "::llvm::ArrayRef<bool>":$wanted, "::llvm::MutableArrayRef<::mlir::Value>":$operandGrads)>,
    InterfaceMethod<"Whether a gradient may flow to operand `operand`. If not, the operand is a constant to it.",
                    "bool", "passesGradient", (ins "unsigned":$operand), "", [{ return true; }]>,
    InterfaceMethod<[{The operand that the result equals, if the op is there for its gradient alone; else null. Such
                      ops end with differentiation.}],
                    "::mlir::Value", "getForwardValue", (ins), "", [{ return nullptr; }]>,
  ];
}

def WorkOpInterface : OpInterface<"WorkOpInterface"> {
  let description = [{
    The work of the op on one device, from *local* sizes. A multiply-add counts as
    two. Bytes follow from the shapes of operands and results.
  }];
  let cppNamespace = "::dtcc";
  let methods = [
    InterfaceMethod<"Floating point operations, given the local size of each factor of the factor map.",
                    "double", "getFlops", (ins "::llvm::ArrayRef<int64_t>":$factorSizes)>,
  ];
}

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let description = [{
    The op's meaning, executable: computes results from whole operands in f64 or
    integers. `results` arrives shaped and typed, zero filled. Used by the
    evaluators, by constant folding at import, and by recognition.
  }];
  let cppNamespace = "::dtcc";
  let methods = [
    InterfaceMethod<"Evaluates the op.", "::mlir::LogicalResult", "evaluate",
                    (ins "::llvm::ArrayRef<::dtcc::HostTensor>":$operands,
                         "::llvm::MutableArrayRef<::dtcc::HostTensor>":$results,
                         "const ::dtcc::EvaluationContext &":$context)>,
  ];
}

def CommunicationOpInterface : OpInterface<"CommunicationOpInterface"> {
  let description = [{
    What an op exchanges with other ranks, to those who list, price, evaluate or check communication: see
    Communication.h. Ops on tensors and commands implement it; whoever reads it need not know which collectives there are.
  }];
  let cppNamespace = "::dtcc";
  let methods = [
    InterfaceMethod<"The exchanges of the op, in order. Those whose sizes depend on storage or mesh look these up.",
                    "::llvm::SmallVector<::dtcc::Communication, 1>", "getCommunications">,
    InterfaceMethod<"What is exchanged, as text on which both sides must agree.",
                    "std::string", "describeContent", (ins), "", [{ return ::dtcc::describeFirstType($_op); }]>,
  ];
}

def StateAccessOpInterface : OpInterface<"StateAccessOpInterface"> {
  let description = [{
    Which states an op reads, writes or updates: see StateAccess.h. Passes that follow a state through the step, lay
    it out or check its layout read this interface; they need not know which ops there are.
  }];
  let cppNamespace = "::dtcc";
  let methods = [
    InterfaceMethod<"The states that the op touches, in order, each with the value that is read or stored.",
                    "::llvm::SmallVector<::dtcc::StateAccess, 1>", "getStateAccesses">,
  ];
}

def SequenceOpInterface : OpInterface<"SequenceOpInterface"> {
  let description = [{
    What an op allows whose result depends on the place of a position in its sequence. Passes that pad, split or
    reorder positions ask this.
  }];
  let cppNamespace = "::dtcc";
  let methods = [
    InterfaceMethod<[{Whether the op compares the positions of operand 0 with those of operand 1. If so, it takes both
                      in the order that its attribute `chunks` names, and operand 1 in parts.}],
                    "bool", "attends", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{Makes the op ignore rows that pad its positions, and returns the label that these rows must
                      have. Nothing: the op has no labels.}],
                    "::std::optional<int64_t>", "ignorePadding", (ins), "", [{ return ::std::nullopt; }]>,
    InterfaceMethod<"The operand that holds a label for each position; null if the op has none.",
                    "::mlir::Value", "getLabels", (ins), "", [{ return nullptr; }]>,
  ];
}

#endif // DTCC_DIALECTS_INTERFACES_OPINTERFACES
