//===- PhaseRun.h - One entry of the step of a stage
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of a pipeline's stages say in which order their phases run, and for which
// micro-batch: #spmd.runs, at the spmd and exec levels alike.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_PHASERUN_H
#define DTCC_DIALECTS_INTERFACES_PHASERUN_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace dtcc {

struct PhaseRun {
  mlir::StringAttr phase;
  int64_t slot = 0;
  /// "forward 3".
  std::string str() const { return (phase.getValue() + " " + llvm::Twine(slot)).str(); }
  bool operator==(const PhaseRun &) const = default;
};
inline llvm::hash_code hash_value(const PhaseRun &run) { return llvm::hash_combine(run.phase, run.slot); }

/// The text of a list of runs: [forward 0, backward 0].
mlir::FailureOr<llvm::SmallVector<PhaseRun>> parsePhaseRuns(mlir::AsmParser &parser);
void printPhaseRuns(mlir::AsmPrinter &printer, llvm::ArrayRef<PhaseRun> runs);

/// Checks the attribute `actions` of a program: every entry names one of its phases
/// (symbol and repeat), and a slot below its repeat.
mlir::LogicalResult verifyPhaseRuns(mlir::Operation *program, llvm::ArrayRef<PhaseRun> runs,
                                    llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> phases);

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_PHASERUN_H
