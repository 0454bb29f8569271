//===- Forecast.h - The forecast of a step, on null devices -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forecast of a program's step on the machine that it was compiled for. The executor walks the
// program's own commands for one rank of each stage on null devices.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_FORECAST_H
#define DTCC_RUNTIME_LAUNCH_FORECAST_H

#include "runtime/abi/StepClock.h"
#include "runtime/image/Image.h"

#include <optional>
#include <string>

namespace dtcc::rt {

class Forecast {
public:
  /// Nothing if the program says of no machine how long its commands take on it. Throws Error if the step never ends.
  static std::optional<Forecast> of(const Image &image);

  /// Seconds of a step.
  double seconds() const { return clock.end(); }
  /// Parts of the seconds of a step.
  StepClock::Parts parts() const { return clock.busiest(); }
  /// "forecast 1.27 ms a step on 8 x h100-sxm: ..", and a line for each part, for --info.
  std::string text() const;
  /// The step as a trace for Perfetto: a process for a rank of each stage, a thread for each stream.
  std::string trace() const;

private:
  Forecast(const Image &image, StepClock clock) : image(image), clock(std::move(clock)) {}

  const Image &image;
  StepClock clock;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_FORECAST_H
