//===- LearningRate.h - The learning rate of each step -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rate warms up from 0. Then it is constant, or falls by a line or half a cosine, or only over the last steps
// (warmup-stable-decay: Hu et al. 2024, MiniCPM), or as one over the root of the step (Vaswani et al. 2017).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_OPTIONS_LEARNINGRATE_H
#define DTCC_RUNTIME_LAUNCH_OPTIONS_LEARNINGRATE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace dtcc::rt {

struct LearningRate {
  enum Schedule { Constant = 0, Linear = 1, Cosine = 2, WarmupStableDecay = 3, InverseSqrt = 4 };
  /// The words of --lr-schedule, by Schedule.
  static constexpr const char *scheduleNames[] = {"constant", "linear", "cosine", "wsd", "inverse-sqrt"};
  double base = 0;
  Schedule schedule = Constant;
  int64_t warmup = 0;
  /// The rate never falls below it behind the warm-up.
  double least = 0;
  /// Steps that the rate takes to fall; 0: all behind the warm-up, or a tenth of all for WarmupStableDecay.
  int64_t decaySteps = 0;
  /// A first schedule ends at this step, and another one begins behind it, with a warm-up of its own; 0: there is one.
  int64_t restart = 0;

  /// Learning rate of step `step` (from 1) of `steps`. Step w of the warm-up has base * w / warmup; the first step
  /// after the warm-up has `base`.
  double at(int64_t step, int64_t steps) const {
    if (restart > 0 && step > restart)
      return ofOne(step - restart, steps - restart);
    return ofOne(step, restart > 0 ? restart : steps);
  }

private:
  double ofOne(int64_t step, int64_t steps) const {
    if (step <= warmup)
      return base * static_cast<double>(step) / static_cast<double>(warmup);
    const auto first = static_cast<double>(std::max<int64_t>(1, warmup));
    const int64_t behind = std::max<int64_t>(1, steps - warmup);
    switch (schedule) {
    case Linear:
      return fallen(1 - progressOf(step - 1 - warmup, decaySteps > 0 ? decaySteps : behind));
    case Cosine:
      return fallen(
          0.5 * (1 + std::cos(std::numbers::pi * progressOf(step - 1 - warmup, decaySteps > 0 ? decaySteps : behind))));
    case WarmupStableDecay: {
      int64_t falls = std::min(behind, decaySteps > 0 ? decaySteps : std::max<int64_t>(1, steps / 10));
      // The last step is one above the end of the fall, as in a linear schedule.
      return fallen(1 - progressOf(std::max<int64_t>(0, step - 1 - (steps - falls)), falls));
    }
    case InverseSqrt:
      return std::max(least, base * std::sqrt(first / static_cast<double>(std::max<int64_t>(1, step))));
    case Constant:
      break;
    }
    return base;
  }

  static double progressOf(int64_t taken, int64_t steps) {
    return std::min(1.0, static_cast<double>(taken) / static_cast<double>(steps));
  }
  /// From `base` (1) to `least` (0).
  double fallen(double part) const { return least + (base - least) * part; }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_OPTIONS_LEARNINGRATE_H
