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
#include "mlir/IR/OwningOpRef.h"
#include "passes/dist/GraphPricer.h"

namespace dtcc {

/// What a search found, and for what.
struct SearchResult {
  cost::Machine machine;
  /// Best first, at least one.
  std::vector<plan::ShapePlan> shapes;
  /// The same for people: one report a shape.
  plan::SearchReport report;
  /// --mesh names all ranks: nothing of the mesh was searched.
  bool meshGiven = false;
  /// Memory is no limit: asked for so, or a mesh is given that does not fit.
  bool anyMemory = false;
  /// The program of the first plan, if it is confirmed (ConfirmPlans.h).
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  std::unique_ptr<dist::GraphPricer> pricer;

  plan::Plan plan(size_t i) const { return pricer->write(shapes[i].shape, shapes[i].stages); }
};

/// Bytes of memory of this machine.
double machineMemory();
/// "1.25 GiB"
std::string bytesText(double bytes);

/// The GPU that --cluster has, a preset or of a file; nothing where it is of cores. Target and precision that are not
/// given become those of the devices. Failure after one message.
mlir::FailureOr<std::optional<cost::Device>> resolveCluster(Options &options);

/// All plans for a differentiated module on --cluster with what --mesh, --zero and the other options of a plan
/// give, best first. Failure after one message, also if nothing fits the memory unless --mesh is given whole or
/// `anyMemory` says that it is no limit. `silent`: without the message.
mlir::FailureOr<SearchResult> searchPlans(mlir::ModuleOp module, const Options &options, bool anyMemory = false,
                                          bool silent = false);

/// The same for a plan that is going to be used: with --verbose the plans are listed on stderr.
mlir::FailureOr<SearchResult> searchBest(mlir::ModuleOp module, const Options &options);

/// A plan, and its program where it was lowered to be confirmed.
struct MadePlan {
  plan::Plan plan;
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
};

/// The plan for a differentiated module: that of --plan, completed, or the best one that is found and confirmed.
/// Failure after one message.
mlir::FailureOr<MadePlan> makePlan(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_H
