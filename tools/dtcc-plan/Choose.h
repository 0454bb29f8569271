//===- Choose.h - Which cluster, and how much of it, for a training run
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each cluster is searched whole and with a half, a quarter, .. of its nodes, down to the fewest that hold the model.
// With the tokens of the run that gives days and dollars of each; a deadline or a budget picks one.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_CHOOSE_H
#define DTCC_TOOLS_DTCCPLAN_CHOOSE_H

#include "tools/dtcc-plan/arguments/Arguments.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// The options with values that printChoice takes.
std::vector<llvm::StringRef> chooseValues();

/// Prints a table of the clusters, or JSON, and the one that is cheapest within --deadline or fastest within --budget.
/// An error if none is, or if a cluster cannot be read.
llvm::Error printChoice(const Arguments &arguments, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_CHOOSE_H
