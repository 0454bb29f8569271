//===- RecurrenceTensors.h - Sizes and addresses of a recurrent layer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain values that processors and GPUs share. LibraryOps.def says what the tensors hold.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_RECURRENCETENSORS_H
#define DTCC_RUNTIME_KERNELS_RECURRENCETENSORS_H

#include "runtime/abi/RecurrentCell.h"

namespace dtcc::rt {

struct RecurrenceProblem {
  RecurrentCell cell = RecurrentCell::Tanh;
  int64_t steps = 0, samples = 0, units = 0;
  bool reverse = false;

  const RecurrentCellInfo &info() const { return kRecurrentCellInfos[static_cast<uint32_t>(cell)]; }
  int64_t gateCells() const { return info().gates * units; }
  int64_t savedCells() const { return info().saved * units; }
  int64_t stateCells() const { return samples * units; }
  /// The place in time of step number i.
  int64_t time(int64_t i) const { return reverse ? steps - 1 - i : i; }
  /// Gates whose products read the whole state; a gru's last one reads what the reset gate leaves of it.
  int64_t wholeGates() const { return cell == RecurrentCell::Gru ? 2 : info().gates; }
};

/// Addresses of a layer. `start` and `cStart` hold the states before the first step. `bias` is that of gru_reset_after,
/// `read` a gru's workspace of stateCells floats.
struct RecurrenceTensors {
  const float *projected = nullptr, *weight = nullptr, *start = nullptr, *cStart = nullptr, *bias = nullptr;
  float *h = nullptr, *c = nullptr, *gates = nullptr, *read = nullptr;
};

/// Addresses of a layer's gradient. `dstart` and `dcStart` hold the gradients to the state at hand as the steps go
/// back.
struct RecurrenceGradTensors {
  const float *dh = nullptr, *dc = nullptr, *weight = nullptr, *h = nullptr, *start = nullptr, *c = nullptr,
              *cStart = nullptr, *gates = nullptr;
  float *dprojected = nullptr, *dproducts = nullptr, *dstart = nullptr, *dcStart = nullptr, *read = nullptr;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_RECURRENCETENSORS_H
