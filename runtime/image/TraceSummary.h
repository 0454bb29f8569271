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

/// Two tables of the commands in a trace of one rank, the longest first: by modules of the model, where those that
/// differ by a number alone are one row ("blocks.*.up"), and by kind of op. Columns: time of a step, its share of the
/// time in commands, the rate of arithmetic, and its share of the device's peak if that is known. Empty without events.
std::string summaryText(const Image &image, const Trace &trace);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_TRACESUMMARY_H
