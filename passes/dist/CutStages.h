//===- CutStages.h - Where a pipeline cuts a step into stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_DIST_CUTSTAGES_H
#define DTCC_PASSES_DIST_CUTSTAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/cost/Machine.h"

namespace dtcc::dist {

/// The origins at which stages 1 .. stages - 1 of a differentiated `step` begin: of all
/// cuts of the forward ops in program order into `stages` runs that each read a trainable
/// parameter, at places where few bytes cross, one whose slowest stage takes least (work
/// and messages, forward and twice that backward). Fails with a message that says how many
/// pieces there are.
mlir::FailureOr<std::vector<int64_t>> cutStages(mlir::func::FuncOp step, int64_t stages, const cost::Machine &machine);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_CUTSTAGES_H
