//===- KernelBuilder.h - What kernels of all processors have in common
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops and addresses of a fused body, found once for all processors, and the pieces of
// code that they emit alike. Which loops run on which threads is a generator's own:
// KernelGenerator for CPUs, GpuKernelGenerator for GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_KERNELBUILDER_H
#define DTCC_PASSES_EXEC_CODEGEN_KERNELBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/exec/codegen/CellEmitter.h"
#include "passes/exec/codegen/KernelSource.h"

namespace dtcc::exec {

/// Rows whose sum is taken before it is added to the column's.
inline constexpr int64_t kRowChunk = 32;

class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, const KernelSource &source)
      : builder(builder), source(source), loc(source.loc), body(source.body), accumulate(source.accumulate) {}

protected:
  /// Finds domain, loops and accesses; fails with a message if the body is not one kernel.
  mlir::LogicalResult collectLoops();
  /// Gives the emitter its buffers (`buffer(i)`: the pointer of the i-th, inputs first) and what
  /// the record of the rank (dtcc_rank, at `rank`) holds. Fails with a message where the body
  /// works on a shard and there is no mesh.
  mlir::LogicalResult bind(CellEmitter &emitter, mlir::Value rank, llvm::function_ref<mlir::Value(unsigned)> buffer);

  /// Numbers of the loops that are reduced, or of the others, outermost first.
  llvm::SmallVector<int64_t> loopsThatAre(bool reduced) const;
  /// number / divisor and number % divisor of a number that is not negative.
  mlir::Value quotient(mlir::Value number, int64_t divisor) { return divide<mlir::arith::DivUIOp>(number, divisor); }
  mlir::Value remainder(mlir::Value number, int64_t divisor) { return divide<mlir::arith::RemUIOp>(number, divisor); }
  /// Indices of `loopNumbers`, outermost first, from a linear number.
  void delinearize(mlir::Value number, llvm::ArrayRef<int64_t> loopNumbers,
                   llvm::SmallVectorImpl<mlir::Value> &indices);
  mlir::scf::ForOp forLoop(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange carried,
                           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> fill);

  /// Neutral element of a reduction: a vector of `lanes`, or a scalar if `lanes` is 0.
  mlir::Value neutral(graph::ReduceOp reduce, int64_t lanes);
  mlir::Value combine(graph::ReduceOp reduce, mlir::Value lhs, mlir::Value rhs);
  /// The reduction of a vector's lanes.
  mlir::Value fold(graph::ReduceOp reduce, mlir::Value vector);
  /// Reductions by the number of reductions that they need before them; a row is passed over once for each level.
  llvm::SmallVector<llvm::SmallVector<graph::ReduceOp>> reductionLevels();

  /// Builds a loop over a row: scalars of the row that it needs stand before it.
  void inRow(CellEmitter &emitter, llvm::function_ref<void()> build);

  /// Numbers and values of the outputs that `which` accepts, all computed before the first is
  /// stored: an output may lie in the memory of an input that another reads.
  using Made = llvm::SmallVector<std::pair<size_t, mlir::Value>>;

  /// Emits the row at `indices` of a row kernel: one pass over it for each level of reductions, then its
  /// scalars, then a pass that stores its cells. What differs between processors is `steps`'.
  using BodyBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange carried)>;
  struct RowSteps {
    int64_t lanes;
    /// A loop over the cells of the row, carrying a vector for each of `reduces`.
    llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::ReduceOp> reduces, mlir::ValueRange carried,
                                                      BodyBuilder fill)>
        loop;
    /// The reduction of the whole row, of a vector that `loop` ended with.
    llvm::function_ref<mlir::Value(graph::ReduceOp reduce, mlir::Value vector)> whole;
    /// Emits stores of the row's scalars.
    llvm::function_ref<void(llvm::function_ref<void()> store)> once;
    /// Stores what was made at the emitter's position.
    llvm::function_ref<void(const Made &made)> store;
  };
  void emitRowPasses(CellEmitter &emitter, llvm::ArrayRef<mlir::Value> indices, const RowSteps &steps);

  Made makeOutputs(CellEmitter &emitter, llvm::function_ref<bool(mlir::Value)> which, bool scalar);
  void storeOutputs(CellEmitter &emitter, const Made &made, bool scalar);

  /// Products and sums of `function` may be one instruction: fewer roundings, never more.
  void contract(mlir::Operation *function);
  /// Operations on cells, and bytes of all buffers.
  double flops() const;
  double bytes() const;

  bool isOutput(mlir::Value value) const { return llvm::is_contained(body.getTerminator()->getOperands(), value); }
  bool isFull(mlir::Value value) const { return domain.isFullValue(value); }

  mlir::OpBuilder &builder;
  const KernelSource &source;
  mlir::Location loc;
  mlir::Block &body;
  llvm::ArrayRef<int64_t> accumulate;

  KernelDomain domain;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<graph::ReduceOp> reductions;
  llvm::SmallVector<KernelLoop> loops;
  llvm::SmallVector<std::pair<mlir::Value, CellAccess>> accesses; // inputs, iotas, and cell indices
  llvm::SmallVector<CellAccess> outputAccesses;
  /// Whether outputs that add start anew; null if there is none.
  mlir::Value firstSlot;
  /// Numbers of iterations have 32 bits: a division of 64 is a subroutine on GPUs.
  bool narrow = false;

private:
  template <typename Op> mlir::Value divide(mlir::Value number, int64_t divisor) {
    mlir::Type type = narrow ? builder.getI32Type() : builder.getI64Type();
    mlir::Value by = mlir::arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, divisor));
    if (!narrow)
      return Op::create(builder, loc, number, by);
    mlir::Value low = mlir::arith::TruncIOp::create(builder, loc, type, number);
    return mlir::arith::ExtUIOp::create(builder, loc, builder.getI64Type(), Op::create(builder, loc, low, by));
  }
  void addAccess(mlir::Value value, CellAccess access, llvm::ArrayRef<int64_t> memoryStrides);
  void collapseLoops();

  /// Domain dimensions in loop order, before collapsing.
  llvm::SmallVector<int64_t> order;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_KERNELBUILDER_H
