//===- Memory.h - What fits, and on how few devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_MEMORY_H
#define DTCC_TOOLS_DTCCPLAN_MEMORY_H

#include "tools/dtcc-plan/arguments/Arguments.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

std::vector<llvm::StringRef> memoryValues();

/// `dtcc-plan memory`: what a device holds under each stage of ZeRO and each kind of
/// recomputation, which of them fit, and the fewest devices that hold the model.
llvm::Error printMemory(const Arguments &arguments, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_MEMORY_H
