//===- OptionHelp.h - --help of a program --------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The --help of a program looks like dtcc's, because the options that CLI11 knows become rows of
// runtime/abi/console/OptionRow.h.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_ARGUMENTS_OPTIONHELP_H
#define DTCC_RUNTIME_LAUNCH_ARGUMENTS_OPTIONHELP_H

#include "runtime/abi/console/OptionRow.h"

#include <CLI/CLI.hpp>
#include <vector>

namespace dtcc::rt {

/// Options that are shown, in the order of their declarations.
std::vector<OptionRow> optionRows(const CLI::App &app);

/// Makes `app` print its help from these rows, and gives it --version.
void setHelp(CLI::App &app);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_ARGUMENTS_OPTIONHELP_H
