//===- MeasuredRates.h - What a rank is capable of ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_MEASUREDRATES_H
#define DTCC_RUNTIME_KERNELS_MEASUREDRATES_H

#include "runtime/image/Rank.h"

namespace dtcc::rt {

struct ProductRate {
  double flops;    // a second
  dtcc_dtype type; // of the operands
};

/// FLOP a second of a large product of matrices on the threads of the rank, the best of a few: what a profile calls the
/// peak of processors, which have no data sheet with such a number. Its operands have the type of those of the image's
/// largest product, f32 if there is none. Takes some milliseconds and 3 MiB. Must be called by the thread of the team.
ProductRate productRate(const Rank &rank);

/// Bytes a second at which the threads of the rank read its largest arena on the host, at most 256 MiB of it, the best
/// of a few: what a profile calls the peak of memory. An arena that fits in the caches is read from there. 0 without an
/// arena. Takes some ten milliseconds and no memory. Must be called by the thread of the team.
double readRate(const Rank &rank);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_MEASUREDRATES_H
