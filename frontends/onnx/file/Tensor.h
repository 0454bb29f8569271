//===- Tensor.h - A value during import
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An ONNX value as the importer knows it: always by its static type, often by more. A
// known value need not exist as an op until somebody needs it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FILE_TENSOR_H
#define DTCC_FRONTENDS_ONNX_FILE_TENSOR_H

#include "dialects/interfaces/HostTensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <memory>
#include <optional>

namespace dtcc::onnx {

/// Tensors of more cells are never folded: masks must stay predicates.
constexpr int64_t kMaxFoldedCells = 16 * 1024;
/// Largest number of cells of a tensor. Its bytes, and sums of such sizes, fit 63 bits.
constexpr int64_t kMostCells = int64_t(1) << 56;
/// Pairs of a cell that is written and a place that are compared where only the data tell which is which.
constexpr int64_t kMostPairs = int64_t(1) << 24;
/// f32 holds every count up to this.
constexpr int64_t kMostExactCount = int64_t(1) << 24;

/// An integer tensor whose cell at index i is offset + sum of steps[d] * i[d]: positions, and constants of any size.
/// Booleans are 0 or 1 and have no steps.
struct Affine {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> steps;
  bool isSplat() const {
    return llvm::all_of(steps, [](int64_t step) { return step == 0; });
  }
};

struct DataPart;

/// Everything known of a value. Handles share it, so that an op is made once.
struct TensorData {
  mlir::RankedTensorType type;
  /// The SSA value, if one was made.
  mlir::Value value;
  /// All cells, row-major (at most kMaxFoldedCells).
  std::shared_ptr<const HostTensor> constant;
  /// The one value of all cells, of rank 0.
  std::shared_ptr<const HostTensor> splat;
  std::optional<Affine> affine;
  /// An index tensor made by joining coordinates along its last dimension: these, without that dimension.
  llvm::SmallVector<std::shared_ptr<TensorData>, 0> coordinates;
  /// An unsigned integer of so many bits, held in a wider signed type; 0: of the type itself.
  int unsignedBits = 0;
  /// A mean: the value is sum / count.
  std::shared_ptr<TensorData> sum, count;
  /// Set on a part whose size only the data tell (emit/DataParts.h).
  std::shared_ptr<const DataPart> part;
};

/// Null when making it failed (the error is out).
using Tensor = std::shared_ptr<TensorData>;

inline llvm::ArrayRef<int64_t> shapeOf(const Tensor &x) { return x->type.getShape(); }
inline int64_t rankOf(const Tensor &x) { return x->type.getRank(); }
inline mlir::Type elementOf(const Tensor &x) { return x->type.getElementType(); }
inline bool isFloat(const Tensor &x) { return mlir::isa<mlir::FloatType>(elementOf(x)); }

/// sum += factor * value; false: that needs more than 64 bits.
bool accumulate(int64_t &sum, int64_t factor, int64_t value);
/// Product of sizes; every Tensor passed checkedSize.
int64_t cellsOf(llvm::ArrayRef<int64_t> shape);
/// The product, or nothing if a size is negative or the product above kMostCells.
std::optional<int64_t> checkedSize(llvm::ArrayRef<int64_t> shape);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FILE_TENSOR_H
