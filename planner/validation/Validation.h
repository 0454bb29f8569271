//===- Validation.h - Forecasts against measured runs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prices the rows of tables and says how far off the prices are. Errors are logarithms of
// predicted over measured, in percent. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_VALIDATION_VALIDATION_H
#define DTCC_PLANNER_VALIDATION_VALIDATION_H

#include "planner/validation/Fit.h"
#include "planner/validation/MeasuredRun.h"
#include <map>
#include <set>

namespace dtcc::cost {

struct ScoredRun {
  size_t table = 0, row = 0;
  MeasuredRun run;
  /// 0 where the run is out of scope.
  double seconds = 0, memoryGib = 0;
  bool fits = false;

  /// Whether the run is in scope, has a measured time, and is not counted separately.
  bool isTimed() const { return run.scope.empty() && run.apart.empty() && run.seconds > 0; }
  bool hasMemory() const { return run.scope.empty() && run.apart.empty() && run.memoryGib > 0 && !run.outOfMemory; }
  double error() const;
  double memoryError() const;
};

struct Errors {
  size_t rows = 0;
  double median = 0, p90 = 0, bias = 0;
};
/// Quantiles of the absolute values. The bias is the median of the signed values.
Errors errorsOf(const std::vector<double> &values);

/// Plans of one model and machine, of which only the plan differs.
struct PlanGroup {
  std::string source;
  std::vector<std::string> ids;
};
/// Excess of the measured time of the plan that is forecast as fastest over the best measured time.
struct Regret {
  size_t groups = 0;
  double mean = 0, worst = 0;
};

class Validation {
public:
  /// False, and `error` says what is wrong: a cell that is no number.
  bool add(RunTable table, std::string &error);
  bool addGroups(const RunTable &table, std::string &error);

  void price(const Constants &constants, const Calibration &calibration = {});
  /// Fits two scales on the first `count` timed runs of each source, takes these out of scope
  /// and prices the others with them.
  void calibrate(const Constants &constants, size_t count);
  /// Every source priced by constants that its runs had no part in; and then, if `count`, calibrated.
  void priceLeftOut(const Constants &start, size_t count = 0);
  /// Rows from which `fitConstants` learns, without those of the sources in `without`.
  std::vector<FitRow> fitRows(const std::set<std::string> &without = {}) const;
  void priceOnly(const Constants &constants, const std::set<std::string> &sources);

  std::set<std::string> sources() const;
  /// Errors of the sources' runs in all tables, or in one.
  Errors errors(const std::set<std::string> &sources, std::optional<size_t> table = {}) const;
  Errors memoryErrors(const std::set<std::string> &sources) const;
  /// Errors of the runs that are set apart, by the reason and the source.
  std::map<std::string, Errors> errorsApart() const;
  std::map<std::string, Regret> regrets() const;
  /// Reasons and how many rows they keep out.
  std::map<std::string, size_t> outOfScope() const;

  std::vector<RunTable> tables;
  std::vector<ScoredRun> runs;
  std::vector<PlanGroup> groups;

private:
  void calibrateOne(const std::string &source, const Constants &constants, size_t count);
  void price(ScoredRun &run, const Constants &constants, const Calibration &calibration);
};

/// Sources split in two parts, to fit on one and test on the other: clusters, frameworks and
/// generations of devices stand on both sides.
const std::set<std::string> &firstHalf();

} // namespace dtcc::cost

#endif // DTCC_PLANNER_VALIDATION_VALIDATION_H
