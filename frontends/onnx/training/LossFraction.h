//===- training/LossFraction.h - A loss as one sum over another -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_TRAINING_LOSSFRACTION_H
#define DTCC_FRONTENDS_ONNX_TRAINING_LOSSFRACTION_H

#include "mlir/IR/Builders.h"
#include <optional>

namespace dtcc::onnx {

/// Two scalars whose quotient is a loss.
struct LossFraction {
  mlir::Value sum, count;
};

/// A scalar loss as a quotient of sums over samples, if it is one: a multiple of such a quotient, or a sum of some over
/// the same count. The count depends on data alone, such as a mask's sum or the number of labels that are not ignored.
/// Both parts may then be added up over micro-batches, and their quotient is the loss of the whole batch. New ops are
/// made at `builder`. Nothing if the loss has no such form, and then no op is made.
std::optional<LossFraction> findLossFraction(mlir::OpBuilder &builder, mlir::Value loss);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_TRAINING_LOSSFRACTION_H
