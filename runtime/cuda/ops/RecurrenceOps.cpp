//===- RecurrenceOps.cpp - Recurrent layers as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Recurrence.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/kernels/ops/RecurrenceCommand.h"

namespace dtcc::rt::cuda {
namespace {

class RecurrenceOp final : public CudaOp {
public:
  RecurrenceOp(const CheckedOperands &operands, Rank &, Launcher &launcher, bool gradient)
      : command(operands, gradient), gradient(gradient),
        kernel(launcher, "Recurrence", gradient ? "recurrence_grad" : "recurrence") {
    const RecurrenceProblem &p = command.problem;
    layer = {p.cell, p.reverse, p.steps, p.samples, p.units, p.info().gates, p.info().saved, p.wholeGates()};
  }
  void run(Rank &, const Call &call) override {
    if (gradient)
      kernel(call, layer.samples, recurrenceThreads,
             RecurrenceBackward{layer, command.gradTensors(call.buffers, /*hasWorkspace=*/false)});
    else
      kernel(call, layer.samples, recurrenceThreads,
             RecurrenceForward{layer, command.tensors(call.buffers, /*hasWorkspace=*/false)});
  }

private:
  RecurrenceCommand command;
  bool gradient;
  RecurrentLayer layer;
  Kernel kernel;
};

} // namespace

DTCC_CUDA_OP(RECURRENCE, RecurrenceOp, /*gradient=*/false)
DTCC_CUDA_OP(RECURRENCE_GRAD, RecurrenceOp, /*gradient=*/true)

} // namespace dtcc::rt::cuda
