//===- Spmd.h - The spmd dialect: where a training step lives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one public header of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_SPMD_H
#define DTCC_DIALECTS_SPMD_SPMD_H

#include "dialects/interfaces/OpInterfaces.h"
#include "dialects/interfaces/PhaseRun.h"
#include "dialects/spmd/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace dtcc::spmd {
/// The collective of an op on one tensor: over its axes, from its first operand to its result.
Communication tensorCollective(mlir::Operation *op, CollectiveKind kind);
/// Verify that shapes are what a collective of the kind makes of them.
mlir::LogicalResult verifyCollective(CommunicationOpInterface op);
mlir::LogicalResult verifyRows(CommunicationOpInterface op);
} // namespace dtcc::spmd

#include "dialects/spmd/SpmdDialect.h.inc"
#include "dialects/spmd/SpmdEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/spmd/SpmdAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/spmd/SpmdTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/spmd/SpmdOps.h.inc"

namespace dtcc::spmd {

/// The attribute of a module that holds the plan it carries out, a PlanAttr.
inline constexpr llvm::StringLiteral kPlanAttr = "spmd.plan";
/// Discardable attributes of a graph.state; see the dialect's description.
inline constexpr llvm::StringLiteral kLayoutAttr = "spmd.layout";
inline constexpr llvm::StringLiteral kFlatAttr = "spmd.flat";
inline constexpr llvm::StringLiteral kZeroAttr = "spmd.zero";
inline constexpr llvm::StringLiteral kUnitAttr = "spmd.unit";
inline constexpr llvm::StringLiteral kComputeAttr = "spmd.compute";
inline constexpr llvm::StringLiteral kGradientAttr = "spmd.gradient";
inline constexpr llvm::StringLiteral kOffloadAttr = "spmd.offload";
inline constexpr llvm::StringLiteral kBucketAttr = "spmd.bucket";
inline constexpr llvm::StringLiteral kOffsetAttr = "spmd.offset";
/// The phase in which the optimizer runs, the last of a step.
inline constexpr llvm::StringLiteral kUpdatePhase = "update";
/// The phases behind the update, which a step does not run: an evaluation computes the loss of every micro-batch, then
/// sums it over all ranks. If a rank has several stages of a pipeline, each has a phase "evaluate.STAGE". An evaluation
/// of averages over the steps begins and ends with an exchange of parameters and averages; another one leaves these
/// phases out. Before an evaluation, copies of parameters are completed that the last step left incomplete
/// (exec-defer-gathers).
inline constexpr llvm::StringLiteral kEvaluatePhase = "evaluate", kScorePhase = "score";
inline constexpr llvm::StringLiteral kGatherPhase = "gather_parameters";
inline constexpr llvm::StringLiteral kTakeAveragePhase = "take_average", kReturnAveragePhase = "return_average";
inline bool exchangesAverages(llvm::StringRef phase) {
  return phase == kTakeAveragePhase || phase == kReturnAveragePhase;
}
inline bool isOfEvaluation(llvm::StringRef phase) {
  return phase == kScorePhase || phase == kGatherPhase || phase.split('.').first == kEvaluatePhase ||
         exchangesAverages(phase);
}

/// Place of a graph.state: a bucket and an offset in elements, one pair for each stage of a
/// pipeline that holds a copy. Empty if no pass has assigned a bucket.
llvm::SmallVector<std::pair<mlir::FlatSymbolRefAttr, int64_t>> bucketsOf(mlir::Operation *state);
void addBucket(mlir::Operation *state, mlir::FlatSymbolRefAttr bucket, int64_t offset);

/// An array of strings as plain axes, and back.
Axes toAxes(mlir::ArrayAttr names);
mlir::ArrayAttr fromAxes(mlir::MLIRContext *context, const Axes &axes);

/// An spmd.mesh as a plain value.
Mesh toMesh(MeshOp op);
/// The mesh of the program around `op`; fails without a message if there is none.
mlir::FailureOr<Mesh> findMesh(mlir::Operation *op);

/// The type of a rank's part of `type`; null if it does not divide.
mlir::RankedTensorType localType(TensorType type, const Mesh &mesh);

} // namespace dtcc::spmd

#endif // DTCC_DIALECTS_SPMD_SPMD_H
