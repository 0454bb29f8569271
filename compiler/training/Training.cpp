//===- Training.cpp - Optimizer and decay of the command line
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/training/Training.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/training/BatchGroups.h"
#include "compiler/training/OptimizerOption.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/StateUpdate.h"
#include "runtime/abi/console/NumberText.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace dtcc;

/// Programs of --verify have the optimizers that change each cell of a parameter by its own gradient.
static LogicalResult checkVerification(const Options &options, graph::OptimizerAttrInterface optimizer) {
  bool isWhole = optimizer.getTensorNeed() != graph::TensorNeed::None, isCoded = optimizer.getSlotCodes(0) != 0;
  StringRef name = optimizer.getAbstractAttribute().getName().split('.').second;
  if (options.verify && (isWhole || isCoded))
    return wrong("--verify has no interpreter of " + name + ", which " +
                 (isWhole ? "needs whole tensors" : "has state of 8 bits") + ": leave --verify out");
  return success();
}

/// Parameters that change once their own gradients are complete cannot wait for what all gradients decide.
static LogicalResult applyUpdateOption(ModuleOp module, const Options &options) {
  if (options.update != "early")
    return success();
  if (auto clip = module->getAttrOfType<FloatAttr>(graph::kClipAttr); clip && clip.getValueAsDouble() > 0)
    return wrong(
        "--update=early cannot clip, because the norm of all gradients is known behind the last of them, got: " +
        numberText(clip.getValueAsDouble()) + ": take --clip=0 or --update=late");
  if (options.precision == "fp16")
    return wrong("--update=early cannot train in fp16, whose loss scale needs all gradients: take --precision=bf16 or "
                 "--update=late");
  module->setAttr(graph::kEarlyAttr, UnitAttr::get(module.getContext()));
  return success();
}

LogicalResult dtcc::applyTrainingOptions(ModuleOp module, const Options &options) {
  MLIRContext *context = module.getContext();
  // A model may bring its own.
  if (!options.optimizer.empty() || !module->hasAttr(graph::kOptimizerAttr)) {
    FailureOr<Attribute> optimizer =
        parseOptimizer(context, options.optimizer.empty() ? StringRef("adamw") : StringRef(options.optimizer));
    if (failed(optimizer))
      return failure();
    module->setAttr(graph::kOptimizerAttr, *optimizer);
  }
  if (auto own = module->getAttrOfType<FloatAttr>(graph::kClipAttr); own && options.clip >= 0)
    module.emitRemark("--clip=") << numberText(options.clip) << " is used instead of the model's own "
                                 << "clipping to " << numberText(own.getValueAsDouble());
  if (options.clip >= 0)
    module->setAttr(graph::kClipAttr, FloatAttr::get(Float64Type::get(context), options.clip));
  auto optimizer = cast<graph::OptimizerAttrInterface>(module->getAttr(graph::kOptimizerAttr));
  if (failed(checkVerification(options, optimizer)) || failed(applyUpdateOption(module, options)) ||
      failed(declareBatchGroups(module, options)))
    return failure();
  if (options.ema >= 1)
    return wrong("--ema must be less than 1, got: " + numberText(options.ema));
  if (options.ema > 0)
    module->setAttr(graph::kAverageAttr, FloatAttr::get(Float64Type::get(context), options.ema));

  for (bool decays : {true, false})
    for (const std::string &text : decays ? options.decay : options.noDecay) {
      llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(text);
      if (!glob)
        return wrong((decays ? "--decay: " : "--no-decay: ") + llvm::toString(glob.takeError()));
      if (llvm::none_of(module.getOps<graph::StateOp>(),
                        [&](graph::StateOp state) { return glob->match(state.getSavedName()); }))
        return wrong((decays ? "--decay=" : "--no-decay=") + text + " must name a parameter of the model");
      // --decay names all that decay; --no-decay takes some out.
      for (auto state : module.getOps<graph::StateOp>())
        if (glob->match(state.getSavedName()))
          state.setDecay(decays);
        else if (decays && &text == &options.decay.front())
          state.setDecay(false);
    }
  if (failed(applyGroups(module, options)))
    return failure();
  bool decays = llvm::any_of(module.getOps<graph::StateOp>(), [&](graph::StateOp state) {
    return state.getTrainable() && graph::updateOf(state, optimizer).decay > 0;
  });
  if (const bool lists = !options.decay.empty(); !decays && (lists || !options.noDecay.empty()))
    module.emitRemark(lists ? "--decay" : "--no-decay")
        << " changes nothing: no parameter that trains has a weight decay above 0";
  return success();
}
