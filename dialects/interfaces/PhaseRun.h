//===- PhaseRun.h - One entry of the step of a stage
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of a pipeline's stages say in which order their phases run, and for which
// micro-batch, by a list of strings, "forward 3": the spmd and exec levels alike.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_PHASERUN_H
#define DTCC_DIALECTS_INTERFACES_PHASERUN_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <vector>

namespace dtcc {

struct PhaseRun {
  std::string phase;
  int64_t slot = 0;
  std::string str() const { return phase + " " + std::to_string(slot); }
};

/// The runs that `actions` lists; those that say something else are left out.
std::vector<PhaseRun> toPhaseRuns(mlir::ArrayAttr actions);
mlir::ArrayAttr fromPhaseRuns(mlir::MLIRContext *context, llvm::ArrayRef<PhaseRun> runs);

/// Checks the attribute `actions` of a program: every entry names one of its phases
/// (symbol and repeat), and a slot below its repeat.
mlir::LogicalResult verifyPhaseRuns(mlir::Operation *program, mlir::ArrayAttr actions,
                                    llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> phases);

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_PHASERUN_H
