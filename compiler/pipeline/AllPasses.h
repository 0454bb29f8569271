//===- AllPasses.h - The list of passes of dtcc
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where passes are registered: a new folder of passes adds its row in
// AllPasses.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PIPELINE_ALLPASSES_H
#define DTCC_COMPILER_PIPELINE_ALLPASSES_H

namespace dtcc {
/// Registers dtcc's passes and upstream's general ones (canonicalize, cse, ...).
void registerAllPasses();
} // namespace dtcc

#endif // DTCC_COMPILER_PIPELINE_ALLPASSES_H
