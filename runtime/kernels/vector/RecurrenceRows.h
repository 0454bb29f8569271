//===- RecurrenceRows.h - A step of a recurrent layer for one sample
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plain description, without functions: it is read by code of every instruction set (see Simd.h). All rows have
// `units` adjacent cells, those of several gates lie one behind the other in the order of RecurrentCells.def.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_RECURRENCEROWS_H
#define DTCC_RUNTIME_KERNELS_VECTOR_RECURRENCEROWS_H

#include "runtime/abi/RecurrentCell.h"

namespace dtcc::rt {

/// The forward step. `gates` arrive as the inputs of the functions and leave as the saved values.
struct RecurrentRow {
  int64_t units;
  /// The projected inputs, of which gru_reset_after reads the last gate.
  const float *projected;
  float *gates;
  const float *before, *cBefore;
  float *h, *c;
  /// The part of the state that the reset gate of a gru lets through.
  float *read;
};

/// The backward step. dprojected may be gates.
struct RecurrentGradRow {
  int64_t units;
  const float *gates, *before, *c, *cBefore;
  /// Gradients of this step's h and c by others than the next step; dc may be null.
  const float *dh, *dc;
  /// Gradients to h and c after the step, from the steps behind it. They leave as those to h and c before it, without
  /// the products.
  float *carried, *cCarried;
  float *dprojected, *dproducts;
  /// Gradient to what a gru's reset gate left of the state.
  const float *dread;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_VECTOR_RECURRENCEROWS_H
