//===- ParameterGroups.cpp - Rates and decays of --group -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/ErrorStream.h"
#include "compiler/training/OptimizerOption.h"
#include "dialects/graph/StateUpdate.h"
#include "runtime/abi/console/NearestName.h"
#include "runtime/abi/console/NumberText.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;

namespace {
/// GLOB:key=value,...
struct ParameterGroup {
  std::string glob;
  /// Relative to the rate of the rule that updates a parameter.
  std::optional<double> rateScale;
  /// The rate itself.
  std::optional<double> rate;
  std::optional<double> decay;
  std::optional<bool> byElement;
};
} // namespace

static FailureOr<double> parseNumber(StringRef option, StringRef key, StringRef text) {
  double value = 0;
  if (text.getAsDouble(value) || !std::isfinite(value) || value < 0)
    return wrong("--group=" + option + ": " + key + " must be a number of at least 0, got: " + text);
  return value;
}

/// "3e-5" is a rate, "0.1x" a factor.
static LogicalResult parseRate(StringRef option, StringRef text, ParameterGroup &group) {
  bool isFactor = text.consume_back("x");
  FailureOr<double> value = parseNumber(option, "lr", text);
  if (failed(value))
    return failure();
  (isFactor ? group.rateScale : group.rate) = *value;
  return success();
}

/// The factor by which a group changes the rate of `state`. Muon leaves some parameters to AdamW, which has a rate of
/// its own.
static FailureOr<double> rateScale(StringRef option, const ParameterGroup &group, graph::StateOp state,
                                   graph::OptimizerAttrInterface optimizer) {
  if (group.rateScale)
    return *group.rateScale;
  double base = optimizer.optimizerOf(state.getSavedShape(), state.getByElement()).getLearningRate();
  if (base == 0 && *group.rate != 0)
    return wrong("--group=" + option +
                 ": lr must be a factor such as 0.1x where the optimizer's lr is 0, got: " + numberText(*group.rate));
  return base == 0 ? 0 : *group.rate / base;
}

static LogicalResult parseGroup(StringRef option, graph::OptimizerAttrInterface optimizer, ParameterGroup &group) {
  size_t colon = option.rfind(':');
  if (colon == StringRef::npos || colon == 0 || colon + 1 == option.size())
    return wrong("--group must be GLOB:key=value,.. with keys lr and weight_decay, got: " + option);
  group.glob = option.take_front(colon).str();
  SmallVector<StringRef> pairs;
  option.drop_front(colon + 1).split(pairs, ',');
  llvm::StringSet<> given;
  for (StringRef pair : pairs) {
    auto [key, text] = pair.split('=');
    if (!given.insert(key).second)
      return wrong("--group=" + option + ": " + key + " must be given once");
    if (key == "lr") {
      if (failed(parseRate(option, text, group)))
        return failure();
    } else if (key == "weight_decay") {
      FailureOr<double> value = parseNumber(option, key, text);
      if (failed(value))
        return failure();
      group.decay = *value;
    } else if (key == "muon" && isa<graph::MuonAttr>(optimizer)) {
      if (text != "0" && text != "1")
        return wrong("--group=" + option + ": muon must be 0 or 1, got: " + text);
      group.byElement = text == "0";
    } else {
      return wrong("--group=" + option + ": a group has no setting named " + key + "; it has: lr, weight_decay" +
                   (isa<graph::MuonAttr>(optimizer) ? ", muon" : ""));
    }
  }
  return success();
}

/// The parameter whose name needs the fewest edits to become `text`.
static std::string nearestParameter(StringRef text, ArrayRef<graph::StateOp> parameters) {
  auto distance = [&](graph::StateOp state) { return editDistance(text.str(), state.getSavedName().str()); };
  auto nearest = llvm::min_element(parameters, [&](auto a, auto b) { return distance(a) < distance(b); });
  return nearest == parameters.end() ? "" : "; the nearest name is " + graph::StateOp(*nearest).getSavedName().str();
}

LogicalResult dtcc::applyGroups(ModuleOp module, const Options &options) {
  auto optimizer = cast<graph::OptimizerAttrInterface>(module->getAttr(graph::kOptimizerAttr));
  SmallVector<graph::StateOp> parameters;
  for (auto state : module.getOps<graph::StateOp>())
    if (state.getTrainable())
      parameters.push_back(state);
  llvm::SmallPtrSet<Operation *, 16> taken, decided;
  for (const std::string &option : options.groups) {
    ParameterGroup group;
    if (failed(parseGroup(option, optimizer, group)))
      return failure();
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(group.glob);
    if (!glob)
      return wrong("--group=" + option + ": " + llvm::toString(glob.takeError()));
    bool names = false, has = false;
    for (graph::StateOp state : parameters) {
      if (!glob->match(state.getSavedName()))
        continue;
      names = true;
      if (!taken.insert(state).second)
        continue;
      has = true;
      Builder builder(module.getContext());
      state.setByElement(group.byElement.value_or(false));
      if (group.rateScale || group.rate) {
        FailureOr<double> scale = rateScale(option, group, state, optimizer);
        if (failed(scale))
          return failure();
        state.setLrScaleAttr(builder.getF64FloatAttr(*scale));
      }
      if (group.decay) {
        state.setDecay(true);
        state.setWeightDecayAttr(builder.getF64FloatAttr(*group.decay));
      }
      if (group.byElement)
        decided.insert(state);
    }
    if (!names)
      return wrong("--group=" + option + " must name a parameter that trains" +
                   nearestParameter(group.glob, parameters));
    if (!has)
      return wrong("--group=" + option + " must name a parameter that no group before it names");
  }
  noteWhatMuonUpdates(module, [&](graph::StateOp state) { return decided.contains(state); });
  return success();
}
