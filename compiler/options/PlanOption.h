//===- PlanOption.h - The ranks that --plan names
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_OPTIONS_PLANOPTION_H
#define DTCC_COMPILER_OPTIONS_PLANOPTION_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace dtcc {

/// The ranks of the mesh of the plan file `path`; nothing if there is none that can be read: readPlanFile
/// (compiler/planning/PlanFile.h) reports why.
std::optional<int64_t> ranksOfPlanFile(llvm::StringRef path);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_PLANOPTION_H
