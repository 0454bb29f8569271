//===- Finish.h - From the built graph to the contract
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function returns its loss as (sum, count); states learn from the graph whether
// they train, and inputs what they are for.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FINISH_H
#define DTCC_FRONTENDS_ONNX_FINISH_H

#include "frontends/onnx/Importer.h"

namespace dtcc::onnx {

/// Completes the function that the nodes were imported into. Failure after one message.
mlir::LogicalResult finishFunction(Importer &importer);

/// The loss that the command line names; its labels become an input of the function.
mlir::FailureOr<Tensor> attachLoss(Importer &importer);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FINISH_H
