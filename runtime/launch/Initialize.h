//===- Initialize.h - Initial values of state ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random initial values are keyed by the seed, the state's name and the element's place
// in the whole tensor: every plan and every number of threads starts from the same
// parameters.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_INITIALIZE_H
#define DTCC_RUNTIME_LAUNCH_INITIALIZE_H

#include "runtime/checkpoint/ModelWeights.h"
#include "runtime/image/Rank.h"

namespace dtcc::rt {

/// Sets the cells of all states that `rank` holds; the arenas are zero before, so
/// padding stays zero. What `weights` has comes from there.
void initializeStates(Rank &rank, uint64_t seed, const ModelWeights &weights);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_INITIALIZE_H
