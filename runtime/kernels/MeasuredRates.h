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

/// FLOP a second of a large product of f32 matrices on the threads of `team`, the best of a few: what a profile calls
/// the peak of processors, which have no data sheet with such a number. Takes some milliseconds and 3 MiB. Must be
/// called by the thread of the team.
double productRate(ThreadTeam &team);

/// Bytes a second at which the threads of the rank read its largest arena on the host, at most 256 MiB of it, the best
/// of a few: what a profile calls the peak of memory. An arena that fits in the caches is read from there. 0 without an
/// arena. Takes some ten milliseconds and no memory. Must be called by the thread of the team.
double readRate(const Rank &rank);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_MEASUREDRATES_H
