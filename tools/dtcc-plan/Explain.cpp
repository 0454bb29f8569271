//===- Explain.cpp - Why this plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Explain.h"
#include "compiler/console/StatusLine.h"
#include "planner/transformer/TransformerAdvisor.h"
#include "tools/dtcc-plan/pages/ReportFiles.h"
#include "tools/dtcc-plan/queries/GraphAdvisor.h"
#include "tools/dtcc-plan/queries/PlanQuery.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

using namespace dtcc;
using llvm::StringRef;

std::vector<StringRef> dtcc::explainValues() {
  return queryValues({"tokens", "price", "base-batch", "base-lr", "html", "trace"});
}

static llvm::Error readGoal(const Arguments &arguments, const PlanQuery &query, plan::RunGoal &goal) {
  llvm::Expected<double> tokens = arguments.amount("tokens", 0);
  if (!tokens)
    return tokens.takeError();
  goal.tokens = *tokens;
  for (auto [name, value, missing] : {std::tuple("price", &goal.pricePerHour, query.pricePerHour),
                                      {"base-batch", &goal.baseBatch, 0.0},
                                      {"base-lr", &goal.baseRate, 0.0}}) {
    llvm::Expected<double> number = arguments.number(name, missing);
    if (!number)
      return number.takeError();
    *value = *number;
  }
  return llvm::Error::success();
}

/// The plan of a file, priced on the same devices.
static llvm::Expected<plan::PlanReport> price(const plan::Plan &plan, StringRef path, const PlanQuery &query,
                                              const plan::SearchReport &report) {
  plan::Parallelism shape = plan::shapeOf(plan::parallelismOf(plan));
  if (llvm::Error error = query.checkRanks(path, shape.ranks(), report))
    return std::move(error);
  if (report.batch % (shape.dp * shape.microbatches))
    return llvm::createStringError(
        path + ": the batch of " + llvm::Twine(report.batch) +
        " must divide into dp x micro-batches of the plan, got: " + llvm::Twine(shape.dp * shape.microbatches));
  if (!query.sizes) {
    if (std::optional<plan::PlanReport> priced = GraphAdvisor(query, report).price(plan))
      return *priced;
    return llvm::createStringError(path + ": the plan cannot be placed on this model, got: " + shape.str());
  }
  double layers = query.sizes->problem.model.layers;
  if (double(shape.pp * shape.virtualStages) > layers + 2)
    return llvm::createStringError(path + ": stages must be at most the " + llvm::Twine(int64_t(layers)) +
                                   " layers, got: " + llvm::Twine(shape.pp * shape.virtualStages));
  return plan::TransformerAdvisor(query.sizes->problem, query.sizes->space)
      .price(query.sizes->problem, shape, plan.recompute == plan::Recompute::Full);
}

/// Habits of a software that change the time of a step.
static std::string habitsOf(const cost::Software &software) {
  std::vector<std::string> habits;
  auto share = [&](double value, StringRef what) {
    if (value > 0)
      habits.push_back(llvm::formatv("hides {0:f0} % of {1}", 100 * value, what).str());
  };
  share(software.tensorHidden, "sums over tp");
  share(software.sendsHidden, "sends");
  habits.push_back(llvm::formatv("gradients of {0} bytes", int(software.gradientBytes)).str());
  if (software.attention == cost::AttentionKernel::Plain)
    habits.push_back("attention without FlashAttention, as in its measured runs (2021 to 2023)");
  else if (software.attention == cost::AttentionKernel::FlashFirst)
    habits.push_back("FlashAttention 1");
  return llvm::join(habits, ", ");
}

/// The best plans of the software that people compare with, where the options of the command suit it.
static std::vector<plan::Explanation::OtherSoftware> searchOtherSoftware(const Arguments &arguments) {
  std::vector<plan::Explanation::OtherSoftware> found;
  for (StringRef name : {"NeMo", "MegatronLM", "TorchTitan"}) {
    llvm::Expected<TransformerSearch> search = TransformerSearch::read(arguments.with("software", name));
    if (!search) {
      llvm::consumeError(search.takeError());
      continue;
    }
    llvm::Expected<plan::SearchReport> report = search->runBest();
    if (report)
      found.push_back({search->given.softwareName, habitsOf(search->given.software), report->plans.front()});
    else
      llvm::consumeError(report.takeError());
  }
  return found;
}

llvm::Error dtcc::printExplanation(const Arguments &arguments, llvm::raw_ostream &stream) {
  std::string planFile, model;
  for (const std::string &input : arguments.inputs()) {
    std::string &place = StringRef(input).ends_with(".json") ? planFile : model;
    if (!place.empty())
      return llvm::createStringError("explain takes a plan (.json) and a model, got: " + place + " and " + input);
    place = input;
  }
  std::optional<plan::Plan> given;
  if (!planFile.empty()) {
    llvm::Expected<plan::Plan> plan = plan::readPlan(planFile);
    if (!plan)
      return plan.takeError();
    given = std::move(*plan);
    if (model.empty() && !arguments.has("transformer"))
      return llvm::createStringError(planFile + ": a plan holds no model; name the model, or --transformer");
  }
  llvm::Expected<PlanQuery> query = PlanQuery::read(model, arguments);
  if (!query)
    return query.takeError();
  plan::RunGoal goal;
  if (llvm::Error error = readGoal(arguments, *query, goal))
    return error;
  llvm::Expected<int64_t> top = arguments.count("top", 6);
  if (!top)
    return top.takeError();
  ReportFiles files(arguments.value("html"), arguments.value("trace"));
  if (llvm::Error error = files.open(arguments.inputs()))
    return error;
  llvm::Expected<plan::SearchReport> report = query->search(size_t(*top), files.any());
  if (!report)
    return report.takeError();
  std::optional<plan::PlanReport> priced;
  if (given) {
    llvm::Expected<plan::PlanReport> plan = price(*given, planFile, *query, *report);
    if (!plan)
      return plan.takeError();
    priced = std::move(*plan);
  }
  std::unique_ptr<plan::Advisor> advisor;
  if (query->sizes)
    advisor = std::make_unique<plan::TransformerAdvisor>(query->sizes->problem, query->sizes->space);
  else
    advisor = std::make_unique<GraphAdvisor>(*query, *report);
  std::optional<Status> status;
  auto show = [&](const char *what) { status.emplace(what); };
  plan::Explanation explanation = plan::explain(std::move(*report), std::move(priced), *advisor, goal, show);
  if (arguments.has("transformer") && !query->sizes) {
    show("compare other software");
    explanation.otherSoftware = searchOtherSoftware(arguments);
  }
  status.reset();
  if (llvm::Error error = files.write(explanation.report, &explanation))
    return error;
  arguments.has("json") ? printExplanationJson(explanation, stream) : printExplanation(explanation, stream);
  return llvm::Error::success();
}
