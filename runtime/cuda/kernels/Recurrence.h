//===- Recurrence.h - Parameters of the kernels of recurrent layers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_RECURRENCE_H
#define DTCC_RUNTIME_CUDA_KERNELS_RECURRENCE_H

#include "runtime/kernels/RecurrenceTensors.h"

namespace dtcc::rt::cuda {

constexpr int recurrenceThreads = 256;

/// Sizes of a layer. Gates from `wholeGates` on read what the reset gate leaves of the state.
struct RecurrentLayer {
  RecurrentCell cell;
  int32_t reverse;
  int64_t steps, samples, units, gates, saved, wholeGates;
};

/// recurrence: a block a sample.
struct RecurrenceForward {
  RecurrentLayer layer;
  RecurrenceTensors x;
};

/// recurrence_grad: a block a sample.
struct RecurrenceBackward {
  RecurrentLayer layer;
  RecurrenceGradTensors x;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_RECURRENCE_H
