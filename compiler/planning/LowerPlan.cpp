//===- LowerPlan.cpp - A plan carried out as far as memory goes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/LowerPlan.h"
#include "compiler/options/ClusterOption.h"
#include "compiler/options/CompileTarget.h"
#include "compiler/pipeline/Pipelines.h"
#include "compiler/pipeline/RunPasses.h"
#include "compiler/planning/ForecastProgram.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/Origin.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Evaluation.h"
#include "passes/graph/Recompute.h"
#include "passes/spmd/layout/ApplyPlan.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/cost/Collectives.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace dtcc;

plan::MemoryParts LoweredPlan::most() const {
  return *std::max_element(stages.begin(), stages.end(),
                           [](const auto &a, const auto &b) { return a.total() < b.total(); });
}

double LoweredPlan::mostWithHost() const {
  double most = 0;
  for (const plan::MemoryParts &stage : stages)
    most = std::max(most, stage.host);
  return most;
}

/// The part of memory that counts a bucket. Buckets that are made anew in each step are working memory.
static double plan::MemoryParts::*partOf(spmd::BucketRole role) {
  switch (role) {
  case spmd::BucketRole::Gradient:
    return &plan::MemoryParts::gradients;
  case spmd::BucketRole::Slot:
  case spmd::BucketRole::Factors:
    return &plan::MemoryParts::optimizer;
  case spmd::BucketRole::Transient:
    return &plan::MemoryParts::activations;
  default:
    return &plan::MemoryParts::parameters;
  }
}

static plan::MemoryParts memoryOf(exec::ProgramOp program, const SymbolTable &symbols) {
  plan::MemoryParts parts;
  double all = 0;
  llvm::StringSet<> withHost;
  for (auto arena : program.getOps<exec::ArenaOp>()) {
    (arena.getHost() ? parts.host : all) += double(arena.getBytes());
    if (arena.getHost())
      withHost.insert(arena.getSymName());
  }
  for (auto buffer : program.getOps<exec::BufferOp>()) {
    if (!buffer.getPersistent() || !buffer.getBucketAttr() || withHost.contains(buffer.getArena()))
      continue;
    if (auto bucket = symbols.lookup<spmd::BucketOp>(buffer.getBucketAttr().getAttr()))
      parts.*partOf(bucket.getRole()) += double(buffer.getBytes());
  }
  // All else that the arenas hold, and what alignment leaves between buckets.
  parts.activations = all - parts.parameters - parts.gradients - parts.optimizer;
  return parts;
}

/// Bytes of the communicators that serve parameters alone.
static FailureOr<double> separateBytes(exec::ProgramOp program, const SymbolTable &symbols, const Options &options) {
  double bytes = 0;
  for (auto communicator : program.getOps<exec::CommunicatorOp>()) {
    if (!communicator.getOfParameters())
      continue;
    spmd::Mesh mesh = spmd::toMesh(symbols.lookup<spmd::MeshOp>(program.getMeshAttr().getAttr()));
    FailureOr<ProgramMachine> machine = machineOf(options, mesh.ranks());
    if (failed(machine))
      return failure();
    cost::Group group = spmd::groupOf(spmd::toAxes(communicator.getAxes()), mesh);
    bytes += cost::communicatorBytes(cost::spreadOf(group, machine->machine.fabric.domain));
  }
  return bytes;
}

/// The prediction that a program can make under a plan. Logits are a row of one rank's positions.
static graph::Prediction predictionUnder(const plan::Plan &plan, func::FuncOp step) {
  graph::Prediction prediction = graph::predictionOf(step, graph::findPredictingLoss(step));
  bool splitsRows = prediction == graph::Prediction::Logits && !plan.withoutUnitAxes(plan.sequenceAxes).empty();
  return splitsRows ? graph::Prediction::None : prediction;
}

void dtcc::addEvaluation(func::FuncOp step, const Options &options, const plan::Plan &plan) {
  if (!options.noEval)
    graph::addEvaluation(step, predictionUnder(plan, step));
}

/// Lowers a plan to a program. The IR is verified after each pass of the first pipeline. The passes behind it are
/// verified once, at the end, and only if the program fits.
static LogicalResult lower(LoweredPlan &lowered, const Options &options, const plan::Plan &plan, double limit) {
  ModuleOp module = *lowered.module;
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (failed(graph::recompute(step, plan)))
    return failure();
  addEvaluation(step, options, plan);
  if (failed(spmd::applyPlan(module, plan, targetOf(options).padding)) ||
      failed(runPasses(module, options, [&](OpPassManager &passes) { buildSpmdPipeline(passes, options); })) ||
      failed(runPasses(
          module, options, [&](OpPassManager &passes) { buildMemoryPipeline(passes, options); }, /*verifies=*/false)))
    return failure();
  SymbolTable symbols(module);
  for (auto program : module.getOps<exec::ProgramOp>()) {
    lowered.stages.push_back(memoryOf(program, symbols));
    FailureOr<double> separate = separateBytes(program, symbols, options);
    if (failed(separate))
      return failure();
    lowered.separateBytes = std::max(lowered.separateBytes, *separate);
  }
  if (lowered.most().total() > limit)
    return success();
  if (failed(mlir::verify(module)) || failed(runPasses(module, options, buildCheckPipeline, /*verifies=*/false)))
    return failure();
  FailureOr<cost::StepSeconds> seconds = forecastProgram(module, options);
  if (failed(seconds))
    return failure();
  lowered.step = *seconds;
  return success();
}

void dtcc::loadDialects(MLIRContext &context, const Options &options) {
  PassManager manager(&context);
  buildSpmdPipeline(manager, options);
  buildExecPipeline(manager, options);
  buildCodePipeline(manager, options);
  DialectRegistry needed;
  manager.getDependentDialects(needed);
  context.appendDialectRegistry(needed);
  for (StringRef name : needed.getDialectNames())
    context.getOrLoadDialect(name);
}

LoweredPlan dtcc::lowerPlan(ModuleOp module, const Options &options, const plan::Plan &plan, double limit) {
  LoweredPlan lowered;
  // Passes hand the diagnostics of their own threads over to the thread that runs them.
  ScopedDiagnosticHandler keep(module.getContext(), [&, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
    if (llvm::get_threadid() != thread)
      return failure();
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      lowered.notes.push_back(std::move(diagnostic));
    else if (!lowered.refusal)
      lowered.refusal.emplace(std::move(diagnostic));
    return success();
  });
  lowered.module = module.clone();
  if (failed(lower(lowered, options, plan, limit)))
    lowered.module = nullptr;
  return lowered;
}
