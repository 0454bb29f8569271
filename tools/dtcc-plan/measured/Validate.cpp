//===- Validate.cpp - Forecasts against measured runs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/measured/Validate.h"
#include "compiler/console/OutputFiles.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace dtcc;
using cost::Validation;

static llvm::Error addFile(llvm::StringRef path, bool ofFolder, Validation &validation) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), path + ": cannot read: " + buffer.getError().message());
  std::string error;
  std::optional<cost::RunTable> table = cost::RunTable::parse((*buffer)->getBuffer().str(), path.str(), error);
  if (!table)
    return llvm::createStringError(error);
  bool isGroups = table->hasColumn("ids");
  if (!isGroups && !table->hasColumn("measured_step_time_s")) {
    if (ofFolder)
      return llvm::Error::success(); // measured kernels, say
    return llvm::createStringError(path + ":1: a table of runs must have the column measured_step_time_s");
  }
  if (isGroups ? !validation.addGroups(*table, error) : !validation.add(std::move(*table), error))
    return llvm::createStringError(error);
  return llvm::Error::success();
}

static llvm::Error addPath(llvm::StringRef path, Validation &validation) {
  if (!llvm::sys::fs::is_directory(path))
    return addFile(path, /*ofFolder=*/false, validation);
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(path, code), end; it != end && !code; it.increment(code))
    if (llvm::sys::path::extension(it->path()) == ".csv")
      files.push_back(it->path());
  if (code)
    return llvm::createStringError(code, path + ": cannot read: " + code.message());
  std::sort(files.begin(), files.end());
  for (const std::string &file : files)
    if (llvm::Error error = addFile(file, /*ofFolder=*/true, validation))
      return error;
  return llvm::Error::success();
}

/// The rows of all tables, which must have the same columns, with what was predicted.
static llvm::Expected<std::string> predictions(const Validation &validation) {
  std::vector<cost::RunTable> tables = validation.tables;
  auto number = [](double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6g", value);
    return text;
  };
  for (const cost::ScoredRun &run : validation.runs) {
    cost::RunTable &table = tables[run.table];
    bool priced = run.seconds > 0;
    table.set(run.row, "predicted_step_time_s", priced ? number(run.seconds) : "");
    table.set(run.row, "predicted_memory_gib", priced ? number(run.memoryGib) : "");
    table.set(run.row, "predicted_fits", priced ? (run.fits ? "1" : "0") : "");
    table.set(run.row, "scope", run.run.scope);
  }
  std::string text;
  for (const cost::RunTable &table : tables) {
    if (table.columns() != tables[0].columns())
      return llvm::createStringError(
          table.file() + ":1: tables that are written together must have the same columns as " + tables[0].file());
    std::string rows = table.toText();
    text += text.empty() ? rows : rows.substr(rows.find('\n') + 1);
  }
  return text;
}

/// Fits again, and says how constants do on what they were not fitted on.
static void fitAndPrint(Validation &validation, size_t calibrate, llvm::raw_ostream &stream) {
  cost::Constants all = cost::fitConstants(validation.fitRows(), cost::startConstants());
  printHeading(stream, "Constants, fitted on all of these runs");
  for (const cost::ConstantRow &row : cost::constantRows())
    if (row.spread > 0)
      stream << llvm::format("  %-22s %10.4g  from %10.4g\n", row.name, all.*row.member, row.start);
  std::set<std::string> sources = validation.sources(), first, second;
  for (const std::string &source : sources)
    (cost::firstHalf().count(source) ? first : second).insert(source);
  // A sweep of a thousand runs would drown the others: a line each.
  auto show = [&](llvm::StringRef title, const std::set<std::string> &which) {
    printErrors(title, validation.errors(which), stream);
    for (size_t i = 0; validation.tables.size() > 1 && i < validation.tables.size(); ++i)
      if (cost::Errors errors = validation.errors(which, i); errors.rows)
        printErrors(("    of " + llvm::sys::path::filename(validation.tables[i].file())).str(), errors, stream);
  };
  validation.price(cost::startConstants());
  show("no fit", sources);
  validation.price(all);
  show("fitted on all", sources);
  validation.price(cost::fitConstants(validation.fitRows(second), all));
  show("fitted on the first half: that half", first);
  show("fitted on the first half: the other", second);
  validation.price(cost::fitConstants(validation.fitRows(first), all));
  show("fitted on the second half: that half", second);
  show("fitted on the second half: the other", first);
  validation.priceLeftOut(all);
  show("each source left out of its fit", sources);
  if (calibrate > 0) {
    validation.priceLeftOut(all, calibrate);
    show("and two scales from its first runs", sources);
  }
  stream << (calibrate > 0 ? "\nEach source left out of its fit, two scales from its first runs\n"
                           : "\nEach source left out of its fit\n");
}

static mlir::LogicalResult fail(llvm::Error error) {
  llvm::WithColor::error(llvm::errs(), "dtcc-plan") << llvm::toString(std::move(error)) << '\n';
  return mlir::failure();
}

mlir::LogicalResult dtcc::validate(const ValidateOptions &options, llvm::raw_ostream &stream) {
  Validation validation;
  OutputFiles files(options.output.empty() ? "-" : options.output, "dtcc-plan");
  std::vector<llvm::StringRef> inputs(options.paths.begin(), options.paths.end());
  if (failed(files.open(inputs)))
    return mlir::failure();
  for (const std::string &path : options.paths)
    if (llvm::Error error = addPath(path, validation))
      return fail(std::move(error));
  if (validation.tables.empty())
    return fail(
        llvm::createStringError(options.paths.front() + ": no table of runs with the column measured_step_time_s"));
  cost::Constants constants;
  if (options.fit)
    fitAndPrint(validation, options.calibrate, stream);
  else if (options.calibrate > 0)
    validation.calibrate(constants, options.calibrate);
  else
    validation.price(constants);
  if (!options.output.empty()) {
    llvm::Expected<std::string> text = predictions(validation);
    if (!text)
      return fail(text.takeError());
    if (failed(files.writeText([&](llvm::raw_ostream &out) { out << *text; })))
      return mlir::failure();
  }
  options.json ? printValidationJson(validation, stream) : printValidation(validation, stream);
  return mlir::success();
}
