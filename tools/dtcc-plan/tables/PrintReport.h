//===- PrintReport.h - What a search found, for people and scripts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_TABLES_PRINTREPORT_H
#define DTCC_TOOLS_DTCC_PLAN_TABLES_PRINTREPORT_H

#include "planner/search/SearchReport.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// A part of a step: its key in JSON, the title of a column, and what it is.
struct StepPart {
  llvm::StringRef key, title, name;
  double cost::StepSeconds::*seconds;
};
/// The parts of a step's time, which add up to it.
llvm::ArrayRef<StepPart> stepParts();

/// A part of the memory of a device: its key in JSON and what it is.
struct MemoryPart {
  llvm::StringRef key, name;
  double plan::MemoryParts::*bytes;
};
llvm::ArrayRef<MemoryPart> memoryParts();

/// "8.0 billion parameters on 64 x h100-sxm, 128 samples of 8192 tokens a step".
std::string headingOf(const plan::SearchReport &report);

/// A line below a heading that names the software whose habits the prices assume.
void printSoftware(llvm::StringRef software, llvm::raw_ostream &stream);
/// Which plans were compiled to find the first, as a sentence without a full stop. Empty if none was.
std::string comparisonOf(const plan::SearchReport &report);
/// A table of the plans, what a device holds, why the runners-up lost, and the bound.
void printReport(const plan::SearchReport &report, llvm::raw_ostream &stream);
/// Prints a report as one JSON object, with what `more` adds to it.
void printReportJson(const plan::SearchReport &report, llvm::raw_ostream &stream,
                     llvm::function_ref<void(llvm::json::OStream &)> more = nullptr);

/// The attributes of a report, and of one of its plans, in an object that may have more.
void writeReport(const plan::SearchReport &report, llvm::json::OStream &out);
void writePlan(const plan::PlanReport &plan, const plan::SearchReport &report, llvm::json::OStream &out);
/// The attributes "mesh" and "bytes" (or `key`) of an object.
void writeMesh(const plan::Parallelism &shape, llvm::json::OStream &out);
void writeMemory(const plan::MemoryParts &memory, llvm::json::OStream &out, llvm::StringRef key = "bytes");

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_TABLES_PRINTREPORT_H
