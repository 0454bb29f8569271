//===- PrintReport.cpp - What a search found, for people and scripts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;
using llvm::formatv;

static constexpr StepPart kStepParts[] = {
    {"compute", "compute", "compute", &cost::StepSeconds::compute},
    {"tensor", "tp, cp", "tensor and context parallelism, exposed", &cost::StepSeconds::tensor},
    {"data", "dp", "gradients and parameters, exposed", &cost::StepSeconds::data},
    {"stages", "sends", "sends between stages, exposed", &cost::StepSeconds::stages},
    {"bubble", "bubble", "pipeline bubble", &cost::StepSeconds::bubble},
    {"host", "host", "waiting for the host", &cost::StepSeconds::host}};
llvm::ArrayRef<StepPart> dtcc::stepParts() { return kStepParts; }

static constexpr MemoryPart kMemoryParts[] = {{"parameters", "parameters", &plan::MemoryParts::parameters},
                                              {"gradients", "gradients", &plan::MemoryParts::gradients},
                                              {"optimizer", "optimizer", &plan::MemoryParts::optimizer},
                                              {"activations", "activations", &plan::MemoryParts::activations},
                                              {"working", "working values", &plan::MemoryParts::working},
                                              {"communicators", "communicators", &plan::MemoryParts::communicators}};
llvm::ArrayRef<MemoryPart> dtcc::memoryParts() { return kMemoryParts; }

static std::string parametersText(double parameters) {
  if (parameters < 5e4)
    return formatCount(uint64_t(parameters));
  return parameters >= 1e9 ? formatv("{0:f1} billion", parameters / 1e9).str()
                           : formatv("{0:f1} million", parameters / 1e6).str();
}

std::string dtcc::headingOf(const plan::SearchReport &report) {
  std::string text = report.model.empty() ? "" : report.model + ": ";
  text += parametersText(report.parameters) + " parameters on " + std::to_string(report.devices) + " x " +
          report.device + ", " + std::to_string(report.batch) + " samples";
  if (report.sequence > 0)
    text += " of " + std::to_string(int64_t(report.sequence)) + " tokens";
  return text + " a step";
}

void dtcc::printSoftware(llvm::StringRef software, llvm::raw_ostream &stream) {
  stream << "priced as training with " << software << " would run\n";
}

/// Titles of parts that some plan has: small searches have few.
static std::vector<const StepPart *> partsOf(const plan::SearchReport &report) {
  std::vector<const StepPart *> parts;
  for (const StepPart &part : kStepParts)
    if (llvm::any_of(report.plans, [&](const plan::PlanReport &plan) { return plan.parts.*part.seconds > 0; }))
      parts.push_back(&part);
  return parts;
}

/// " (+2.6 %)": how far an estimate is off.
static std::string differenceOf(double estimate, double program) {
  return formatv(" ({0}{1:f1} %)", estimate < program ? "-" : "+", 100 * std::abs(estimate / program - 1)).str();
}

std::string dtcc::comparisonOf(const plan::SearchReport &report) {
  if (report.compared == 0)
    return "";
  std::string text =
      report.compared == 1
          ? "plan 1 is the only one that was compiled and may be taken"
          : formatv("plan 1 is the fastest of {0} that were compiled, by the forecasts of their programs",
                    report.compared)
                .str();
  const double percent = 100 * report.estimateError;
  if (report.uncompared == 0)
    return text + formatv("; no other can be faster if estimates err by at most {0:f0} %", percent).str();
  return text + formatv("; {0} other{1} could be faster if estimates err by {2:f0} %", report.uncompared,
                        report.uncompared > 1 ? "s" : "", percent)
                    .str();
}

/// Prints a row for each plan: its time, its memory, and the parts of its step.
static void printPlans(const plan::SearchReport &report, llvm::raw_ostream &stream) {
  // One unit for the column, so that times compare at a glance.
  const plan::PlanReport &best = report.plans.front();
  bool milliseconds = best.seconds < 0.1, compiled = report.compared > 0;
  std::vector<const StepPart *> parts = partsOf(report);
  std::vector<std::string> titles = {
      ">#", milliseconds ? ">ms a step" : ">s a step", ">x best", "plan", ">recomputed", ">a device"};
  // Behind the forecast of the program, which plans that were not compiled lack.
  if (compiled)
    titles.insert(titles.begin() + 3, ">estimate");
  for (const StepPart *part : parts)
    titles.push_back((">" + part->title).str());
  TextTable table(std::move(titles));
  auto seconds = [&](double seconds) { return formatv("{0:f3}", seconds * (milliseconds ? 1e3 : 1)).str(); };
  for (size_t i = 0; i < report.plans.size(); ++i) {
    const plan::PlanReport &plan = report.plans[i];
    bool printsTime = !compiled || plan.estimatedParts;
    std::vector<std::string> cells = {std::to_string(i + 1), printsTime ? seconds(plan.seconds) : "-",
                                      printsTime ? formatv("{0:f2}", plan.timesOf(best)).str() : "-"};
    if (compiled)
      cells.push_back(seconds(plan.estimatedSeconds()));
    cells.insert(cells.end(), {report.nameOf(plan), std::to_string(plan.recomputed()),
                               formatBytes(plan.memory.total()) + (plan.fits ? "" : " !")});
    for (const StepPart *part : parts)
      cells.push_back(formatv("{0:f0} %", 100 * (plan.parts.*part->seconds) / plan.seconds).str());
    table.add(std::move(cells));
  }
  table.print(stream);
}

/// Prints what a device holds under the best plan.
static void printMemory(const plan::SearchReport &report, llvm::raw_ostream &stream) {
  const plan::MemoryParts &memory = report.plans.front().memory;
  std::string text;
  for (const MemoryPart &part : kMemoryParts)
    if (double bytes = memory.*part.bytes; bytes > 0)
      text += (text.empty() ? "" : ", ") + part.name.str() + " " + formatBytes(bytes);
  if (report.memoryBytes > 0)
    text += "; may use " + formatBytes(report.memoryBytes);
  if (memory.host > 0)
    text += "; its host holds " + formatBytes(memory.host);
  stream << "a device holds (plan 1): " << text << '\n';
}

/// Prints the tokens and operations a second of the best plan, if samples have tokens.
static void printRates(const plan::SearchReport &report, llvm::raw_ostream &stream) {
  if (report.sequence <= 0)
    return;
  const plan::PlanReport &best = report.plans.front();
  stream << formatv("plan 1 trains {0} tokens a second, {1} a device",
                    formatCount(uint64_t(report.tokensPerSecond(best))),
                    formatCount(uint64_t(report.tokensPerSecond(best) / double(report.devices))));
  if (double rate = report.flopsPerSecond(best); rate > 0)
    stream << formatv(", at {0:f1} {1}FLOP/s a device by the definition of the model",
                      rate / (rate < 1e12 ? 1e9 : 1e12), rate < 1e12 ? "G" : "T");
  if (report.utilisation(best) > 0)
    stream << formatv(": {0:f1} % of the peak (MFU)", 100 * report.utilisation(best));
  stream << '\n';
}

/// Prints how far the estimates of the best plan were off, if it was compiled, and how it was chosen.
static void printComparison(const plan::SearchReport &report, llvm::raw_ostream &stream) {
  const plan::PlanReport &best = report.plans.front();
  if (best.estimated) {
    double program = best.memory.total(), estimate = best.estimated->total();
    stream << "plan 1 is compiled: its program holds " << formatBytes(program) << " a rank; the search's estimate was "
           << formatBytes(estimate) << differenceOf(estimate, program) << '\n';
  }
  if (best.estimatedParts)
    stream << "its step is forecast by its commands: " << formatSeconds(best.seconds) << "; the search's estimate was "
           << formatSeconds(best.estimatedSeconds()) << differenceOf(best.estimatedSeconds(), best.seconds) << '\n';
  if (std::string text = comparisonOf(report); !text.empty())
    stream << text << '\n';
}

/// Plans passed over that are named; JSON has all.
static constexpr size_t kPassed = 6;

/// Prints why the other plans lost: those passed over, then those of the table.
static void printLosers(const plan::SearchReport &report, llvm::raw_ostream &stream) {
  for (const plan::PassedPlan &passed : llvm::ArrayRef(report.passed).take_front(kPassed))
    printWrapped(stream, "passed over ", passed.shape.str() + ": " + passed.why);
  if (report.passed.size() > kPassed)
    stream << "passed over: " << report.passed.size() - kPassed << " more\n";
  if (const plan::PlanReport &best = report.plans.front(); !best.fits)
    stream << "no plan fits; the first " << best.reason << '\n';
  if (report.plans.size() > 1)
    printHeading(stream, "Why not the others");
  for (size_t i = 1; i < report.plans.size(); ++i)
    printWrapped(stream, formatv("  {0,3}  ", i + 1).str(), report.plans[i].reason);
}

/// Prints how many shapes were searched, and the bound below which none is.
static void printBound(const plan::SearchReport &report, llvm::raw_ostream &stream) {
  stream << report.shapes << " shapes, " << report.placed << " placed, " << report.infeasible << " do not fit";
  if (report.lowerBound > 0)
    stream << "; no plan is estimated below " << formatSeconds(report.lowerBound)
           << formatv(", plan 1 is estimated {0:f1} % above", 100 * std::max(0.0, report.gap()));
  if (const plan::PlanReport &best = report.plans.front(); best.estimatedParts && best.seconds < report.lowerBound)
    stream << "; the bound is one of estimates, and the forecast of its program is below it";
  // Below that would be plans whose ops lie otherwise.
  if (report.unproven > 0)
    stream << "; with the placements of ops that were found: " << report.unproven << " of " << report.placements
           << " are not proven best, their search was cut short";
  stream << '\n';
}

void dtcc::printReport(const plan::SearchReport &report, llvm::raw_ostream &stream) {
  printHeading(stream, headingOf(report));
  printSoftware(report.software, stream);
  printPlans(report, stream);
  printMemory(report, stream);
  printRates(report, stream);
  printComparison(report, stream);
  printLosers(report, stream);
  printBound(report, stream);
  if (!report.given.empty())
    stream << "fixed, not searched: " << llvm::join(report.given, " ") << '\n';
  if (!report.note.empty())
    stream << report.note << '\n';
  for (const std::string &hint : report.hints)
    stream << hint << '\n';
}

void dtcc::writeMemory(const plan::MemoryParts &memory, llvm::json::OStream &out, llvm::StringRef key) {
  out.attributeObject(key, [&] {
    out.attribute("all", memory.total());
    for (const MemoryPart &part : kMemoryParts)
      out.attribute(part.key, memory.*part.bytes);
  });
}

void dtcc::writeMesh(const plan::Parallelism &shape, llvm::json::OStream &out) {
  out.attributeObject("mesh", [&] {
    out.attribute("dp", shape.meshDp());
    out.attribute("tp", shape.tp);
    out.attribute("cp", shape.cp);
    out.attribute(shape.foldsExperts() ? "folded-ep" : "ep", shape.ep);
    out.attribute("pp", shape.pp);
  });
}

void dtcc::writePlan(const plan::PlanReport &plan, const plan::SearchReport &report, llvm::json::OStream &out) {
  const plan::Parallelism &shape = plan.shape;
  writeMesh(shape, out);
  out.attribute("options", shape.str());
  out.attribute("microbatches", shape.microbatches);
  out.attribute("zero", shape.zero);
  if (shape.gradients != plan::GradientType::F32)
    out.attribute("gradients", llvm::StringRef(plan::toString(shape.gradients)));
  out.attribute("schedule", shape.scheduleName());
  out.attribute("seconds", plan.seconds);
  out.attribute("estimated_seconds", plan.estimatedSeconds());
  out.attribute("times_best", plan.timesOf(report.plans.front()));
  auto writeParts = [&](llvm::StringRef key, const cost::StepSeconds &parts) {
    out.attributeObject(key, [&] {
      for (const StepPart &part : kStepParts)
        out.attribute(part.key, parts.*part.seconds);
    });
  };
  writeParts("parts", plan.parts);
  if (plan.estimatedParts)
    writeParts("estimated_parts", *plan.estimatedParts);
  out.attribute("recompute_seconds", plan.parts.recompute);
  out.attribute("recomputed_blocks", int64_t(plan.recomputed()));
  writeMemory(plan.memory, out);
  out.attribute("host_bytes", plan.memory.host);
  out.attribute("confirmed", plan.estimated.has_value());
  if (plan.estimated)
    writeMemory(*plan.estimated, out, "estimated_bytes");
  out.attribute("fits", plan.fits);
  out.attribute("excess_bytes", report.excess(plan));
  out.attributeArray("stages", [&] {
    for (const plan::StageReport &stage : plan.stages)
      out.object([&] {
        out.attribute("first_block", int64_t(stage.firstBlock));
        out.attribute("blocks", int64_t(stage.blocks));
        out.attribute("recomputed", int64_t(stage.recomputed));
        out.attribute("seconds", stage.seconds);
        writeMemory(stage.memory, out);
      });
  });
  if (report.flops > 0)
    out.attribute("model_flops_per_second_a_device", report.flopsPerSecond(plan));
  if (report.utilisation(plan) > 0)
    out.attribute("mfu", report.utilisation(plan));
  out.attribute("why", plan.reason);
}

void dtcc::writeReport(const plan::SearchReport &report, llvm::json::OStream &out) {
  out.attribute("model", report.model);
  out.attribute("parameters", report.parameters);
  out.attribute("cluster", report.cluster);
  out.attribute("device", report.device);
  out.attribute("software", report.software);
  out.attribute("ranks", report.devices);
  out.attribute("memory_bytes", report.memoryBytes);
  out.attribute("batch", report.batch);
  out.attribute("sequence", report.sequence);
  out.attributeArray("given", [&] {
    for (const std::string &option : report.given)
      out.value(option);
  });
  out.attribute("shapes", int64_t(report.shapes));
  out.attribute("placed", int64_t(report.placed));
  out.attribute("infeasible", int64_t(report.infeasible));
  if (report.lowerBound > 0) {
    out.attribute("lower_bound_seconds", report.lowerBound);
    out.attribute("gap", report.gap());
    out.attribute("placements", int64_t(report.placements));
    out.attribute("placements_not_proven_best", int64_t(report.unproven));
  }
  if (report.compared > 0) {
    out.attribute("compared", int64_t(report.compared));
    out.attribute("not_compared", int64_t(report.uncompared));
    out.attribute("estimate_error", report.estimateError);
  }
  out.attributeArray("plans", [&] {
    for (const plan::PlanReport &plan : report.plans)
      out.object([&] { writePlan(plan, report, out); });
  });
  if (!report.passed.empty())
    out.attributeArray("passed_over", [&] {
      for (const plan::PassedPlan &passed : report.passed)
        out.object([&] {
          out.attribute("options", passed.shape.str());
          out.attribute("why", passed.why);
        });
    });
  if (!report.note.empty())
    out.attribute("note", report.note);
  if (!report.hints.empty())
    out.attributeArray("hints", [&] {
      for (const std::string &hint : report.hints)
        out.value(hint);
    });
}

void dtcc::printReportJson(const plan::SearchReport &report, llvm::raw_ostream &stream,
                           llvm::function_ref<void(llvm::json::OStream &)> more) {
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    writeReport(report, out);
    if (more)
      more(out);
  });
  stream << '\n';
}
