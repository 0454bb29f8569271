//===- Info.h - What is inside a program ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_INFO_H
#define DTCC_RUNTIME_LAUNCH_INFO_H

#include "runtime/launch/Forecast.h"

namespace dtcc::rt {

/// The text of --info: mesh, memory, work, forecast, defaults, inputs and the plan, a line each.
std::string infoText(const Image &image, const std::optional<Forecast> &forecast);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_INFO_H
