//===- ProductWidth.cpp - In what type an op multiplies
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/ProductWidth.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace dtcc;

cost::Width dtcc::spmd::productWidth(Operation *op) {
  double wide = 0, narrow = 0;
  for (Value operand : op->getOperands()) {
    auto type = cast<ShapedType>(operand.getType());
    if (auto element = dyn_cast<FloatType>(type.getElementType()))
      (element.getWidth() > 16 ? wide : narrow) += double(type.getNumElements());
  }
  return wide > narrow ? cost::Width::F32 : cost::Width::B16;
}
