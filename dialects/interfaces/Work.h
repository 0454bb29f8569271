//===- Work.h - How much an op computes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_WORK_H
#define DTCC_DIALECTS_INTERFACES_WORK_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace dtcc {

/// Returns the floating point operations of `op` at the sizes that its types have (WorkOpInterface::getFlops over the
/// factors of its factor map), or nothing if the op does not say.
std::optional<double> flopsOf(mlir::Operation *op);

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_WORK_H
