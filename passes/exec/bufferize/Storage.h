//===- Storage.h - Memory that a program declares -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arenas and buffers, and the buffers with a meaning of their own: buckets of state, the
// model's inputs, the scalars of a step. The host writes and reads the latter two.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_BUFFERIZE_STORAGE_H
#define DTCC_PASSES_EXEC_BUFFERIZE_STORAGE_H

#include "dialects/exec/Exec.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/exec/bufferize/Place.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace dtcc::exec {

/// Makes the view of a place.
mlir::Value createView(mlir::OpBuilder &builder, mlir::Location loc, const Place &place);

class Storage {
public:
  /// `symbols` is the symbol table of the module before anything is bufferized. If `usesHost`, buckets that are
  /// offloaded lie in the host's arena.
  Storage(mlir::ModuleOp module, const mlir::SymbolTable &symbols, bool usesHost);
  /// Declares in `program` from now on: at its end, or in front of its first phase once there is one.
  void setProgram(ProgramOp newProgram, const spmd::Mesh &newMesh) { program = newProgram, mesh = newMesh; }
  void setFirstPhase(PhaseOp phase) { firstPhase = phase; }

  /// New memory, dense. Only memory that is not persistent may be reused by other values.
  Place allocate(mlir::ShapedType type, llvm::StringRef name, bool persistent = false);
  /// Whether the memory of a buffer keeps its content when all values in it are dead.
  bool isPersistent(mlir::StringAttr buffer) const { return buffers.find(buffer)->second.persistent; }
  BufferOp bufferOp(mlir::StringAttr buffer) const { return buffers.find(buffer)->second.op; }
  /// The bucket of that name.
  spmd::BucketOp bucketOp(mlir::FlatSymbolRefAttr symbol) const {
    return symbols.lookup<spmd::BucketOp>(symbol.getAttr());
  }
  /// Storage of a bucket; with `flat` axes, the shard of this rank.
  Place bucket(mlir::FlatSymbolRefAttr symbol);
  /// Whether other values use the memory of a bucket too, at other times of a step.
  bool isTransient(mlir::FlatSymbolRefAttr symbol) const;
  /// Whether cells between the states of a transient bucket may hold anything. The caller writes them: for gradients
  /// of early updates, which are made once, later calls return false.
  bool takeGaps(mlir::FlatSymbolRefAttr symbol) {
    return isTransient(symbol) &&
           (bucketOp(symbol).getRole() == spmd::BucketRole::Transient || withoutGaps.insert(symbol.getAttr()).second);
  }
  /// Memory to which the host writes a model input.
  Place inputPlace(spmd::InputOp op);
  /// Memory at which the host writes or reads a scalar.
  Place scalarPlace(ScalarKind kind, llvm::ArrayRef<int64_t> shape = {});
  /// Lets the host read a scalar that lies in a bucket.
  void showScalar(ScalarKind kind, const Place &place);
  /// Scratch memory of library ops. Commands run one after the other, so all of them share one.
  Place workspace(int64_t bytes);
  /// A name no symbol of the module or the program has.
  mlir::StringAttr uniqueName(llvm::StringRef prefix);

private:
  mlir::StringAttr addBuffer(llvm::StringRef name, int64_t bytes, llvm::StringRef arena, bool persistent);
  ArenaOp arena(llvm::StringRef name, bool host);
  /// Inserts behind the declarations made so far.
  mlir::OpBuilder declarations();

  const mlir::SymbolTable &symbols;
  bool usesHost;
  ProgramOp program;
  spmd::Mesh mesh;
  PhaseOp firstPhase;
  struct BufferInfo {
    bool persistent;
    BufferOp op;
  };
  llvm::DenseMap<mlir::StringAttr, BufferInfo> buffers;
  llvm::StringMap<ArenaOp> arenas;
  llvm::DenseMap<mlir::StringAttr, Place> buckets;
  llvm::DenseSet<mlir::StringAttr> withoutGaps;
  std::optional<Place> scalars[getMaxEnumValForScalarKind() + 1];
  /// Buffers of inputs by name and layout: one input may be read by micro-batch, and whole.
  llvm::DenseMap<std::pair<mlir::StringAttr, mlir::Type>, Place> inputs;
  BufferOp scratch;
  llvm::StringSet<llvm::MallocAllocator> names;
  /// Least number that may still be free for each prefix of uniqueName().
  llvm::StringMap<unsigned> firstFree;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_STORAGE_H
