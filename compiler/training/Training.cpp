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
#include "dialects/graph/Graph.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace dtcc;

namespace {
/// KIND:key=value,... with a table of the legal keys and their defaults.
struct OptimizerSpec {
  StringRef kind;
  llvm::StringMap<double> values;

  SmallVector<StringRef> names() const {
    SmallVector<StringRef> sorted(values.keys());
    llvm::sort(sorted);
    return sorted;
  }

  LogicalResult parse(StringRef text) {
    StringRef settings;
    std::tie(kind, settings) = text.split(':');
    if (kind == "adamw" || kind == "adam")
      values = {
          {"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", kind == "adamw" ? 1e-2 : 0}};
    else if (kind == "sgd")
      values = {{"lr", 1e-3}, {"momentum", 0}, {"dampening", 0}, {"nesterov", 0}, {"weight_decay", 0}};
    else if (kind == "adagrad")
      values = {{"lr", 1e-2}, {"lr_decay", 0}, {"eps", 1e-10}, {"weight_decay", 0}};
    else if (kind == "lion")
      values = {{"lr", 1e-4}, {"beta1", 0.9}, {"beta2", 0.99}, {"weight_decay", 0}};
    else
      return wrong("--optimizer must be adamw, adam, sgd, adagrad or lion, got: " + kind);
    SmallVector<StringRef> pairs;
    settings.split(pairs, ',', -1, /*KeepEmpty=*/false);
    for (StringRef pair : pairs) {
      auto [key, text] = pair.split('=');
      double value = 0;
      if (!values.contains(key))
        return wrong("--optimizer " + kind + " has no setting named " + key + "; it has: " + llvm::join(names(), ", "));
      if (text.getAsDouble(value) || value < 0)
        return wrong("--optimizer " + kind + ": " + key + " must be a number of at least 0, got: " + text);
      values[key] = value;
    }
    for (StringRef beta : {"beta1", "beta2", "momentum"})
      if (values.lookup(beta) >= 1)
        return wrong("--optimizer " + kind + ": " + beta + " must be less than 1");
    if (values.lookup("nesterov") != 0 && (values.lookup("momentum") == 0 || values.lookup("dampening") != 0))
      return wrong("--optimizer sgd: nesterov needs a momentum above 0 and a dampening of 0");
    return success();
  }
};
} // namespace

static FailureOr<Attribute> makeOptimizer(MLIRContext *context, StringRef text) {
  OptimizerSpec spec;
  if (failed(spec.parse(text)))
    return failure();
  auto value = [&](StringRef key) { return spec.values.lookup(key); };
  Attribute optimizer;
  if (spec.kind == "sgd")
    optimizer = graph::SgdAttr::get(context, value("lr"), value("momentum"), value("dampening"), value("weight_decay"),
                                    value("nesterov") != 0);
  else if (spec.kind == "adagrad")
    optimizer = graph::AdagradAttr::get(context, value("lr"), value("lr_decay"), value("eps"), value("weight_decay"),
                                        /*start=*/0);
  else if (spec.kind == "lion")
    optimizer = graph::LionAttr::get(context, value("lr"), value("beta1"), value("beta2"), value("weight_decay"));
  else
    optimizer = graph::AdamAttr::get(context, value("lr"), value("beta1"), value("beta2"), value("eps"),
                                     value("weight_decay"), spec.kind == "adamw");
  return optimizer;
}

LogicalResult dtcc::applyTrainingOptions(ModuleOp module, const Options &options) {
  MLIRContext *context = module.getContext();
  // A model may bring its own.
  if (!options.optimizer.empty() || !module->hasAttr(graph::kOptimizerAttr)) {
    FailureOr<Attribute> optimizer =
        makeOptimizer(context, options.optimizer.empty() ? StringRef("adamw") : StringRef(options.optimizer));
    if (failed(optimizer))
      return failure();
    module->setAttr(graph::kOptimizerAttr, *optimizer);
  }
  if (auto own = module->getAttrOfType<FloatAttr>(graph::kClipAttr); own && options.clip >= 0)
    module.emitRemark("--clip=") << llvm::formatv("{0}", options.clip).str() << " is used instead of the model's own "
                                 << "clipping to " << llvm::formatv("{0}", own.getValueAsDouble()).str();
  if (options.clip >= 0)
    module->setAttr(graph::kClipAttr, FloatAttr::get(Float64Type::get(context), options.clip));
  if (failed(declareBatchGroups(module, options)))
    return failure();

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
  return success();
}
