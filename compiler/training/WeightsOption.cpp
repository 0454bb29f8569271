//===- WeightsOption.cpp - The checkpoint of --weights -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/WeightsOption.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/console/StatusLine.h"
#include "compiler/training/SavedTensors.h"
#include "compiler/training/WeightHeaders.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/SavedAs.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace dtcc;

LogicalResult dtcc::applyWeights(ModuleOp module, const Options &options) {
  if (options.weights.empty())
    return success();
  auto held = readWeightHeaders(options.weights);
  if (!held)
    return wrong("--weights: " + llvm::toString(held.takeError()));
  auto states = llvm::to_vector(module.getOps<graph::StateOp>());
  SmallVector<UnusedTensor> unused = unusedTensors(module);
  std::vector<WantedTensor> wanted;
  for (graph::StateOp state : states) {
    WantedTensor tensor;
    tensor.names = {state.getSavedName().str()};
    for (StringRef alias : aliasesOf(state))
      tensor.names.push_back(alias.str());
    tensor.shape = std::vector<int64_t>(state.getSavedShape());
    tensor.isFloat = isa<FloatType>(cast<ShapedType>(state.getType()).getElementType());
    // A buffer may have its value in the model's file.
    tensor.required = state.getRole() == graph::StateRole::parameter || !state.getValue();
    tensor.takesIntegers = state.getRole() == graph::StateRole::buffer;
    wanted.push_back(std::move(tensor));
  }
  for (const UnusedTensor &tensor : unused)
    wanted.push_back({{tensor.name.str()},
                      std::vector<int64_t>(tensor.type.getShape()),
                      isa<FloatType>(tensor.type.getElementType()),
                      /*required=*/false,
                      /*takesIntegers=*/false});
  WeightMatch match = matchWeights(wanted, *held);
  bool allowed = options.init == "random";
  if (options.init == "model")
    allowed = llvm::all_of(llvm::zip(states, match.names),
                           [](const auto &row) { return !std::get<1>(row).empty() || std::get<0>(row).getValue(); });
  if (std::string problems = problemsOf(match, allowed); !problems.empty()) {
    bool missing = !match.missing.empty() && !allowed;
    bool modelHasAll = llvm::all_of(states, [](graph::StateOp state) { return bool(state.getValue()); });
    return wrong(
        "--weights=" + options.weights + " does not hold the model: " + problems +
        (missing ? "; where missing parameters are to start otherwise, say --init=random or --init=model" : "") +
        (modelHasAll ? "; without --weights, all start as " + options.input + " has them" : ""));
  }
  for (const std::string &note : notesOf(match))
    llvm::WithColor::note(messageStream(), "dtcc") << "--weights: " << note << '\n';
  auto zero = graph::InitAttr::get(module.getContext(), graph::InitKind::zero, 0.0, 0.0);
  for (auto [state, name] : llvm::zip(states, match.names))
    if (!name.empty()) {
      state.removeValueAttr();
      state.setInitAttr(zero);
    }
  for (auto [i, tensor] : llvm::enumerate(unused))
    if (!match.names[states.size() + i].empty())
      tensor.value = nullptr;
  setUnusedTensors(module, unused);
  return success();
}
