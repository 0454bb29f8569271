//===- CellEmitter.h - The code of one cell of a kernel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the value of any tensor of a fused body at the current position of the loops:
// as a vector of lanes along the innermost loop, or as a scalar where it is the same
// for a whole row. Loops are the generator's business; addresses are this one's.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_CELLEMITTER_H
#define DTCC_PASSES_EXEC_CODEGEN_CELLEMITTER_H

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/exec/codegen/KernelDomain.h"

namespace dtcc::exec {

/// Bytes that one access of a GPU moves at most.
inline constexpr unsigned kVectorBytes = 16;

/// One loop of the kernel: a run of domain dimensions that every buffer walks with one stride.
struct KernelLoop {
  int64_t size = 1;
  bool reduced = false;
};

/// Address of a cell of a buffer, or value of an index: `start + sum of loop index * stride`.
struct CellAccess {
  explicit CellAccess(mlir::Type elementType = {}, llvm::ArrayRef<int64_t> strides = {})
      : elementType(elementType), strides(strides) {}

  mlir::Type elementType;
  llvm::SmallVector<int64_t> strides; // one a loop, 0 where it does not walk it
  mlir::Value pointer;                // null for an index
  int64_t start = 0;                  // of an index
  mlir::Value offset;                 // of an index: where the shard starts, if not at 0
};

/// Position of the loops. `indices` has one i64 per loop; the last loop's is that of the
/// first lane. `mask` is null if all lanes are in range.
struct Position {
  llvm::SmallVector<mlir::Value> indices;
  mlir::Value mask;
  /// An i1, or null for true: whether the vector counts at all. One that does not may be read, never be written.
  mlir::Value counts = {};
};

class CellEmitter {
public:
  /// `lanes`: cells of a vector. With `aligned`, a vector in memory stands at a multiple of its size, or of
  /// kVectorBytes.
  CellEmitter(mlir::OpBuilder &builder, mlir::Location loc, const KernelDomain &domain, int64_t lanes,
              bool aligned = false)
      : builder(builder), loc(loc), domain(domain), lanes(lanes), aligned(aligned) {}

  llvm::DenseMap<mlir::Value, CellAccess> accesses;
  /// Index of the cells of IndexedCellOps in the whole tensor, by their result.
  llvm::DenseMap<mlir::Value, CellAccess> indices;
  mlir::Value seed, step;

  /// Starts a row: forgets its scalars. They are emitted before `innerLoop` while that is set.
  void startRow() { rowCells.clear(); }
  void setInnerLoop(mlir::Operation *loop) { innerLoop = loop; }
  /// Vectors by the value of the body.
  using Cells = llvm::DenseMap<mlir::Value, mlir::Value>;
  /// Moves to another position: forgets the vectors, except what is `known` of it.
  void moveTo(Position position, Cells known = Cells()) {
    here = std::move(position);
    cells = std::move(known);
  }
  const Position &position() const { return here; }
  const Cells &known() const { return cells; }

  /// The vector of `value` at the current position.
  mlir::Value vectorOf(mlir::Value value);
  /// The scalar of a row value in the current row.
  mlir::Value scalarOf(mlir::Value value);
  /// Makes the result of a reduction known in the rest of the row.
  void setScalar(mlir::Value value, mlir::Value scalar) { rowCells[value] = scalar; }

  /// Stores a vector (or, for `scalar`, one cell) through an access; `accumulate` as in
  /// generateKernel, with `firstSlot` an i1 that is true in slot 0.
  void storeVector(const CellAccess &access, mlir::Value vector, int64_t accumulate, mlir::Value firstSlot);
  void storeScalar(const CellAccess &access, mlir::Value scalar, int64_t accumulate, mlir::Value firstSlot);

  mlir::Value constantI64(int64_t value);
  mlir::VectorType lanesOf(mlir::Type elementType) const { return mlir::VectorType::get({lanes}, elementType); }

private:
  mlir::Value splat(mlir::Value scalar);
  /// Offset of the first lane, in elements.
  mlir::Value offsetOf(const CellAccess &access);
  mlir::Value addressOf(const CellAccess &access, mlir::Value offset);
  mlir::Value laneOffsets(const CellAccess &access, mlir::Value offset);
  mlir::Value loadVector(const CellAccess &access);
  mlir::Value loadScalar(const CellAccess &access);
  unsigned vectorAlignment(mlir::Type memory) const;
  mlir::Value iotaVector(const CellAccess &access, mlir::Type elementType);
  mlir::Value cellOf(mlir::Operation *op, mlir::ValueRange operands, bool vector);
  mlir::Value constantOf(graph::ConstantOp op, bool vector);
  bool isRowLevel(mlir::Value value) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const KernelDomain &domain;
  int64_t lanes;
  bool aligned;
  Position here;
  mlir::Operation *innerLoop = nullptr;
  Cells cells;
  llvm::DenseMap<mlir::Value, mlir::Value> rowCells;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_CELLEMITTER_H
