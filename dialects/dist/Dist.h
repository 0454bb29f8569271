//===- Dist.h - The dist dialect: where a training step lives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one public header of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_DIST_DIST_H
#define DTCC_DIALECTS_DIST_DIST_H

#include "dialects/dist/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/dist/DistDialect.h.inc"
#include "dialects/dist/DistEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/dist/DistTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/dist/DistOps.h.inc"

namespace dtcc::dist {

/// Discardable attributes of a graph.state; see the dialect's description.
inline constexpr llvm::StringLiteral kLayoutAttr = "dist.layout";
inline constexpr llvm::StringLiteral kFlatAttr = "dist.flat";
inline constexpr llvm::StringLiteral kZeroAttr = "dist.zero";
inline constexpr llvm::StringLiteral kUnitAttr = "dist.unit";
inline constexpr llvm::StringLiteral kComputeAttr = "dist.compute";
inline constexpr llvm::StringLiteral kOffloadAttr = "dist.offload";
inline constexpr llvm::StringLiteral kBucketAttr = "dist.bucket";
inline constexpr llvm::StringLiteral kOffsetAttr = "dist.offset";

/// Where a graph.state lies: a bucket and an offset in elements; one pair per stage of a
/// pipeline that holds a copy. Empty if it was given no place.
llvm::SmallVector<std::pair<mlir::FlatSymbolRefAttr, int64_t>> bucketsOf(mlir::Operation *state);
void addBucket(mlir::Operation *state, mlir::FlatSymbolRefAttr bucket, int64_t offset);

/// An array of strings as plain axes, and back.
Axes toAxes(mlir::ArrayAttr names);
mlir::ArrayAttr fromAxes(mlir::MLIRContext *context, const Axes &axes);

/// A dist.mesh as a plain value.
Mesh toMesh(MeshOp op);
/// The mesh of the program around `op`; fails without a message if there is none.
mlir::FailureOr<Mesh> findMesh(mlir::Operation *op);

/// The type of a rank's part of `type`; null if it does not divide.
mlir::RankedTensorType localType(TensorType type, const Mesh &mesh);

} // namespace dtcc::dist

#endif // DTCC_DIALECTS_DIST_DIST_H
