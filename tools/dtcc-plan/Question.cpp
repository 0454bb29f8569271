//===- Question.cpp - A model on a cluster, as commands are asked about it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Question.h"
#include "compiler/ConfirmPlans.h"
#include "passes/cost/ClusterFile.h"
#include "passes/graph/TransformerSizes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace dtcc;
using llvm::StringRef;

char ToldError::ID = 0;

bool dtcc::tell(llvm::Error error) {
  if (!error)
    return true;
  llvm::handleAllErrors(
      std::move(error), [](const ToldError &) {},
      [](const llvm::ErrorInfoBase &info) {
        llvm::WithColor::error(llvm::errs(), "dtcc-plan") << info.message() << '\n';
      });
  return false;
}

/// Options of dtcc that say what model a file holds.
static constexpr StringRef kModelValues[] = {"bind", "loss", "loss-output"};
/// And those of the plan that both searches know.
static constexpr StringRef kPlanValues[] = {"cluster", "mesh", "zero", "microbatches", "precision"};

std::vector<StringRef> dtcc::questionValues(llvm::ArrayRef<StringRef> more) {
  std::vector<StringRef> values = searchTransformerValues();
  llvm::erase_if(values, [](StringRef value) { return value == "html" || value == "trace"; });
  values.insert(values.end(), std::begin(kModelValues), std::end(kModelValues));
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

llvm::Error dtcc::setSizes(mlir::ModuleOp module, StringRef path, Arguments &arguments) {
  mlir::FailureOr<graph::TransformerSizes> sizes = graph::readTransformer(module);
  if (failed(sizes))
    return llvm::make_error<ToldError>();
  const cost::Transformer &model = sizes->model;
  arguments.set("transformer",
                llvm::formatv("layers={0},hidden={1},heads={2},kv-heads={3},ffn={4},vocabulary={5},sequence={6},"
                              "gated={7},tied={8}",
                              int64_t(model.layers), int64_t(model.hidden), int64_t(model.heads),
                              int64_t(model.kvHeads), int64_t(model.ffn), int64_t(model.vocabulary),
                              int64_t(model.sequence), int(model.gated), int(model.tied)));
  arguments.set("batch", std::to_string(sizes->batch));
  arguments.set("name", llvm::sys::path::filename(path).str());
  return llvm::Error::success();
}

llvm::Expected<Question> Question::read(StringRef model, Arguments arguments) {
  Question question;
  if (model.empty() == !arguments.has("transformer"))
    return llvm::createStringError(
        "a model must be given once, as a file or by --transformer, got: " +
        (model.empty() ? "none" : model + " and --transformer=" + arguments.value("transformer")));
  if (!arguments.has("cluster"))
    return llvm::createStringError("--cluster must be given: 8xh100, cpu:4, or a file");
  if (!model.empty()) {
    std::vector<std::string> words = {"--emit=plan", model.str()};
    for (llvm::ArrayRef<StringRef> names : {llvm::ArrayRef(kModelValues), llvm::ArrayRef(kPlanValues)})
      for (StringRef name : names)
        if (arguments.has(name))
          words.push_back(("--" + name + "=" + arguments.value(name)).str());
    std::vector<const char *> line = {"dtcc"};
    for (const std::string &word : words)
      line.push_back(word.c_str());
    if (failed(parseOptions(int(line.size()), line.data(), question.options)))
      return llvm::make_error<ToldError>();
    bool here = arguments.value("cluster").starts_with("cpu");
    if (!here) {
      if (llvm::Expected<cost::Cluster> cluster = cost::readCluster(arguments.value("cluster")); !cluster)
        return cluster.takeError();
      // Weights do not matter to a plan, and structures without any are welcome.
      question.options.init = "random";
    }
    question.graph = LoadedStep::load(question.options);
    if (!question.graph)
      return llvm::make_error<ToldError>();
    if (here)
      return question;
    if (llvm::Error error = setSizes(question.graph->module(), model, arguments))
      return std::move(error);
    question.graph.reset();
  }
  llvm::Expected<TransformerSearch> search = TransformerSearch::read(arguments);
  if (!search)
    return search.takeError();
  question.sizes = std::move(*search);
  return question;
}

llvm::Expected<plan::SearchReport> Question::search(size_t top, bool record) const {
  if (sizes)
    return sizes->run(top, record);
  mlir::FailureOr<SearchResult> result = searchPlans(graph->module(), options);
  if (failed(result) || failed(confirmPlans(graph->module(), options, *result)))
    return llvm::make_error<ToldError>();
  plan::SearchReport report = std::move(result->report);
  report.plans.resize(std::min(top, report.plans.size()));
  return report;
}
