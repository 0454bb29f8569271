//===- ReportPage.cpp - A search or an explanation as a page
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/pages/ReportPage.h"
#include "tools/dtcc-plan/pages/HtmlPage.h"
#include "tools/dtcc-plan/pages/PlanPictures.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;
using llvm::formatv;

static std::string memoryText(const plan::PlanReport &plan) {
  return formatBytes(plan.memory.total()) + (plan.fits ? "" : ", too much");
}

static void writeTiles(const plan::SearchReport &report, HtmlPage &page) {
  const plan::PlanReport &best = report.plans.front();
  std::vector<std::pair<std::string, std::string>> tiles = {{"a step", formatSeconds(best.seconds)}};
  if (report.sequence > 0) {
    tiles.push_back({"tokens a second", formatCount(uint64_t(report.tokensPerSecond(best)))});
    tiles.push_back(
        {"tokens a second and device", formatCount(uint64_t(report.tokensPerSecond(best) / double(report.devices)))});
  }
  if (report.utilisation(best) > 0)
    tiles.push_back({"of the peak, by the definition of the model (MFU)",
                     formatv("{0:f1} %", 100 * report.utilisation(best)).str()});
  tiles.push_back({"a device holds", formatBytes(best.memory.total()) +
                                         (report.memoryBytes > 0 ? " of " + formatBytes(report.memoryBytes) : "")});
  if (report.lowerBound > 0) {
    tiles.push_back({"no plan is estimated below", formatSeconds(report.lowerBound)});
    tiles.push_back({"the estimate of the best is above that by", formatv("{0:f1} %", 100 * report.gap()).str()});
    if (report.unproven > 0)
      tiles.push_back({"placements not proven best", formatv("{0} of {1}", report.unproven, report.placements).str()});
  }
  tiles.push_back({"shapes, placed, too large", formatv("{0}, {1}, {2}", formatCount(report.shapes),
                                                        formatCount(report.placed), formatCount(report.infeasible))
                                                    .str()});
  page.tiles(tiles);
}

static void writePlans(const plan::SearchReport &report, HtmlPage &page) {
  page.heading("Plans, and why the others lost");
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < report.plans.size(); ++i) {
    const plan::PlanReport &plan = report.plans[i];
    bool printsTime = report.compared == 0 || plan.estimatedParts;
    rows.push_back({std::to_string(i + 1), report.nameOf(plan), printsTime ? formatSeconds(plan.seconds) : "-",
                    printsTime ? formatv("{0:f2}", plan.timesOf(report.plans.front())).str() : "-",
                    formatSeconds(plan.estimatedSeconds()), memoryText(plan), std::to_string(plan.recomputed()),
                    i == 0 && plan.reason.empty() ? "the best" : plan.reason});
  }
  std::vector<std::string> titles = {">#",        "plan",      ">a step",     ">x best",
                                     ">estimate", ">a device", ">recomputed", "why not"};
  // One figure is enough where no program was made.
  if (report.compared == 0) {
    constexpr size_t kEstimate = 4;
    titles.erase(titles.begin() + kEstimate);
    for (std::vector<std::string> &row : rows)
      row.erase(row.begin() + kEstimate);
  }
  page.table(titles, rows);
  if (std::string compared = comparisonOf(report); !compared.empty())
    page.paragraph("Times of a step are forecast by the commands of compiled programs: " + compared + ".");
}

static void writeExplanation(const plan::Explanation &explanation, HtmlPage &page) {
  const plan::PlanReport &best = explanation.report.plans.front();
  std::vector<std::vector<std::string>> rows;
  for (const plan::Explanation::Answer &answer : explanation.answers)
    rows.push_back({answer.question, answer.answer});
  page.heading("What people ask");
  page.table({"question", "answer"}, rows);
  if (const std::optional<plan::PlanReport> &given = explanation.given) {
    page.heading("The plan that is asked about");
    page.table({"plan", ">a step", ">x best", ">a device", "why not"},
               {{given->shape.str(), formatSeconds(given->seconds), formatv("{0:f2}", given->timesOf(best)).str(),
                 memoryText(*given), given->reason}});
  }
  rows.clear();
  for (const plan::Explanation::Kind &kind : explanation.kinds) {
    bool fits = kind.plan && kind.plan->fits;
    rows.push_back({kind.name, kind.plan ? kind.plan->shape.str() : "", fits ? formatSeconds(kind.plan->seconds) : "",
                    fits ? formatv("{0:f2}", kind.plan->timesOf(best)).str() : "",
                    kind.plan ? memoryText(*kind.plan) : "", kind.reason});
  }
  if (best.estimatedParts)
    page.paragraph("The tables below hold estimates of the search, without programs: plan 1 is estimated at " +
                   formatSeconds(best.estimatedSeconds()) + ".");
  page.heading("The best of each kind");
  page.table({"kind", "plan", ">a step", ">x best", ">a device", "why not"}, rows);
  rows.clear();
  for (const plan::Explanation::Count &count : explanation.counts)
    rows.push_back({std::to_string(count.devices), count.plan.shape.str(), formatSeconds(count.plan.seconds),
                    formatv("{0:f2}", count.speedup).str(), formatv("{0:f0} %", 100 * count.efficiency).str()});
  if (rows.size() > 1) {
    page.heading("The same batch on fewer devices");
    page.table({">devices", "plan", ">a step", ">x as fast", ">of each"}, rows);
  }
  rows.clear();
  for (const plan::PlanReport &plan : explanation.accumulation)
    rows.push_back({std::to_string(plan.shape.microbatches), formatSeconds(plan.seconds), memoryText(plan),
                    std::to_string(plan.recomputed()), plan.reason.empty() ? "this plan" : plan.reason});
  if (rows.size() > 1) {
    page.heading("The same mesh, accumulating more or less");
    page.table({">micro-batches", ">a step", ">a device", ">recomputed", "why not"}, rows);
  }
  rows.clear();
  for (const plan::Explanation::OtherSoftware &other : explanation.otherSoftware)
    rows.push_back({other.name, other.plan.shape.str(), formatSeconds(other.plan.seconds),
                    formatv("{0:f2}", other.plan.seconds / best.seconds).str(), memoryText(other.plan), other.habits});
  if (!rows.empty()) {
    page.heading("The best plan of other software, by the sizes of the model");
    page.table({"software", "plan", ">a step", ">x best", ">a device", "habits"}, rows);
  }
}

void dtcc::writeReportPage(const plan::SearchReport &report, const cost::StepTimeline &timeline,
                           const plan::Explanation *explanation, llvm::raw_ostream &stream) {
  const plan::PlanReport &best = report.plans.front();
  HtmlPage page(headingOf(report), stream);
  std::string line = "The best plan: " + best.shape.str() + ". " + plan::placesOf(best.shape, report.domain) + ".";
  page.paragraph(line);
  if (!report.given.empty()) {
    std::string given;
    for (const std::string &option : report.given)
      given += (given.empty() ? "" : " ") + option;
    page.paragraph("Given, not searched: " + given + ".");
  }
  writeTiles(report, page);
  page.picture("Where the time of a step goes", drawParts(report.plans));
  writePlans(report, page);
  page.picture("The mesh", drawMesh(best.shape, report.domain),
               "A square is a rank. Frames are nodes, or what the fast link joins.");
  if (!best.stages.empty())
    page.picture("Placement by layer", drawPlacement(best));
  page.picture("What a device holds", drawMemory(best, report.memoryBytes));
  page.picture("Memory over a step", drawMemoryOverTime(best, timeline, report.memoryBytes),
               "State and workspace all the time; activations from the forward to the backward pass of a micro-batch.");
  page.picture(
      best.shape.pp > 1 ? "The pipeline" : "A step", drawTimeline(timeline, best.shape.ranks() / timeline.ranks),
      "A row is what all ranks that hold the same stages do. Below their computation: collectives, messages, copies.");
  if (explanation)
    writeExplanation(*explanation, page);
  if (!report.note.empty())
    page.paragraph("Note: " + report.note + ".");
  for (const std::string &hint : report.hints)
    page.paragraph("Note: " + hint + ".");
  page.paragraph("Forecasts of dtcc-plan: clusters of one kind differ by some 10 %.");
}
