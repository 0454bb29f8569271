//===- Known.h - What is known of a value at import
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes, positions, masks and small constants are known while the graph is built. They
// are read here, from the value alone; nothing is emitted.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_KNOWN_H
#define DTCC_FRONTENDS_ONNX_EMIT_KNOWN_H

#include "frontends/onnx/file/Tensor.h"

namespace dtcc::onnx {

/// All cells, if they are known and few.
std::shared_ptr<const HostTensor> knownCells(const Tensor &x);
std::optional<Affine> knownAffine(const Tensor &x);
/// The one value of all cells.
std::optional<double> knownSplat(const Tensor &x);
/// Whether all cells are 0 or 1: a boolean cast to integers.
bool isFlag(const Tensor &x);
/// The type with the elements of `x` and another shape.
inline mlir::RankedTensorType typeLike(const Tensor &x, llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(shape, elementOf(x));
}

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_KNOWN_H
