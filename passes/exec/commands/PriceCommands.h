//===- PriceCommands.h - What each command takes on a machine
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_COMMANDS_PRICECOMMANDS_H
#define DTCC_PASSES_EXEC_COMMANDS_PRICECOMMANDS_H

#include "llvm/ADT/StringRef.h"

namespace dtcc::exec {

/// Attribute of each command: the seconds that exec-price-commands estimates (f64).
inline constexpr llvm::StringLiteral kSecondsAttr = "seconds";

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_PRICECOMMANDS_H
