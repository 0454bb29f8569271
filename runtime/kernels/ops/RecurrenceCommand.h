//===- RecurrenceCommand.h - Commands of recurrent layers, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_RECURRENCECOMMAND_H
#define DTCC_RUNTIME_KERNELS_OPS_RECURRENCECOMMAND_H

#include "runtime/kernels/Recurrence.h"
#include "runtime/kernels/ops/CheckedOperands.h"

namespace dtcc::rt {

/// Operands and attributes of a recurrent layer or of its gradient, checked.
class RecurrenceCommand {
public:
  RecurrenceCommand(const CheckedOperands &operands, bool gradient);
  /// Fails unless there is a workspace where the cell needs one.
  void expectWorkspace(const CheckedOperands &operands) const;

  /// The tensors of a command whose operands lie at `buffers`. Workspaces count only where `hasWorkspace`.
  RecurrenceTensors tensors(void *const *buffers, bool hasWorkspace) const;
  RecurrenceGradTensors gradTensors(void *const *buffers, bool hasWorkspace) const;

  RecurrenceProblem problem;
  /// Products may round their factors to 10 bits of mantissa.
  bool mayRound = false;

private:
  /// Whether the layer has a state c, a gradient to it from outside, and products of their own gradient.
  bool hasC = false, hasDc = false, resetAfter = false;
  /// Operands without the workspace.
  size_t required = 0;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_RECURRENCECOMMAND_H
