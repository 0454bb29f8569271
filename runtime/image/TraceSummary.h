//===- TraceSummary.h - Where the time of a step goes ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_TRACESUMMARY_H
#define DTCC_RUNTIME_IMAGE_TRACESUMMARY_H

#include "runtime/image/Trace.h"

namespace dtcc::rt {

/// The fastest arithmetic and memory of a rank, with which a summary compares.
struct RankPeak {
  double flops = 0;   /* a second; 0: not known */
  std::string source; /* "of the device", for people */
  double bytes = 0;   /* a second, read from memory; 0: not known */
};

/// Two tables of the commands in a trace of one rank, the longest first: by modules of the model, where those that
/// differ by a number alone are one row ("4 x blocks.*.up"), and by kind of op. Columns: time of a step, its share of
/// the time in commands, the rate of arithmetic, its share of `peak`, and the share of the bound: a command takes at
/// least its FLOP at the peak of arithmetic, and its bytes at that of memory. A last line has the sum of all bounds,
/// and how many times that the commands took that compute. Evaluations do not count. Empty without events of a step.
std::string summaryText(const Image &image, const Trace &trace, const RankPeak &peak);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_TRACESUMMARY_H
