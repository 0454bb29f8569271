//===- RecurrenceOps.cpp - Recurrent layers as library ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/LibraryOps.h"
#include "runtime/kernels/ops/RecurrenceCommand.h"

namespace dtcc::rt {
namespace {

class RecurrenceOp final : public LibraryOp {
public:
  RecurrenceOp(const CheckedOperands &operands, Rank &rank, bool gradient)
      : command(operands, gradient), gradient(gradient),
        layer(command.problem, gradient, vectorKernels(), rank.scratch) {
    command.expectWorkspace(operands);
  }
  void run(Rank &rank, void *const *buffers) override {
    if (gradient)
      layer.run(rank.team, rank.scratch, command.gradTensors(buffers, /*hasWorkspace=*/true));
    else
      layer.run(rank.team, rank.scratch, command.tensors(buffers, /*hasWorkspace=*/true));
  }

private:
  RecurrenceCommand command;
  bool gradient;
  Recurrence layer;
};

} // namespace

DTCC_CPU_OP(RECURRENCE, RecurrenceOp, /*gradient=*/false)
DTCC_CPU_OP(RECURRENCE_GRAD, RecurrenceOp, /*gradient=*/true)

} // namespace dtcc::rt
