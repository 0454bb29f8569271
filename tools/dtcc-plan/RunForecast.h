//===- RunForecast.h - What a whole run takes and costs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_RUNFORECAST_H
#define DTCC_TOOLS_DTCCPLAN_RUNFORECAST_H

#include "planner/search/SearchReport.h"
#include "tools/dtcc-plan/arguments/Arguments.h"
#include "tools/dtcc-plan/show/Show.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// A step, and as many of them as a run needs: of a transformer, a graph or a program.
struct RunForecast {
  std::string heading;
  /// The software whose habits the figures assume.
  std::string software = plan::kOwnSoftware;
  /// Caveat of the figures.
  std::string note;
  double parameters = 0;
  int64_t ranks = 1, microbatches = 1;
  cost::StepSeconds step;
  /// The whole step was measured, so nothing is known of its parts.
  bool measured = false;
  /// Tokens of a step; samples where a model reads no tokens.
  double itemsPerStep = 0;
  std::string items = "tokens";
  /// Share of the 16-bit peak in the model's products.
  std::optional<double> utilisation;
  double memoryBytes = 0, hostBytes = 0;
  /// Bytes of a device, of what kind, and whether it fits them; 0: not known.
  double capacity = 0;
  std::string device;
  bool fits = true;
  /// Items of the run, and dollars a device and hour; 0: not known.
  double run = 0, price = 0;

  double itemsPerSecond() const { return itemsPerStep / step.total(); }
  double seconds() const { return run / itemsPerSecond(); }
  double deviceHours() const { return seconds() / 3600 * double(ranks); }
  /// Takes a step of the best plan of a search.
  void readStep(const plan::SearchReport &report);
  /// --tokens and --price; `missing`: the price if none is given.
  llvm::Error readRun(const Arguments &arguments, double missing);
};

/// "142.8 days", "5.3 hours", "12.0 s".
std::string durationOf(double seconds);

/// Days, device-hours and dollars of the run, as a line and as attributes of an object; nothing without --tokens.
void printRun(const RunForecast &forecast, llvm::raw_ostream &stream);
void writeRun(const RunForecast &forecast, llvm::json::OStream &out);

void printForecast(const RunForecast &forecast, llvm::raw_ostream &stream);
void printForecastJson(const RunForecast &forecast, llvm::raw_ostream &stream);

/// A step of a compiled program, from its commands, as `--info` of it forecasts; `measured` seconds instead, if they
/// are above 0. Fails if its stages wait for each other for ever.
llvm::Expected<RunForecast> forecastProgram(const PlanOrProgram &file, double measured);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_RUNFORECAST_H
