//===- PrecompiledDialects.h - The headers that every file above the dialects sees -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialects' own headers are as long as MLIR's: passes, front ends, the compiler, tools and
// tests share this second precompiled header. A file still includes what it uses.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_PRECOMPILEDDIALECTS_H
#define DTCC_DIALECTS_PRECOMPILEDDIALECTS_H

#include "dialects/Precompiled.h"
#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#endif // DTCC_DIALECTS_PRECOMPILEDDIALECTS_H
