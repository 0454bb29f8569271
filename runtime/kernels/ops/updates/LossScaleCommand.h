//===- LossScaleCommand.h - Commands of the loss scale, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_UPDATES_LOSSSCALECOMMAND_H
#define DTCC_RUNTIME_KERNELS_OPS_UPDATES_LOSSSCALECOMMAND_H

#include "runtime/kernels/ops/CheckedOperands.h"

namespace dtcc::rt {

/// Operands and attributes of `loss_scale_adjust`, checked.
struct LossScaleCommand {
  explicit LossScaleCommand(const CheckedOperands &operands) {
    operands.expect(6, 3);
    operands.scalar(0, "finite", DTCC_I32);
    operands.scalar(1, "step", DTCC_I64);
    operands.scalar(2, "scale"), operands.scalar(3, "streak"), operands.scalar(4, "skipped");
    operands.scalar(5, "taken", DTCC_I64);
    growth = operands.real(0), backoff = operands.real(1), interval = operands.integer(2);
    if (!(growth >= 1) || !(backoff > 0 && backoff <= 1) || interval < 1)
      operands.reject("growth must be at least 1, backoff in (0, 1], interval at least 1, got: ", growth, ", ", backoff,
                      ", ", interval);
  }

  double growth, backoff;
  int64_t interval;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_UPDATES_LOSSSCALECOMMAND_H
