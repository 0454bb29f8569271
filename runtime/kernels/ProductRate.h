//===- ProductRate.h - The arithmetic that a rank is capable of - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_PRODUCTRATE_H
#define DTCC_RUNTIME_KERNELS_PRODUCTRATE_H

#include "runtime/core/ThreadTeam.h"

namespace dtcc::rt {

/// FLOP a second of a large product of f32 matrices on the threads of `team`, the best of a few: what a profile calls
/// the peak of processors, which have no data sheet with such a number. Takes some milliseconds and 3 MiB. Must be
/// called by the thread of the team.
double productRate(ThreadTeam &team);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_PRODUCTRATE_H
