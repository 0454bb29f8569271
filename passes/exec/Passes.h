//===- Passes.h - Passes to the exec level
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_EXEC_PASSES_H
#define DTCC_PASSES_EXEC_PASSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"

namespace dtcc::exec {
/// Exchanges that may be under way when another one is issued. More would hold more memory.
inline constexpr int64_t kExchangesInFlight = 2;

#define GEN_PASS_DECL
#include "passes/exec/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_PASSES_H
