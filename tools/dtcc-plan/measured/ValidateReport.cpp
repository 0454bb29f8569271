//===- ValidateReport.cpp - The errors of a forecast, for people and scripts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/measured/Validate.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace dtcc;
using cost::Errors;
using cost::Validation;

namespace {
std::string percent(double value) { return llvm::formatv("{0:f1}", value).str(); }
std::string signedPercent(double value) { return (value >= 0 ? "+" : "") + percent(value); }

/// Rows that ran out of memory, and those that ran, by what was forecast of them.
struct Fits {
  size_t outOfMemory = 0, seen = 0, ran = 0, refused = 0;
};
Fits fitsOf(const Validation &validation) {
  Fits fits;
  for (const cost::ScoredRun &run : validation.runs) {
    if (!run.run.scope.empty() || !run.run.apart.empty())
      continue;
    if (run.run.outOfMemory) {
      ++fits.outOfMemory;
      fits.seen += !run.fits;
    } else if (run.run.seconds > 0) {
      ++fits.ran;
      fits.refused += !run.fits;
    }
  }
  return fits;
}

/// Sources whose runs a table holds.
std::set<std::string> sourcesOf(const Validation &validation, size_t table) {
  std::set<std::string> names;
  for (const cost::ScoredRun &run : validation.runs)
    if (run.table == table)
      names.insert(run.run.source);
  return names;
}

void addRow(TextTable &table, const Validation &validation, llvm::StringRef name,
            const std::set<std::string> &sources) {
  Errors time = validation.errors(sources), memory = validation.memoryErrors(sources);
  std::vector<std::string> cells = {name.str(), std::to_string(time.rows), "", "", "", "", "", ""};
  if (time.rows) {
    cells[2] = percent(time.median);
    cells[3] = percent(time.p90);
    cells[4] = signedPercent(time.bias);
  }
  if (memory.rows) {
    cells[5] = std::to_string(memory.rows);
    cells[6] = percent(memory.median);
    cells[7] = percent(memory.p90);
  }
  table.add(cells);
}
} // namespace

void dtcc::printErrors(llvm::StringRef title, const Errors &errors, llvm::raw_ostream &stream) {
  stream << llvm::formatv("  {0,-40} {1,5} rows: median {2} %, 90 % of rows within {3} %\n", title, errors.rows,
                          percent(errors.median), percent(errors.p90));
}

void dtcc::printValidation(const Validation &validation, llvm::raw_ostream &stream) {
  std::set<std::string> all = validation.sources();
  printHeading(stream, "Forecast against measured, |log| in percent: step time, and memory of a device");
  TextTable table({"source", ">runs", ">median", ">90 %", ">bias", ">memory", ">median", ">90 %"});
  for (const std::string &source : all)
    addRow(table, validation, source, {source});
  for (size_t i = 0; validation.tables.size() > 1 && i < validation.tables.size(); ++i)
    addRow(table, validation, "all of " + llvm::StringRef(validation.tables[i].file()).rsplit('/').second.str(),
           sourcesOf(validation, i));
  addRow(table, validation, "all", all);
  table.print(stream);

  if (auto regrets = validation.regrets(); !regrets.empty()) {
    printHeading(stream, "\nThe plan forecast as fastest against the fastest measured, slower by percent");
    TextTable plans({"source", ">groups", ">mean", ">worst"});
    for (const auto &[source, regret] : regrets)
      plans.add({source, std::to_string(regret.groups), percent(regret.mean), percent(regret.worst)});
    plans.print(stream);
  }
  Fits fits = fitsOf(validation);
  if (fits.outOfMemory)
    stream << llvm::formatv(
        "\nOut of memory: {0} of {1} such runs forecast as too large; {2} of {3} runs that worked too\n", fits.seen,
        fits.outOfMemory, fits.refused, fits.ran);
  if (auto apart = validation.errorsApart(); !apart.empty()) {
    printHeading(stream, "\nPriced as a test alone: step time, |log| in percent");
    TextTable tests({"runs of", ">runs", ">median", ">90 %", ">bias"});
    for (const auto &[name, errors] : apart)
      tests.add(
          {name, std::to_string(errors.rows), percent(errors.median), percent(errors.p90), signedPercent(errors.bias)});
    tests.print(stream);
  }
  if (auto reasons = validation.outOfScope(); !reasons.empty()) {
    printHeading(stream, "\nRows out of scope");
    TextTable rows({">rows", "why"});
    for (const auto &[reason, count] : reasons)
      rows.add({std::to_string(count), reason});
    rows.print(stream);
  }
}

void dtcc::printValidationJson(const Validation &validation, llvm::raw_ostream &stream) {
  llvm::json::OStream out(stream, 2);
  auto errors = [&](const std::set<std::string> &sources) {
    auto attributes = [&](const char *name, const Errors &errors) {
      out.attributeObject(name, [&] {
        out.attribute("rows", int64_t(errors.rows));
        out.attribute("median", errors.median);
        out.attribute("p90", errors.p90);
        out.attribute("bias", errors.bias);
      });
    };
    attributes("time", validation.errors(sources));
    attributes("memory", validation.memoryErrors(sources));
  };
  out.object([&] {
    out.attributeObject("all", [&] { errors(validation.sources()); });
    out.attributeObject("sources", [&] {
      for (const std::string &source : validation.sources())
        out.attributeObject(source, [&] { errors({source}); });
    });
    out.attributeObject("regret", [&] {
      for (const auto &[source, regret] : validation.regrets())
        out.attributeObject(source, [&] {
          out.attribute("groups", int64_t(regret.groups));
          out.attribute("mean", regret.mean);
          out.attribute("worst", regret.worst);
        });
    });
    out.attributeObject("apart", [&] {
      for (const auto &[name, errors] : validation.errorsApart())
        out.attributeObject(name, [&] {
          out.attribute("rows", int64_t(errors.rows));
          out.attribute("median", errors.median);
          out.attribute("p90", errors.p90);
          out.attribute("bias", errors.bias);
        });
    });
    Fits fits = fitsOf(validation);
    out.attributeObject("out_of_memory", [&] {
      out.attribute("runs", int64_t(fits.outOfMemory));
      out.attribute("seen", int64_t(fits.seen));
      out.attribute("runs_that_worked", int64_t(fits.ran));
      out.attribute("refused", int64_t(fits.refused));
    });
    out.attributeObject("out_of_scope", [&] {
      for (const auto &[reason, count] : validation.outOfScope())
        out.attribute(reason, int64_t(count));
    });
  });
  stream << '\n';
}
