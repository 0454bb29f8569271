//===- FactorCommands.cpp - Commands of Adafactor, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/updates/FactorCommands.h"

namespace dtcc::rt {

FactoredBucket::FactoredBucket(const BucketSegments &segments, const Rank &rank, int64_t communicator) {
  for (const dtcc_segment *segment : segments.all) {
    tensors.push_back({factorsOf(*segment, rank), factors, shareLayout(*segment, rank, communicator)});
    factors += tensors.back().shape.rows + tensors.back().shape.columns;
  }
}

FactorSquaresCommand::FactorSquaresCommand(const CheckedOperands &operands, const Rank &rank) {
  operands.expect(3, 2);
  size = operands.dense(0, "grad", -1).sizes[0];
  operands.scalar(1, "scale");
  const int64_t communicator = operands.communicator(1);
  bucket = {bucketSegments(operands, rank, operands.integer(0), communicator, size), rank, communicator};
  operands.dense(2, "squares", bucket.factors);
}

AdafactorCommand::AdafactorCommand(const CheckedOperands &operands, const BucketSegments &segments, const Rank &rank,
                                   int64_t communicator)
    : bucket(segments, rank, communicator), beta2Decay(operands.real(2)), eps1(static_cast<float>(operands.real(3))) {
  operands.dense(squares, "squares", bucket.factors);
  operands.dense(factors, "factors", bucket.factors);
}

} // namespace dtcc::rt
