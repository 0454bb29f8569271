//===- Validate.h - Forecasts against measured runs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_MEASURED_VALIDATE_H
#define DTCC_TOOLS_DTCC_PLAN_MEASURED_VALIDATE_H

#include "mlir/Support/LLVM.h"
#include "planner/validation/Validation.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

struct ValidateOptions {
  /// Tables of runs, or folders of them; tables of plan groups are told by their columns.
  std::vector<std::string> paths;
  std::string output;
  size_t calibrate = 0;
  bool json = false, fit = false;
};

/// Prices the runs in `options.paths` and prints the errors; with an output, writes the rows with
/// predictions there. Failure after one message; then nothing is written.
mlir::LogicalResult validate(const ValidateOptions &options, llvm::raw_ostream &stream);

/// Prints the errors of the forecasts by source, each table under its title.
void printValidation(const cost::Validation &validation, llvm::raw_ostream &stream);
void printValidationJson(const cost::Validation &validation, llvm::raw_ostream &stream);
/// One line: "left out of the fit: median, p90".
void printErrors(llvm::StringRef title, const cost::Errors &errors, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_MEASURED_VALIDATE_H
