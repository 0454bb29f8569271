//===- Compare.h - Two plans side by side
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_COMPARE_H
#define DTCC_TOOLS_DTCCPLAN_COMPARE_H

#include "tools/dtcc-plan/arguments/Arguments.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

std::vector<llvm::StringRef> compareValues();

/// `dtcc-plan compare A B`: plans, programs or shapes side by side, with differences and ratios. With
/// --transformer and --cluster what each takes and holds is priced too.
llvm::Error printComparison(const Arguments &arguments, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_COMPARE_H
