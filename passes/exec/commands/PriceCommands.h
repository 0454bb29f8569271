//===- PriceCommands.h - What each command takes on a machine
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_COMMANDS_PRICECOMMANDS_H
#define DTCC_PASSES_EXEC_COMMANDS_PRICECOMMANDS_H

#include "mlir/Pass/Pass.h"
#include "planner/cluster/Machine.h"

namespace dtcc::exec {

/// Attribute of each command: the seconds that exec-price-commands estimates (f64).
inline constexpr llvm::StringLiteral kSecondsAttr = "seconds";

/// exec-price-commands for a machine that no --cluster names.
std::unique_ptr<mlir::Pass> createPriceCommandsFor(const cost::Machine &machine);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_PRICECOMMANDS_H
