//===- Bufferizer.h - From local tensors to commands over buffers -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two walks over an spmd.program. The first, backwards, looks for *destinations*:
// values whose producers may write straight into someone else's storage (a range of
// a gradient bucket, a part of a stack). The second, forwards, gives every value its
// place (its destination, a view of an operand, the memory of an operand that dies,
// or a new buffer) and emits the commands. What an op needs stands in one row of
// the table of OpRules.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_BUFFERIZE_BUFFERIZER_H
#define DTCC_PASSES_EXEC_BUFFERIZE_BUFFERIZER_H

#include "dialects/exec/Exec.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/exec/bufferize/Communicators.h"
#include "passes/exec/bufferize/Lifetimes.h"
#include "passes/exec/bufferize/OpRule.h"
#include "passes/exec/bufferize/Storage.h"
#include <map>

namespace dtcc::exec {

/// Sums over micro-batches, as library ops and kernels take them.
enum Accumulate : int64_t { Overwrite = 0, Add = 1, AddUnlessFirstSlot = 2 };

/// Properties of memory that differ by target (passes/exec/Target.h).
struct TargetMemory {
  /// Rows wait in one piece to be sent to experts.
  bool packsRows = false;
  /// Library ops have no workspace of their own.
  bool plansWorkspace = false;
  /// Whether host memory is separate from device memory, so that buckets and saved activations can be offloaded to it.
  bool usesHost = false;
  /// Alignment of wide rows in bytes (rowBytes()).
  int64_t rowAlignment = 0;
  /// Sums over images are sums of a product for each, where a copy of all would be one.
  bool splitsSums = false;
  /// Convolutions of halves read and write images and kernels whose channels lie last.
  bool channelsLast = false;
};

class Bufferizer {
public:
  /// `symbols` is the symbol table of the module before anything is bufferized.
  Bufferizer(spmd::ProgramOp source, mlir::ModuleOp module, const mlir::SymbolTable &symbols,
             const TargetMemory &target);
  /// Emits the exec.program before the source, which is left as it was.
  mlir::LogicalResult run();

  // For rules: what the program declares.
  Storage storage;
  Communicators communicators;

  /// Identity of a generated kernel.
  using KernelKey = std::vector<const void *>;

  // For rules: where values lie.
  struct Destination {
    Place place;
    int64_t accumulate = Overwrite;
  };
  const Place &placeOf(mlir::Value value) const { return places.find(value)->second; }
  void setPlace(mlir::Value value, const Place &place);
  /// The destination that the first walk found, if any.
  std::optional<Destination> destinationOf(mlir::Value value) const;
  /// Gives `value` a destination if its producer can write there.
  void aim(mlir::Value value, const Place &place, int64_t accumulate);
  /// Returns the destination of `result`, and allocates one if it has none. For ops such as concat, whose operands fill
  /// parts of one result.
  Destination ensureDestination(mlir::Value result);
  /// A place for a result: its destination (which must not accumulate), or new memory.
  Place place(mlir::Value result);
  /// As place(), but reuses the memory of `operand` if its last use is `op` and it is dense, or dense but for the
  /// distance of its rows.
  Place placeOver(mlir::Value result, mlir::Value operand, mlir::Operation *op);
  /// New memory, dense but for the rows of matrices.
  Place allocateRows(mlir::Value value);
  /// Whether nobody reads the memory of `value` after `op`.
  bool diesAt(mlir::Value value, mlir::Operation *op) const;
  /// Whether the memory of `value` waits for the backward pass.
  bool waits(mlir::Value value) const { return lifetimes.waits(value); }

  // For rules: commands. All are emitted at the end of the phase.
  mlir::Value view(const Place &place);
  /// `place` itself if dense, else a copy.
  Place dense(const Place &place, llvm::StringRef name);
  void copy(const Place &from, const Place &to, llvm::StringRef name = "copy");
  /// A copy of `place` in memory of its own.
  Place copied(const Place &place, llvm::StringRef name);
  /// A place whose part for each micro-batch a view can show. A buffer that waits for another phase has memory for each
  /// micro-batch in flight, and a view steps through the one or the other.
  Place toCutByTime(const Place &whole);
  /// Writes or adds a value that was computed elsewhere to its destination.
  mlir::LogicalResult store(const Place &from, const Destination &to, mlir::Location loc);
  void fill(const Place &place, mlir::TypedAttr value);
  /// `ins`, `outs`: views. Flops are those of `op`'s work. A workspace of its own only where the target plans none.
  LibraryOp library(mlir::Operation *op, llvm::StringRef mnemonic, mlir::ValueRange ins, mlir::ValueRange outs,
                    mlir::ArrayRef<mlir::Attribute> parameters, bool updates = false, int64_t workspaceBytes = 0);
  CollectiveOp collective(CollectiveKind kind, Reduction reduction, mlir::ArrayAttr axes, const Place &in,
                          const Place &out, llvm::ArrayRef<int64_t> members = {});
  /// Emits a kernel of `body`; inputs then outputs of `func`'s buffers stand in these places.
  mlir::LogicalResult kernel(mlir::Location loc, llvm::StringRef name, mlir::Block &body, mlir::ArrayRef<Place> inputs,
                             mlir::ArrayRef<Destination> outputs, mlir::ArrayRef<int64_t> inPlace);
  /// A command of a hand-made llvm.func.
  void callKernel(mlir::StringRef symbol, mlir::ArrayRef<Place> ins, mlir::ArrayRef<Place> outs,
                  mlir::ArrayRef<bool> accumulates = {});

  bool packsRows() const { return targetMemory.packsRows; }
  bool plansWorkspace() const { return targetMemory.plansWorkspace; }
  bool splitsSums() const { return targetMemory.splitsSums; }
  bool channelsLast() const { return targetMemory.channelsLast; }
  const spmd::Mesh &mesh() const { return theMesh; }
  mlir::OpBuilder &builder() { return commands; }
  mlir::ModuleOp module() { return theModule; }

private:
  mlir::LogicalResult lowerPhase(spmd::PhaseOp phase);
  /// Whether what a phase leaves to others lies there for each micro-batch in flight.
  bool keepsSlots(spmd::PhaseOp phase);

  spmd::ProgramOp source;
  mlir::ModuleOp theModule;
  TargetMemory targetMemory;
  spmd::Mesh theMesh;
  Lifetimes lifetimes;
  ProgramOp program;
  /// Inserts at the end of the phase that is being lowered.
  mlir::OpBuilder commands;
  /// The phase that is being lowered.
  mlir::Block *current = nullptr;
  /// The location of the op that is being lowered, which its commands take over.
  mlir::Location here;

  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Value, Destination> destinations;
  /// Buffers that wait for another phase, and buffers of which each micro-batch reads a part. None is both.
  llvm::SmallDenseSet<mlir::StringAttr> kept, cutByTime;
  /// Values that lie in a buffer.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> valuesOf;
  std::map<KernelKey, std::string> kernels; /* -> symbol */
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_BUFFERIZER_H
