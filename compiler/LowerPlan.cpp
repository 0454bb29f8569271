//===- LowerPlan.cpp - A plan carried out as far as memory goes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/LowerPlan.h"
#include "compiler/Pipelines.h"
#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/dist/ApplyPlan.h"
#include "passes/graph/Recompute.h"

using namespace mlir;
using namespace dtcc;

plan::MemoryParts LoweredPlan::most() const {
  return *std::max_element(stages.begin(), stages.end(),
                           [](const auto &a, const auto &b) { return a.total() < b.total(); });
}

/// Where a bucket of state is counted; buckets that are made anew in each step are working memory.
static double plan::MemoryParts::*partOf(dist::BucketRole role) {
  switch (role) {
  case dist::BucketRole::Gradient:
    return &plan::MemoryParts::gradients;
  case dist::BucketRole::Slot:
    return &plan::MemoryParts::optimizer;
  case dist::BucketRole::Transient:
    return &plan::MemoryParts::activations;
  default:
    return &plan::MemoryParts::parameters;
  }
}

static plan::MemoryParts memoryOf(exec::ProgramOp program, const SymbolTable &symbols) {
  plan::MemoryParts parts;
  double all = 0;
  for (auto arena : program.getOps<exec::ArenaOp>())
    all += double(arena.getBytes());
  for (auto buffer : program.getOps<exec::BufferOp>()) {
    if (!buffer.getPersistent() || !buffer.getBucketAttr())
      continue;
    if (auto bucket = symbols.lookup<dist::BucketOp>(buffer.getBucketAttr().getAttr()))
      parts.*partOf(bucket.getRole()) += double(buffer.getBytes());
  }
  // All else that the arenas hold, and what alignment leaves between buckets.
  parts.activations = all - parts.parameters - parts.gradients - parts.optimizer;
  return parts;
}

LoweredPlan dtcc::lowerPlan(ModuleOp module, const Options &options, const plan::Plan &plan) {
  LoweredPlan lowered;
  ScopedDiagnosticHandler keep(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      lowered.notes.push_back(std::move(diagnostic));
    else if (!lowered.refusal)
      lowered.refusal.emplace(std::move(diagnostic));
    return success();
  });
  lowered.module = module.clone();
  PassManager passes(module.getContext());
  if (options.timePasses)
    passes.enableTiming();
  buildDistPipeline(passes, options);
  buildExecPipeline(passes, options);
  if (failed(graph::recompute(lowered.module->lookupSymbol<func::FuncOp>("step"), plan)) ||
      failed(dist::applyPlan(*lowered.module, plan)) || failed(passes.run(*lowered.module))) {
    lowered.module = nullptr;
    return lowered;
  }
  SymbolTable symbols(*lowered.module);
  for (auto program : lowered.module->getOps<exec::ProgramOp>())
    lowered.stages.push_back(memoryOf(program, symbols));
  return lowered;
}
