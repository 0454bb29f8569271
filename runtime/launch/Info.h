//===- Info.h - What is inside a program ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_INFO_H
#define DTCC_RUNTIME_LAUNCH_INFO_H

#include "runtime/abi/console/OptionRow.h"
#include "runtime/launch/Forecast.h"
#include "runtime/launch/options/Options.h"

namespace dtcc::rt {

/// The text of --info: mesh, memory, work, forecast, the learning rate and seed of a run with `options`, inputs, a
/// table of what was fixed when compiled beside the options of a run, and the plan.
std::string infoText(const Image &image, const std::optional<Forecast> &forecast, const Options &options);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_INFO_H
