//===- Bytes.h - Memory that elements and tensors take
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_BYTES_H
#define DTCC_DIALECTS_INTERFACES_BYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace dtcc {

/// Bytes of one element in memory; a boolean takes one.
inline int64_t getElementBytes(mlir::Type element) { return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8); }

/// Bytes of all elements, which lie one beside the other; the shape must be static.
inline int64_t getBytes(mlir::ShapedType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_BYTES_H
