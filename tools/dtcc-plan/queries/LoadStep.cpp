//===- LoadStep.cpp - A model as a differentiated training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/queries/LoadStep.h"
#include "compiler/pipeline/Pipelines.h"
#include "compiler/pipeline/RunPasses.h"
#include "compiler/training/Training.h"
#include "dialects/AllDialects.h"
#include "tools/model/Diagnostics.h"
#include "tools/model/LoadModel.h"

using namespace mlir;
using namespace dtcc;

static LogicalResult makeStep(ModuleOp module, const Options &options) {
  if (module.lookupSymbol("step"))
    return success();
  if (!module.lookupSymbol("loss"))
    return module.emitError("the model has no loss to train: attach one to its outputs, as "
                            "--loss=cross_entropy:logits=logits,labels=labels");
  if (failed(applyTrainingOptions(module, options)))
    return failure();
  return runPasses(module, options, [&](OpPassManager &manager) { buildGraphPipeline(manager, options); });
}

std::unique_ptr<LoadedStep> LoadedStep::load(const Options &options, bool silent) {
  DialectRegistry registry;
  registerAllDialects(registry);
  std::unique_ptr<LoadedStep> step(new LoadedStep(registry));
  if (silent)
    step->context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  else
    printDiagnostics(step->context);
  step->context.loadAllAvailableDialects();
  Options own = options;
  step->owned = loadModel(step->context, own);
  if (!step->owned || failed(makeStep(step->module(), own)))
    return nullptr;
  return step;
}
