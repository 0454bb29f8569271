//===- OptimizerOption.cpp - The optimizer of KIND:key=value,... -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/OptimizerOption.h"
#include "compiler/console/ErrorStream.h"
#include "dialects/graph/Graph.h"
#include "runtime/abi/console/NearestName.h"
#include "runtime/abi/console/NumberText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dtcc;

namespace {
struct Setting {
  StringRef key;
  double initial; /* below 0: all legal values are at most 0 */
};
using ValueOf = llvm::function_ref<double(StringRef)>;

/// One kind of optimizer: its settings with their defaults, and the attribute that they make.
struct OptimizerKind {
  StringRef name;
  std::vector<Setting> settings;
  Attribute (*make)(MLIRContext *context, ValueOf value);
};
} // namespace

template <bool decoupled> static Attribute makeAdam(MLIRContext *context, ValueOf value) {
  return graph::AdamAttr::get(context, value("lr"), value("beta1"), value("beta2"), value("eps"), value("weight_decay"),
                              decoupled);
}

static Attribute makeSgd(MLIRContext *context, ValueOf value) {
  return graph::SgdAttr::get(context, value("lr"), value("momentum"), value("dampening"), value("weight_decay"),
                             value("nesterov") != 0);
}

static Attribute makeAdagrad(MLIRContext *context, ValueOf value) {
  return graph::AdagradAttr::get(context, value("lr"), value("lr_decay"), value("eps"), value("weight_decay"),
                                 /*start=*/0);
}

static Attribute makeLion(MLIRContext *context, ValueOf value) {
  return graph::LionAttr::get(context, value("lr"), value("beta1"), value("beta2"), value("weight_decay"));
}

static Attribute makeMuon(MLIRContext *context, ValueOf value) {
  auto rest = graph::AdamAttr::get(context, value("adamw_lr"), value("adamw_beta1"), value("adamw_beta2"),
                                   value("adamw_eps"), value("adamw_weight_decay"), /*decoupled=*/true);
  // The coefficients of Jordan et al. 2024, which PyTorch has too.
  return graph::MuonAttr::get(context, value("lr"), value("momentum"), value("weight_decay"), value("nesterov") != 0,
                              static_cast<int64_t>(value("ns_steps")), 3.4445, -4.7750, 2.0315, value("eps"),
                              value("match_rms") != 0, rest);
}

static Attribute makeLamb(MLIRContext *context, ValueOf value) {
  return graph::LambAttr::get(context, value("lr"), value("beta1"), value("beta2"), value("eps"), value("weight_decay"),
                              value("always_adapt") != 0, value("trust_clip") != 0);
}

static Attribute makeAdafactor(MLIRContext *context, ValueOf value) {
  return graph::AdafactorAttr::get(context, value("lr"), value("beta2_decay"), value("eps1"), value("eps2"), value("d"),
                                   value("weight_decay"));
}

static Attribute makeAdamW8bit(MLIRContext *context, ValueOf value) {
  return graph::AdamW8bitAttr::get(context, value("lr"), value("beta1"), value("beta2"), value("eps"),
                                   value("weight_decay"), static_cast<int64_t>(value("min_8bit_size")));
}

/// The defaults are PyTorch's; those of Lion are its paper's, and those of LAMB are timm's; those of
/// adamw8bit are those of bitsandbytes.
static const std::vector<OptimizerKind> &optimizerKinds() {
  static const std::vector<OptimizerKind> kinds{
      {"adamw",
       {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 1e-2}},
       makeAdam</*decoupled=*/true>},
      {"adam",
       {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0}},
       makeAdam</*decoupled=*/false>},
      {"sgd", {{"lr", 1e-3}, {"momentum", 0}, {"dampening", 0}, {"nesterov", 0}, {"weight_decay", 0}}, makeSgd},
      {"adagrad", {{"lr", 1e-2}, {"lr_decay", 0}, {"eps", 1e-10}, {"weight_decay", 0}}, makeAdagrad},
      {"lion", {{"lr", 1e-4}, {"beta1", 0.9}, {"beta2", 0.99}, {"weight_decay", 0}}, makeLion},
      {"muon",
       {{"lr", 1e-3},
        {"momentum", 0.95},
        {"nesterov", 1},
        {"weight_decay", 0.1},
        {"ns_steps", 5},
        {"eps", 1e-7},
        {"match_rms", 0},
        {"adamw_lr", 1e-3},
        {"adamw_beta1", 0.9},
        {"adamw_beta2", 0.999},
        {"adamw_eps", 1e-8},
        {"adamw_weight_decay", 1e-2}},
       makeMuon},
      {"lamb",
       {{"lr", 1e-3},
        {"beta1", 0.9},
        {"beta2", 0.999},
        {"eps", 1e-6},
        {"weight_decay", 1e-2},
        {"always_adapt", 0},
        {"trust_clip", 0}},
       makeLamb},
      {"adafactor",
       {{"lr", 1e-2},
        {"beta2_decay", -0.8},
        {"eps1", std::numeric_limits<float>::epsilon()},
        {"eps2", 1e-3},
        {"d", 1},
        {"weight_decay", 0}},
       makeAdafactor},
      {"adamw8bit",
       {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 1e-2}, {"min_8bit_size", 4096}},
       makeAdamW8bit}};
  return kinds;
}

/// Checks settings against each other and against bounds other than 0.
static LogicalResult checkSettings(StringRef kind, const llvm::StringMap<double> &values) {
  for (StringRef beta : {"beta1", "beta2", "momentum", "adamw_beta1", "adamw_beta2"})
    if (values.lookup(beta) >= 1)
      return wrong("--optimizer " + kind + ": " + beta + " must be less than 1");
  for (StringRef flag : {"nesterov", "match_rms", "always_adapt", "trust_clip"})
    if (double value = values.lookup(flag); value != 0 && value != 1)
      return wrong("--optimizer " + kind + ": " + flag + " must be 0 or 1, got: " + numberText(value));
  if (kind == "sgd" && values.lookup("nesterov") != 0 &&
      (values.lookup("momentum") == 0 || values.lookup("dampening") != 0))
    return wrong("--optimizer sgd: nesterov needs a momentum above 0 and a dampening of 0");
  if (kind == "adafactor" && values.lookup("d") < 1)
    return wrong("--optimizer adafactor: d must be at least 1");
  if (double least = values.lookup("min_8bit_size"); least > 1e15 || least != std::floor(least))
    return wrong("--optimizer adamw8bit: min_8bit_size must be a whole number of at most 1e15");
  if (kind == "muon" && values.lookup("lr") == 0 && values.lookup("adamw_lr") != 0)
    return wrong(
        "--optimizer muon: lr must be above 0 beside an adamw_lr, because a run scales both by its rate: to leave "
        "matrices as they are, give them lr=0x by --group");
  double steps = values.lookup("ns_steps");
  if (steps >= 100 || steps != static_cast<double>(static_cast<int64_t>(steps)))
    return wrong("--optimizer muon: ns_steps must be a whole number below 100");
  return success();
}

FailureOr<Attribute> dtcc::parseOptimizer(MLIRContext *context, StringRef text) {
  auto [name, settings] = text.split(':');
  std::vector<std::string> names;
  for (const OptimizerKind &kind : optimizerKinds())
    names.push_back(kind.name.str());
  auto kind = llvm::find_if(optimizerKinds(), [name = name](const OptimizerKind &each) { return each.name == name; });
  if (kind == optimizerKinds().end())
    return wrong("--optimizer must be " + llvm::join(ArrayRef(names).drop_back(), ", ") + " or " + names.back() +
                 ", got: " + name);
  llvm::StringMap<double> values;
  std::vector<std::string> keys;
  llvm::StringSet<> negative, given;
  for (const Setting &setting : kind->settings) {
    values[setting.key] = setting.initial;
    if (setting.initial < 0)
      negative.insert(setting.key);
    keys.push_back(setting.key.str());
  }
  llvm::sort(keys);
  SmallVector<StringRef> pairs;
  settings.split(pairs, ',', -1, /*KeepEmpty=*/false);
  for (StringRef pair : pairs) {
    auto [key, number] = pair.split('=');
    double value = 0;
    if (!values.contains(key))
      return wrong("--optimizer " + name + " has no setting named " + key + "; it has: " + llvm::join(keys, ", "));
    bool isNegative = negative.contains(key);
    if (number.getAsDouble(value) || !std::isfinite(value) || !(isNegative ? value <= 0 : value >= 0))
      return wrong("--optimizer " + name + ": " + key + " must be a number of at " + (isNegative ? "most" : "least") +
                   " 0, got: " + number);
    if (!given.insert(key).second)
      return wrong("--optimizer " + name + ": " + key + " must be given once");
    values[key] = value;
  }
  // One rate for all parameters, unless another is given.
  if (values.contains("adamw_lr") && !given.contains("adamw_lr"))
    values["adamw_lr"] = values["lr"];
  if (failed(checkSettings(name, values)))
    return failure();
  return kind->make(context, [&](StringRef key) { return values.lookup(key); });
}
