//===- Planning.h - From the command line to a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_COMPILER_PLANNING_H
#define DTCC_COMPILER_PLANNING_H

#include "compiler/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/dist/SearchMesh.h"

namespace dtcc {

/// What a search found, and for what.
struct SearchResult {
  cost::Machine machine;
  /// Best first, at least one.
  std::vector<dist::PricedPlan> plans;
  /// --mesh names all ranks: nothing of the mesh was searched.
  bool meshGiven = false;
};

/// Bytes of memory of this machine.
double machineMemory();
/// "1.25 GiB"
std::string bytesText(double bytes);

/// --mesh=dp=2,tp=2,pp=2: what it gives of the mesh, the number of stages apart. Failure after one message.
mlir::LogicalResult parseMesh(llvm::StringRef text, dist::MeshRequest &request, int64_t &stages);

/// All plans for a differentiated module on --cluster with what --mesh, --zero and
/// --microbatches give. Failure after one message.
mlir::FailureOr<SearchResult> searchPlans(mlir::ModuleOp module, const Options &options);

/// The same for a plan that is going to be used: with --verbose the plans are listed on
/// stderr, and nothing that fits the memory is a failure unless --mesh is given whole.
mlir::FailureOr<SearchResult> searchBest(mlir::ModuleOp module, const Options &options);

/// The plan for a differentiated module: that of --plan, completed, or the best one that is found.
/// Failure after one message, also if nothing that was searched fits the memory.
mlir::FailureOr<plan::Plan> makePlan(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_H
