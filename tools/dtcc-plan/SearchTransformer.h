//===- SearchTransformer.h - Plans of a model that is given by its sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_SEARCHTRANSFORMER_H
#define DTCC_TOOLS_DTCCPLAN_SEARCHTRANSFORMER_H

#include "tools/dtcc-plan/Arguments.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

llvm::ArrayRef<llvm::StringRef> searchTransformerValues();
llvm::ArrayRef<llvm::StringRef> searchTransformerFlags();

/// `dtcc-plan search --transformer=..`: the best plans of all sizes of axes, micro-batches,
/// schedules, ZeRO stages and recomputations, with the bound below which none is. An error
/// says what is wrong, or what the nearest plan lacks where none fits.
llvm::Error searchTransformer(const Arguments &arguments, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_SEARCHTRANSFORMER_H
