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

/// Sizes of a layer. `saved`: cells of a unit that the backward pass reads.
struct RecurrentLayer {
  RecurrentCell cell;
  int32_t reverse;
  int64_t steps, samples, units, gates, saved;
};

/// recurrence_inputs: rows of `gates` begin with what is known before the first step: the projected inputs, or of
/// gru_reset_after those of two gates and the bias of the third. A thread a cell of all steps.
/// recurrence_reset: `read` = what the reset gate leaves of the state. recurrence_step: the functions of a cell, on its
/// inputs and products, which stand in `gates`. Both: step number `step`, a thread a unit of a sample.
struct RecurrenceForward {
  RecurrentLayer layer;
  RecurrenceTensors x;
  int64_t step;
};

/// recurrence_step_grad: gradients to the inputs of step number `step`, and what passes it unchanged of the gradient to
/// its state. recurrence_reset_grad: the same of the reset gate, by the gradient to what it left, `read`. A thread a
/// unit of a sample.
struct RecurrenceBackward {
  RecurrentLayer layer;
  RecurrenceGradTensors x;
  int64_t step;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_RECURRENCE_H
