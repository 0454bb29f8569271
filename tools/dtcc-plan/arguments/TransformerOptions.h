//===- TransformerOptions.h - A model by its sizes, on a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options that all commands on transformers by size have: --transformer, --cluster,
// --software, --precision.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_TRANSFORMEROPTIONS_H
#define DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_TRANSFORMEROPTIONS_H

#include "planner/cluster/Cluster.h"
#include "planner/parallelism/MeshSizes.h"
#include "planner/transformer/Transformer.h"
#include "tools/dtcc-plan/arguments/Arguments.h"

namespace dtcc {

/// A word of an option, and what it stands for. The first is the default.
template <typename T> struct Word {
  llvm::StringRef name;
  T value;
};

/// Looks up the word of an option; an error names those that there are.
template <typename T, size_t N>
llvm::Error choose(const Arguments &arguments, llvm::StringRef option, const Word<T> (&words)[N], T &value) {
  value = words[0].value;
  if (!arguments.has(option))
    return llvm::Error::success();
  std::string names;
  for (const Word<T> &word : words) {
    if (word.name.equals_insensitive(arguments.value(option))) {
      value = word.value;
      return llvm::Error::success();
    }
    names += (names.empty() ? "" : ", ") + word.name.str();
  }
  return llvm::createStringError("--" + option + " must be one of " + names + ", got: " + arguments.value(option));
}

inline constexpr Word<plan::Recompute> kRecomputations[] = {
    {"none", plan::Recompute::None}, {"selective", plan::Recompute::Selective}, {"full", plan::Recompute::Full}};

/// Reads the name of a schedule that programs run; an error names --schedule.
llvm::Expected<cost::NamedSchedule> readScheduleName(llvm::StringRef name);

/// Whether --software asks for the programs that dtcc writes, as it does where it is not given. They are priced on the
/// model's graph, and other software on the model's sizes.
bool isOwnSoftware(const Arguments &arguments);

/// Reads --transformer: a name, sizes, or a config.json.
llvm::Expected<cost::Transformer> readTransformer(const Arguments &arguments);

struct TransformerOnCluster {
  cost::Cluster cluster;
  cost::Transformer model;
  cost::Software software;
  /// Its name, as tables say it.
  std::string softwareName;
  cost::RunSetting run;

  const cost::Device &device() const { return cluster.nodes[0].devices[0].device; }
};

/// Reads and checks them: both --transformer and --cluster must be given, devices must be of
/// one kind unless they may be mixed.
llvm::Error readTransformerOnCluster(const Arguments &arguments, TransformerOnCluster &result, bool mayMix = false);

/// Reads the axes of --mesh; an error names the option.
llvm::Expected<plan::MeshSizes> readMeshSizes(const Arguments &arguments);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_TRANSFORMEROPTIONS_H
