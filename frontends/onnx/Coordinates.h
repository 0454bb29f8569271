//===- Coordinates.h - Which cells indices name
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathers and scatters of one cell or of slices read their indices the same way.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_COORDINATES_H
#define DTCC_FRONTENDS_ONNX_COORDINATES_H

#include "frontends/onnx/Rules.h"

namespace dtcc::onnx {

/// Indices counted from the end become counted from the start. `checked`: values that are not known now come from an
/// input whose bounds the runtime checks.
Tensor fromStart(Emitter &emit, const Tensor &indices, int64_t size, bool checked = false);

/// The coordinates of the places in operand 0 that the last dimension of operand 1 lists. The first `batchDims`
/// dimensions of both are the same ones.
mlir::FailureOr<llvm::SmallVector<Tensor>> pointCoordinates(OpBinder &node, int64_t batchDims);

/// The cells that operand 1 names in operand 0: their own, but along `axis`.
struct ElementPlaces {
  int64_t axis = 0;
  /// One a dimension of operand 0, [i..] each.
  llvm::SmallVector<Tensor> coordinates;
  /// Where all lines along the axis have the same indices: these, of one dimension; else null.
  Tensor rows;
  /// Whether operands 0 and 1 have the same lines.
  bool sameLines = false;
  /// Sizes of operands 0 and 1 along the axis, and cells of operand 1.
  int64_t size = 0, count = 0, cells = 0;

  /// Comparing a few indices with all places keeps lines apart, so that ranks may hold lines of their own; flattened
  /// dimensions would not. (A router's picks.)
  bool isFew() const { return sameLines && size * count <= kMostCompared; }
};
mlir::FailureOr<ElementPlaces> elementPlaces(OpBinder &node);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_COORDINATES_H
