//===- PrintExplanation.cpp - Why this plan, for people and scripts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Explain.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;
using llvm::formatv;

static std::string memoryOf(const plan::PlanReport &plan) {
  return formatBytes(plan.memory.total()) + (plan.fits ? "" : " !");
}

static void printKinds(const plan::Explanation &explanation, llvm::raw_ostream &stream) {
  stream << '\n';
  printHeading(stream, "The best of each kind");
  const plan::PlanReport &best = explanation.report.plans.front();
  TextTable table({"kind", ">a step", ">x best", ">a device", "plan", "why not"});
  for (const plan::Explanation::Kind &kind : explanation.kinds) {
    bool fits = kind.plan && kind.plan->fits;
    table.add({kind.name, fits ? formatSeconds(kind.plan->seconds) : "-",
               fits ? formatv("{0:f2}", kind.plan->timesOf(best)).str() : "-", kind.plan ? memoryOf(*kind.plan) : "-",
               kind.plan ? kind.plan->shape.str() : "-", kind.reason});
  }
  table.print(stream);
}

static void printCounts(const plan::Explanation &explanation, llvm::raw_ostream &stream) {
  if (explanation.counts.size() < 2)
    return;
  stream << '\n';
  printHeading(stream, "The same batch on fewer devices");
  TextTable table({">devices", ">a step", ">x as fast", ">of each", "plan"});
  for (const plan::Explanation::Count &count : explanation.counts)
    table.add({std::to_string(count.devices), formatSeconds(count.plan.seconds), formatv("{0:f2}", count.speedup).str(),
               formatv("{0:f0} %", 100 * count.efficiency).str(), count.plan.shape.str()});
  table.print(stream);
}

static void printAccumulation(const plan::Explanation &explanation, llvm::raw_ostream &stream) {
  if (explanation.accumulation.size() < 2)
    return;
  stream << '\n';
  printHeading(stream, "The same mesh, accumulating more or less");
  TextTable table({">micro-batches", ">a step", ">a device", ">recomputed", ""});
  for (const plan::PlanReport &plan : explanation.accumulation)
    table.add({std::to_string(plan.shape.microbatches), plan.fits ? formatSeconds(plan.seconds) : "-", memoryOf(plan),
               std::to_string(plan.recomputed()), plan.reason.empty() ? "this plan" : plan.reason});
  table.print(stream);
}

/// The seconds of each part of a step, ours first.
static void printOtherSoftware(const plan::Explanation &explanation, llvm::raw_ostream &stream) {
  if (explanation.otherSoftware.empty())
    return;
  stream << '\n';
  printHeading(stream, "The best plan of other software, by the sizes of the model");
  const plan::PlanReport &best = explanation.report.plans.front();
  TextTable table(
      {"software", ">a step", ">x", ">compute", ">tp, cp", ">dp", ">sends", ">bubble", ">host", "plan", "habits"});
  auto add = [&](llvm::StringRef name, const plan::PlanReport &plan, llvm::StringRef habits) {
    std::vector<std::string> row = {name.str(), formatSeconds(plan.seconds),
                                    formatv("{0:f2}", plan.seconds / best.seconds).str()};
    const cost::StepSeconds &parts = plan.parts;
    for (double part : {parts.compute, parts.tensor, parts.data, parts.stages, parts.bubble, parts.host})
      row.push_back(part < 1e-3 * plan.seconds ? "-" : formatSeconds(part));
    row.insert(row.end(), {plan.shape.str(), habits.str()});
    table.add(row);
  };
  add(explanation.report.software, best, "");
  for (const plan::Explanation::OtherSoftware &other : explanation.otherSoftware)
    add(other.name, other.plan, other.habits);
  table.print(stream);
}

void dtcc::printExplanation(const plan::Explanation &explanation, llvm::raw_ostream &stream) {
  printReport(explanation.report, stream);
  if (explanation.given) {
    const plan::PlanReport &given = *explanation.given;
    stream << '\n';
    printHeading(stream, "The plan that is asked about");
    stream << formatv("  {0}: {1} a step, {2:f2} x the best, {3} a device\n", given.shape.str(),
                      formatSeconds(given.seconds), given.timesOf(explanation.report.plans.front()), memoryOf(given));
    printWrapped(stream, "  ", given.reason);
  }
  if (!explanation.tooLarge.empty()) {
    stream << '\n';
    printHeading(stream, "Faster, but too large");
    for (const plan::PlanReport &plan : explanation.tooLarge)
      stream << "  " << plan.shape.str() << ": " << plan.reason << '\n';
  }
  if (const plan::PlanReport &best = explanation.report.plans.front(); best.estimatedParts)
    stream << "\nBelow are estimates of the search, without programs: plan 1 is estimated at "
           << formatSeconds(best.estimatedSeconds()) << ".\nOnly the table of other software has it as above.\n";
  printKinds(explanation, stream);
  printCounts(explanation, stream);
  printAccumulation(explanation, stream);
  printOtherSoftware(explanation, stream);
  stream << '\n';
  printHeading(stream, "What people ask");
  for (const plan::Explanation::Answer &answer : explanation.answers)
    printWrapped(stream, formatv("  {0,-31} ", answer.question).str(), answer.answer);
}

void dtcc::printExplanationJson(const plan::Explanation &explanation, llvm::raw_ostream &stream) {
  const plan::SearchReport &report = explanation.report;
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    writeReport(report, out);
    if (explanation.given)
      out.attributeObject("given_plan", [&] { writePlan(*explanation.given, report, out); });
    out.attributeArray("too_large", [&] {
      for (const plan::PlanReport &plan : explanation.tooLarge)
        out.object([&] { writePlan(plan, report, out); });
    });
    out.attributeArray("kinds", [&] {
      for (const plan::Explanation::Kind &kind : explanation.kinds)
        out.object([&] {
          out.attribute("kind", kind.name);
          if (kind.plan)
            out.attributeObject("plan", [&] { writePlan(*kind.plan, report, out); });
          out.attribute("why", kind.reason);
        });
    });
    out.attributeArray("device_counts", [&] {
      for (const plan::Explanation::Count &count : explanation.counts)
        out.object([&] {
          out.attribute("devices", count.devices);
          out.attribute("seconds", count.plan.seconds);
          out.attribute("options", count.plan.shape.str());
          out.attribute("speedup", count.speedup);
          out.attribute("efficiency", count.efficiency);
        });
    });
    out.attributeArray("accumulation", [&] {
      for (const plan::PlanReport &plan : explanation.accumulation)
        out.object([&] { writePlan(plan, report, out); });
    });
    out.attributeArray("other_software", [&] {
      for (const plan::Explanation::OtherSoftware &other : explanation.otherSoftware)
        out.object([&] {
          out.attribute("software", other.name);
          out.attribute("habits", other.habits);
          out.attributeObject("plan", [&] { writePlan(other.plan, report, out); });
        });
    });
    out.attributeArray("answers", [&] {
      for (const plan::Explanation::Answer &answer : explanation.answers)
        out.object([&] {
          out.attribute("question", answer.question);
          out.attribute("answer", answer.answer);
        });
    });
  });
  stream << '\n';
}
