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
#include "passes/exec/bufferize/Lifetimes.h"
#include "passes/exec/bufferize/Place.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace dtcc::exec {

class Bufferizer;

/// Rule by which bufferization lowers one kind of op.
struct OpRule {
  /// Emits the commands of an op and places its results.
  mlir::LogicalResult (*lower)(mlir::Operation *, Bufferizer &);
  /// The results may be views of the operands.
  bool isView = false;
  /// Rows of operands and results may stand apart; products want those that are wide to start at aligned addresses.
  bool takesRows = false, wantsAlignedRows = false;
  /// Results may be written with any strides; and added to what is there.
  bool writesStrided = false;
  bool accumulates = false;
  /// Hands the destinations of results on to operands.
  void (*aim)(mlir::Operation *, Bufferizer &) = nullptr;
};

/// The rule of an op, or null.
const OpRule *findRule(mlir::Operation *op);

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
};

class Bufferizer {
public:
  /// `symbols` is the symbol table of the module before anything is bufferized.
  Bufferizer(spmd::ProgramOp source, mlir::ModuleOp module, const mlir::SymbolTable &symbols,
             const TargetMemory &target);
  /// Emits the exec.program before the source, which is left as it was.
  mlir::LogicalResult run();

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
  /// New memory, dense.
  Place allocate(mlir::ShapedType type, llvm::StringRef name, bool persistent = false);
  /// Whether nobody reads the memory of `value` after `op`.
  bool diesAt(mlir::Value value, mlir::Operation *op) const;
  /// The bucket of that name.
  spmd::BucketOp bucketOp(mlir::FlatSymbolRefAttr symbol) const {
    return symbols.lookup<spmd::BucketOp>(symbol.getAttr());
  }
  /// Storage of a bucket; with `flat` axes, the shard of this rank.
  Place bucket(mlir::FlatSymbolRefAttr symbol);

  // For rules: commands. All are emitted at the end of the phase.
  mlir::Value view(const Place &place);
  /// `place` itself if dense, else a copy.
  Place dense(const Place &place, llvm::StringRef name);
  void copy(const Place &from, const Place &to, llvm::StringRef name = "copy");
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
  /// The symbol of the group over `axes` (rank axes), or of the coordinates `members` of the one axis.
  mlir::FlatSymbolRefAttr communicator(mlir::ArrayAttr axes, llvm::ArrayRef<int64_t> members = {});
  /// The symbol of a channel of messages over a rank axis.
  mlir::FlatSymbolRefAttr channel(mlir::StringAttr axis, int64_t number);
  /// The group over `axes` as a parameter of a library op; a unit attribute if there are no axes.
  mlir::Attribute coordinate(std::optional<mlir::ArrayAttr> axes);
  /// Memory to which the host writes a model input.
  Place inputPlace(spmd::InputOp op);
  /// Memory at which the host writes or reads a scalar.
  Place scalarPlace(ScalarKind kind);
  /// Lets the host read a scalar that lies in a bucket.
  void showScalar(ScalarKind kind, const Place &place);

  bool packsRows() const { return targetMemory.packsRows; }
  const spmd::Mesh &mesh() const { return theMesh; }
  mlir::OpBuilder &builder() { return commands; }
  mlir::ModuleOp module() { return theModule; }
  /// A name no symbol of the module or the program has.
  mlir::StringAttr uniqueName(llvm::StringRef prefix);

private:
  mlir::LogicalResult lowerPhase(spmd::PhaseOp phase);
  mlir::StringAttr addBuffer(llvm::StringRef name, int64_t bytes, llvm::StringRef arena, bool persistent);
  ArenaOp arena(llvm::StringRef name, bool host = false);

  spmd::ProgramOp source;
  mlir::ModuleOp theModule;
  const mlir::SymbolTable &symbols;
  TargetMemory targetMemory;
  spmd::Mesh theMesh;
  Lifetimes lifetimes;
  ProgramOp program;
  /// Insertion points: before the first phase, for arenas, buffers and the host's inputs and scalars; and in the phase.
  mlir::OpBuilder declarations, commands;
  mlir::Operation *firstPhase = nullptr;
  /// The phase that is being lowered.
  mlir::Block *current = nullptr;
  /// The location of the op that is being lowered, which its commands take over.
  mlir::Location here;

  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Value, Destination> destinations;
  struct BufferInfo {
    bool persistent;
    BufferOp op;
    llvm::SmallVector<mlir::Value> values;
  };
  llvm::DenseMap<mlir::StringAttr, BufferInfo> buffers;
  llvm::StringMap<ArenaOp> arenas;
  llvm::StringMap<CommunicatorOp> communicators;
  llvm::DenseMap<mlir::StringAttr, Place> bucketPlaces;
  std::optional<Place> scalars[7];
  llvm::StringMap<Place> inputs;
  CommunicatorOp &communicator(const llvm::Twine &name, mlir::ArrayAttr axes, mlir::DenseI64ArrayAttr members);
  std::map<KernelKey, std::string> kernels; /* -> symbol */
  llvm::StringSet<llvm::MallocAllocator> names;
  /// Least number that may still be free for each prefix of uniqueName().
  llvm::StringMap<unsigned> firstFree;
  BufferOp workspace;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_BUFFERIZER_H
