//===- HostTensor.h - Whole tensors for the reference evaluators
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value type of every oracle: a dense row-major tensor that computes in f64
// (floats) or i64 (integers and booleans). Evaluating "in f32" means rounding every
// float result to f32 after each op; "in f64" means not rounding. Meant for tiny
// tensors: correctness, not speed.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_HOSTTENSOR_H
#define DTCC_DIALECTS_INTERFACES_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace dtcc {

struct HostTensor {
  llvm::SmallVector<int64_t> shape;
  mlir::Type elementType;
  /// Floats live in `floats`, all other types in `ints`; the other is empty.
  std::vector<double> floats;
  std::vector<int64_t> ints;

  HostTensor() = default;
  /// Zero filled.
  HostTensor(llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

  bool isFloat() const { return mlir::isa<mlir::FloatType>(elementType); }
  int64_t size() const;
  int64_t rank() const { return shape.size(); }
  /// Row-major strides in elements.
  llvm::SmallVector<int64_t> strides() const;

  /// Reads a constant attribute of static shape (dense, splat or resource).
  static mlir::FailureOr<HostTensor> fromAttribute(mlir::ElementsAttr attr);
  mlir::DenseElementsAttr toAttribute() const;
  /// Rounds floats to the precision of the element type (to nearest even).
  void round();
};

/// Calls `body(index, position)` for every index of `shape`, last dimension fastest;
/// `position` counts from 0. A rank-0 shape has one index, a shape with a 0 none.
void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>, int64_t)> body);
/// Row-major strides in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);
/// The position of an index, given strides.
int64_t positionOf(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides);

/// Values that an op may ask for while it is evaluated.
struct EvaluationContext {
  uint64_t seed = 0;
  int64_t step = 1;
  /// The mesh coordinate of an axis and its size, when the op runs on a shard.
  llvm::function_ref<std::pair<int64_t, int64_t>(llvm::StringRef)> axis;
};

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_HOSTTENSOR_H
