//===- Frameworks.h - A plan in the words of another training framework
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options of frameworks do not cover all that a plan may say. What is left out is listed beside them, so that nobody
// runs another plan than the one that was priced without knowing it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_FRAMEWORKS_FRAMEWORKS_H
#define DTCC_TOOLS_DTCC_PLAN_FRAMEWORKS_FRAMEWORKS_H

#include "planner/search/SearchReport.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// A plan and the step that it is for.
struct FrameworkConfig;

struct FrameworkPlan {
  plan::Parallelism plan;
  /// Samples of a step.
  int64_t batch = 1;
  /// "f32", "bf16", "fp16", ..
  std::string precision;
  /// The most layers of a stage of a rank that are recomputed, and the layers of that stage; blocks of a graph are no
  /// layers.
  size_t recomputed = 0, blocks = 0;
  bool blocksAreLayers = false;
  /// Blocks of each rank of the pipeline.
  std::vector<size_t> blocksOfRank;

  /// Samples of a micro-batch on a rank, and of a step on a rank.
  int64_t microBatch() const { return batch / (plan.dp * plan.microbatches); }
  int64_t localBatch() const { return batch / plan.dp; }
  /// Whether all stages have as many layers, as far as the numbers of their blocks tell.
  bool mayHaveEqualStages() const;
};

/// Notes the plan's unequal stages as unsaid, for a framework whose stages are equal. `instead` names its option for
/// others.
void noteUnequalStages(const FrameworkPlan &given, llvm::StringRef instead, FrameworkConfig &config);

struct FrameworkConfig {
  /// Lines of options, or a file.
  std::string text;
  /// Parts of the plan that the options do not say, a line each.
  std::vector<std::string> unsaid;

  /// Adds a line to the text.
  template <typename... Values> void line(const char *format, Values &&...values) {
    text += llvm::formatv(format, std::forward<Values>(values)...).str() + "\n";
  }
};

struct Framework {
  llvm::StringRef name;
  /// A name of the text, for its heading: "arguments of pretrain_gpt.py".
  llvm::StringRef title;
  FrameworkConfig (*write)(const FrameworkPlan &plan);
};

/// The framework of a name; an error names those that there are.
llvm::Expected<const Framework *> findFramework(llvm::StringRef name);

/// The request of --write.
struct FrameworkRequest {
  /// Null: nothing is asked for.
  const Framework *framework = nullptr;
  std::string precision;
  /// Whether the model was given by its sizes: then blocks are layers, and the search takes for granted what such
  /// software does: sequence parallelism beside tp, and keys in a ring over cp.
  bool ofSizes = false;
};

/// Prints a report, and its first plan in the words of the framework. `below` is a text that follows
/// the report, and `more` adds the same to the object of JSON.
void printWithFramework(const plan::SearchReport &report, const FrameworkRequest &request, bool json,
                        llvm::raw_ostream &stream, llvm::StringRef below,
                        llvm::function_ref<void(llvm::json::OStream &)> more);

/// One function a framework, each in a file of its own.
FrameworkConfig writeMegatron(const FrameworkPlan &plan);
FrameworkConfig writeNeMo(const FrameworkPlan &plan);
FrameworkConfig writeTorchtitan(const FrameworkPlan &plan);
FrameworkConfig writeDeepSpeed(const FrameworkPlan &plan);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_FRAMEWORKS_FRAMEWORKS_H
