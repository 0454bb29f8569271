//===- StageExchanges.h - Ops that exchange something with other stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DTCC_PASSES_SPMD_PROGRAM_STAGEEXCHANGES_H
#define DTCC_PASSES_SPMD_PROGRAM_STAGEEXCHANGES_H

#include "dialects/spmd/Spmd.h"
#include "planner/schedule/ExchangeProgram.h"

namespace dtcc::spmd {

/// Returns the communication of `op` with other stages over `axis`: a message, or a reduction over all `stages`.
/// Returns nothing if `op` stays within its stage.
std::optional<plan::StageExchange> exchangeOf(mlir::Operation *op, llvm::StringRef axis, int64_t stages);

/// Returns all communication of a program with other stages, in the order of its step. `ops` receives the op of each,
/// by phase.
plan::ExchangeProgram exchangesOf(ProgramOp program, int64_t stages,
                                  std::vector<std::vector<mlir::Operation *>> *ops = nullptr);

/// Collects the communication of all stages of a pipeline, lets `settle` change it, and passes each op its own entry by
/// `tell`. Does nothing if the step is no pipeline.
void settleExchanges(mlir::ModuleOp module, llvm::function_ref<void(std::vector<plan::ExchangeProgram> &)> settle,
                     llvm::function_ref<void(mlir::Operation *, const plan::StageExchange &)> tell);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PROGRAM_STAGEEXCHANGES_H
