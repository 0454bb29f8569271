//===- States.h - States, buckets and segments of an image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_EMIT_STATES_H
#define DTCC_COMPILER_EMIT_STATES_H

#include "compiler/emit/ImageTables.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc {

/// Adds the buckets of parameters, buffers and slots (their indices go to
/// `bucketIndices`), every graph.state in them, the slots that the optimizer keeps of
/// each trainable one, and the segments.
mlir::LogicalResult addStates(mlir::ModuleOp module, exec::ProgramOp program, ImageTables &tables,
                              const llvm::StringMap<exec::BufferOp> &buffers, const llvm::StringMap<uint32_t> &arenas,
                              llvm::StringMap<uint32_t> &bucketIndices);

/// Learning rate of the program's optimizer; 0 without one.
double learningRate(exec::ProgramOp program);

/// Suffixes of the names under which the slots of a state are saved, one a slot.
llvm::SmallVector<std::string> slotNames(graph::StateOp state, exec::ProgramOp program);

} // namespace dtcc

#endif // DTCC_COMPILER_EMIT_STATES_H
