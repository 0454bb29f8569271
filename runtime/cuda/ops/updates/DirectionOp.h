//===- DirectionOp.h - Directions of steps as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_UPDATES_DIRECTIONOP_H
#define DTCC_RUNTIME_CUDA_OPS_UPDATES_DIRECTIONOP_H

#include "runtime/cuda/ops/Operands.h"
#include "runtime/cuda/ops/updates/GradSquaresLaunch.h"

namespace dtcc::rt::cuda {

/// An op that makes the direction of a step. Operands begin with the gradients, their scale, the rate and the number of
/// the step, and end with the direction; attributes begin with the bucket and the communicator of its shares.
class DirectionOp : public CudaOp {
public:
  void run(Rank &rank, const Call &call) final {
    squares.run(rank, call, call.buffers[0]);
    direct(call);
  }

protected:
  DirectionOp(const CheckedOperands &operands, const Rank &rank, Launcher &launcher, size_t required, size_t attributes)
      : size(sizeOf(operands, required, attributes)), communicator(operands.communicator(1)),
        segments(bucketSegments(operands, rank, operands.integer(0), communicator, size)),
        squares(segments, communicator, DTCC_F32, rank, launcher) {}
  /// Checks the operands of optimizers whose slots have a number for each cell: p and the slots.
  void expectSlots(const CheckedOperands &operands, size_t slots) const {
    operands.dense(4, "p", size);
    for (size_t i = 0; i < slots; ++i)
      operands.dense(5 + i, "slot", size);
  }
  virtual void direct(const Call &call) = 0;

  int64_t size, communicator;
  BucketSegments segments;

private:
  static int64_t sizeOf(const CheckedOperands &operands, size_t required, size_t attributes) {
    operands.expect(required, attributes);
    const int64_t size = operands.dense(0, "grad", -1).sizes[0];
    operands.scalar(1, "scale");
    operands.scalar(2, "lr");
    operands.scalar(3, "step", DTCC_I64);
    operands.dense(required - 1, "direction", size);
    return size;
  }

  GradSquaresLaunch squares;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_UPDATES_DIRECTIONOP_H
