//===- LearningRate.h - The learning rate of each step -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warm-up from 0, then constant, or down to 0 at the last step by a line or half a
// cosine.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_LEARNINGRATE_H
#define DTCC_RUNTIME_LAUNCH_LEARNINGRATE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace dtcc::rt {

struct LearningRate {
  enum Schedule { Constant = 0, Linear = 1, Cosine = 2 };
  double base = 0;
  Schedule schedule = Constant;
  int64_t warmup = 0;

  /// Learning rate of step `step` (from 1) of `steps`. Step w of the warm-up has base * w / warmup; the first step
  /// after the warm-up has `base`.
  double at(int64_t step, int64_t steps) const {
    if (step <= warmup)
      return base * static_cast<double>(step) / static_cast<double>(warmup);
    double progress =
        static_cast<double>(step - 1 - warmup) / static_cast<double>(std::max<int64_t>(1, steps - warmup));
    progress = std::min(progress, 1.0);
    switch (schedule) {
    case Linear:
      return base * (1 - progress);
    case Cosine:
      return base * 0.5 * (1 + std::cos(std::numbers::pi * progress));
    case Constant:
      break;
    }
    return base;
  }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_LEARNINGRATE_H
