//===- RoundBF16.h - Conversions to bf16 for processors that have none -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For x86 processors without AVX-512 BF16, which are most, LLVM converts f32 to bf16 cell by cell, by calls of
// `__truncsfbf2`. GCC has this function since its version 13, and compilers that users link with may be older.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_EMIT_ROUNDBF16_H
#define DTCC_COMPILER_EMIT_ROUNDBF16_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace dtcc {

/// Rewrites conversions of f32 and of integers to bf16, of vectors too, to the integer arithmetic of
/// runtime/core/HalfFloat.h, if `target` has no instruction for them. Functions must have their target's features as
/// attributes. A function with such a conversion is compiled without AVX-512, where LLVM gave wrong numbers for this
/// arithmetic in masked loops.
void expandBF16Rounding(llvm::Module &module, const llvm::TargetMachine &target);

} // namespace dtcc

#endif // DTCC_COMPILER_EMIT_ROUNDBF16_H
