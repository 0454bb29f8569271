//===- Fit.h - Constants from measured runs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves the constants of Constants.def towards measured step times, against a pull to
// where they start. Clusters of one kind differ by some 10 % for reasons that no row
// states; each source has an effect of its own in the fit, which is thrown away, so that
// constants explain what differs inside sources. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_VALIDATION_FIT_H
#define DTCC_PLANNER_VALIDATION_FIT_H

#include "planner/cost/Step.h"

namespace dtcc::cost {

struct FitRow {
  StepProblem problem;
  double seconds = 0;
  /// Rows that share an effect: their source and device kind.
  std::string source;
  /// Rows that together weigh as much as one: runs of one model.
  std::string model;
};

struct FitOptions {
  int rounds = 8;
  /// The standard deviation of the logarithm of a row's error, and of a source's effect.
  double rowSpread = 0.08, sourceSpread = 0.10;
  /// A source of n rows weighs as n to this power.
  double sourceWeight = 0.5;
};

/// Robust Gauss-Newton on logarithms from `constants`, pulled to their starts by their
/// spreads.
Constants fitConstants(const std::vector<FitRow> &rows, Constants constants, const FitOptions &options = {});

/// The scales of device and host that explain `rows` best, pulled to 1.
/// The two scales of a machine from a few of its runs, pulled to 1 as far as machines are known to differ:
/// the biases of sources that constants were not fitted on, of their models and of single rows say how far.
Calibration fitCalibration(const std::vector<FitRow> &rows, const Constants &constants);
/// Part of a calibration that carries over to another device kind of the same source, because a source with several
/// device kinds is not equally fast on all of them.
Calibration onOtherDevices(const Calibration &calibration);

/// Quantile `part` (0 to 1) of `values`, linear between them; 0 for none.
double quantile(std::vector<double> values, double part);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_VALIDATION_FIT_H
