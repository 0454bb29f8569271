//===- Verify.cpp - No command sees bytes that it must not -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the final program by the bytes that its commands touch, knowing nothing of
// how it was made: rules V11 and V12 of the design.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "passes/exec/Liveness.h"
#include "passes/exec/Passes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_VERIFY
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {
/// The bytes [begin, end) of an arena.
struct Range {
  StringRef arena;
  int64_t begin = 0, end = 0;
  bool overlaps(const Range &other) const { return arena == other.arena && begin < other.end && other.begin < end; }
};

struct Touch {
  Operation *command;
  BufferOp buffer;
  Range range;
  bool writes;
};

class Verifier {
public:
  Verifier(ProgramOp program, const dist::Mesh &mesh) : program(program), mesh(mesh) {
    for (auto buffer : program.getOps<BufferOp>())
      buffers[buffer.getSymName()] = buffer;
    for (auto op : program.getOps<CommunicatorOp>())
      groups[op.getSymName()] = mesh.product(dist::toAxes(op.getAxes()));
  }
  LogicalResult run() {
    for (auto view : program.getOps<ViewOp>())
      if (failed(check(view)))
        return failure();
    if (failed(checkSharing()))
      return failure();
    for (auto phase : program.getOps<PhaseOp>())
      if (failed(check(phase)))
        return failure();
    return success();
  }

private:
  BufferOp bufferOf(ViewOp view) const { return buffers.lookup(view.getBuffer()); }

  /// Bytes that the view may touch, in any slot and on any rank.
  Range rangeOf(ViewOp view) const {
    BufferOp buffer = bufferOf(view);
    MemRefType type = view.getView().getType();
    int64_t bytes = getSpan(type), begin = buffer.getOffset().value_or(0) + view.getOffset();
    if (view.getBlockOf()) {
      int64_t dim = *view.getBlockDim(), block = type.getShape()[dim] * getStrides(type)[dim];
      bytes += (groups.lookup(*view.getBlockOf()) - 1) * block * getElementBytes(type.getElementType());
    }
    bytes += (mesh.slots() - 1) * view.getSlotStride().value_or(0);
    return {buffer.getArena(), begin, begin + bytes};
  }

  /// A view stays inside its buffer in all slots and on all ranks.
  LogicalResult check(ViewOp view) const {
    BufferOp buffer = bufferOf(view);
    if (!buffer || !buffer.getOffset())
      return view.emitOpError("must name a buffer with an offset: run exec-plan-arena");
    int64_t end = rangeOf(view).end - *buffer.getOffset();
    if (end > int64_t(buffer.getBytes()))
      return view.emitOpError("must stay inside its buffer of ")
             << buffer.getBytes() << " bytes in every slot and on every rank, got: " << end;
    return success();
  }

  /// Buffers that live at the same time have no byte in common.
  LogicalResult checkSharing() {
    Liveness liveness(program);
    SmallVector<std::pair<BufferOp, Interval>> live;
    for (auto buffer : program.getOps<BufferOp>())
      if (Interval interval = liveness.intervalOf(buffer); !interval.empty() && buffer.getBytes())
        live.push_back({buffer, interval});
    llvm::sort(live, [](auto &a, auto &b) { return startOf(a.first) < startOf(b.first); });
    for (size_t i = 0; i < live.size(); ++i)
      for (size_t j = i + 1; j < live.size(); ++j) {
        auto [a, first] = live[i];
        auto [b, second] = live[j];
        if (a.getArena() != b.getArena() || *b.getOffset() >= *a.getOffset() + a.getBytes())
          break;
        if (first.overlaps(second))
          return b.emitOpError("must not share bytes with @")
                 << a.getSymName() << ": both are in use at command " << std::max(first.begin, second.begin);
      }
    return success();
  }
  static std::pair<StringRef, int64_t> startOf(BufferOp buffer) {
    return {buffer.getArena(), int64_t(*buffer.getOffset())};
  }

  LogicalResult check(PhaseOp phase) {
    for (auto view : phase.getOps<ViewOp>())
      if (failed(check(view)))
        return failure();
    SmallVector<CommandOpInterface> commands(phase.getOps<CommandOpInterface>());
    SmallVector<Touch> touches;
    for (CommandOpInterface command : commands) {
      size_t first = touches.size();
      for (Access access : accessesOf(command)) {
        touches.push_back({command, bufferOf(access.view), rangeOf(access.view), access.writes});
        if (access.reads && failed(checkWritten(touches.back())))
          return failure();
      }
      for (const Touch &touch : llvm::drop_begin(touches, first))
        if (touch.writes)
          written.insert(touch.buffer);
    }
    // One stream is an order.
    llvm::SmallDenseSet<uint64_t> streams;
    for (CommandOpInterface command : commands)
      streams.insert(command.getStream());
    return streams.size() < 2 ? success() : checkRaces(commands, orderOf(commands), touches);
  }

  /// Per command, those that have ended when it begins: of its stream, by events, and theirs.
  static SmallVector<llvm::BitVector> orderOf(MutableArrayRef<CommandOpInterface> commands) {
    SmallVector<llvm::BitVector> before(commands.size(), llvm::BitVector(commands.size()));
    llvm::DenseMap<uint64_t, unsigned> lastOfStream;
    llvm::DenseMap<Operation *, unsigned> numbers;
    for (auto [i, command] : llvm::enumerate(commands)) {
      auto follow = [&](unsigned other) {
        before[i] |= before[other];
        before[i].set(other);
      };
      if (auto last = lastOfStream.find(command.getStream()); last != lastOfStream.end())
        follow(last->second);
      for (Value event : command.getAfter())
        if (auto known = numbers.find(event.getDefiningOp()); known != numbers.end())
          follow(known->second);
      lastOfStream[command.getStream()] = i;
      numbers[command] = i;
    }
    return before;
  }

  LogicalResult checkRaces(MutableArrayRef<CommandOpInterface> commands, ArrayRef<llvm::BitVector> before,
                           ArrayRef<Touch> touches) const {
    llvm::DenseMap<Operation *, unsigned> numbers;
    for (auto [i, command] : llvm::enumerate(commands))
      numbers[command] = i;
    for (size_t i = 0; i < touches.size(); ++i)
      for (size_t j = i + 1; j < touches.size(); ++j) {
        unsigned a = numbers.lookup(touches[i].command), b = numbers.lookup(touches[j].command);
        if (a == b || before[b].test(a) || !(touches[i].writes || touches[j].writes) ||
            !touches[i].range.overlaps(touches[j].range))
          continue;
        auto diagnostic = touches[j].command->emitOpError("must wait for a command of another stream: one writes what "
                                                          "the other uses, bytes ")
                          << std::max(touches[i].range.begin, touches[j].range.begin) << " to "
                          << std::min(touches[i].range.end, touches[j].range.end) << " of @" << touches[i].range.arena;
        diagnostic.attachNote(touches[i].command->getLoc()) << "the other command";
        return failure();
      }
    return success();
  }

  /// What is read has been written by some command before, or by the host.
  LogicalResult checkWritten(Touch read) const {
    if (read.buffer.getPersistent())
      return success();
    if (written.contains(read.buffer))
      return success();
    return read.command->emitOpError("must not read what nobody wrote: buffer @") << read.buffer.getSymName();
  }

  ProgramOp program;
  const dist::Mesh &mesh;
  llvm::StringMap<BufferOp> buffers;
  llvm::StringMap<int64_t> groups;
  llvm::DenseSet<BufferOp> written;
};

struct Verify : dtcc::exec::impl::VerifyBase<Verify> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      auto mesh = getOperation().lookupSymbol<dist::MeshOp>(program.getMeshAttr());
      if (!mesh) {
        program.emitOpError("must name a dist.mesh, got: ") << program.getMeshAttr();
        return signalPassFailure();
      }
      dist::Mesh plain = dist::toMesh(mesh);
      if (failed(Verifier(program, plain).run()))
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
