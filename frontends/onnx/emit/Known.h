//===- Known.h - Reads properties of values that are known at import
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes, positions, masks and small constants are known while the graph is built. These functions read them from the
// value alone, and emit nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_KNOWN_H
#define DTCC_FRONTENDS_ONNX_EMIT_KNOWN_H

#include "frontends/onnx/file/Tensor.h"

namespace dtcc::onnx {

/// All cells, if they are known and few; else null.
std::shared_ptr<const HostTensor> knownCells(const Tensor &x);
/// The affine function of the index that gives each cell, if it is known.
std::optional<Affine> knownAffine(const Tensor &x);
/// The value of all cells, if they are known to be equal.
std::optional<double> knownSplat(const Tensor &x);
/// Whether all cells are 0 or 1: a boolean cast to integers.
bool isFlag(const Tensor &x);
/// The type with the elements of `x` and another shape.
inline mlir::RankedTensorType typeLike(const Tensor &x, llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(shape, elementOf(x));
}

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_KNOWN_H
