//===- Verify.cpp - Checks the memory that the commands of a program touch -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the final program by the bytes that its commands touch, knowing nothing of
// how it was made: rules V11 to V14 of docs/verification.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/spmd/Spmd.h"
#include "passes/exec/MachinePass.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/Liveness.h"
#include "passes/exec/commands/Runs.h"
#include "planner/schedule/Schedule.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_VERIFY
#include "passes/exec/Passes.h.inc"
#include <tuple>
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
  /// Whether this range may overlap `other`, which comes later in the order by arena and first byte.
  bool reaches(const Range &other) const { return arena == other.arena && other.begin < end; }
};

struct Touch {
  Operation *command;
  BufferOp buffer;
  Range range;
  bool writes;
};

class Verifier {
public:
  Verifier(ProgramOp program, const spmd::Mesh &mesh) : program(program), mesh(mesh), slotMaps(program) {
    for (auto buffer : program.getOps<BufferOp>())
      buffers[buffer.getSymName()] = buffer;
    for (auto op : program.getOps<CommunicatorOp>())
      groups[op.getSymName()] = mesh.product(spmd::toAxes(op.getAxes()));
    for (auto arena : program.getOps<ArenaOp>())
      if (arena.getHost())
        hostArenas.insert(arena.getSymName());
  }
  LogicalResult run() {
    for (auto view : program.getOps<ViewOp>())
      if (failed(check(view)))
        return failure();
    if (failed(checkSharing()) || failed(checkHost()))
      return failure();
    for (auto phase : program.getOps<PhaseOp>())
      if (failed(check(phase)))
        return failure();
    return checkSlots();
  }

private:
  /// V9: a run reads what its own micro-batch left, and not what another one has written over it since.
  LogicalResult checkSlots() {
    if (!program.getActions())
      return success();
    struct Touched {
      CommandOpInterface first;
      BufferOp buffer;
      SlotMap slots;
      /// Tells virtual stages apart that share the buffer; null where one has it for itself.
      StringAttr order;
      bool reads, writes;
    };
    SmallVector<PhaseOp> phases(program.getOps<PhaseOp>());
    SmallVector<SmallVector<Touched>> touched(phases.size());
    for (auto [number, phase] : llvm::enumerate(phases)) {
      llvm::DenseMap<BufferOp, size_t> known;
      for (auto command : phase.getOps<CommandOpInterface>())
        for (Access access : accessesOf(command)) {
          BufferOp buffer = bufferOf(access.view);
          auto [entry, isNew] = known.try_emplace(buffer, touched[number].size());
          if (isNew)
            touched[number].push_back(
                {command, buffer, slotMaps.of(access.view), slotOrderOf(access.view), access.reads, false});
          touched[number][entry->second].writes |= access.writes;
        }
    }
    // An input of which each micro-batch looks at a part has the samples of all: the host writes the same for each.
    llvm::DenseSet<BufferOp> wholes;
    program.walk([&](ViewOp view) {
      if (view.getSlotStride() && !view.getSlots() && !view.getSlotOrder())
        wholes.insert(bufferOf(view));
    });
    llvm::DenseMap<BufferOp, int64_t> inputs; // slots of memory
    for (auto input : program.getOps<InputOp>())
      if (auto view = input.getView() ? input.getView().getDefiningOp<ViewOp>() : ViewOp())
        if (!wholes.contains(bufferOf(view)))
          inputs[bufferOf(view)] = view.getSlots().value_or(1);
    struct Content {
      int64_t microBatch;
      StringAttr order;
      bool operator==(const Content &) const = default;
    };
    constexpr int64_t kAll = -1;
    llvm::DenseMap<std::pair<BufferOp, int64_t>, Content> contents;
    llvm::SmallDenseSet<int64_t> entered;
    for (const Run &run : runsOf(program)) {
      if (entered.insert(run.slot).second)
        for (auto &[buffer, slots] : inputs)
          contents[{buffer, run.slot % slots}] = {run.slot, {}};
      bool repeats = phases[run.phase].getRepeat() > 1;
      for (const Touched &touch : touched[run.phase]) {
        auto where = std::pair(touch.buffer, touch.slots[run.slot]);
        bool isState = BufferOp(touch.buffer).getPersistent() && !inputs.contains(touch.buffer);
        auto content = contents.find(where);
        if (touch.reads && repeats && !isState && content != contents.end() && content->second.microBatch != kAll &&
            content->second != Content{run.slot, touch.order})
          return CommandOpInterface(touch.first)->emitOpError("must read micro-batch ")
                 << run.slot << " of buffer @" << BufferOp(touch.buffer).getSymName() << ", which holds "
                 << content->second.microBatch << (content->second.order == touch.order ? "" : " of another stage")
                 << " by then";
        if (touch.writes)
          contents[where] = {repeats ? run.slot : kAll, touch.order};
      }
    }
    return success();
  }

  static StringAttr slotOrderOf(ViewOp view) {
    return view.getSlotOrderAttr() ? view.getSlotOrderAttr().getAttr() : StringAttr();
  }
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
    int64_t slots = std::min<int64_t>(mesh.slots(), view.getSlots().value_or(mesh.slots()));
    if (view.getSlotOrder())
      slots = 1 + *llvm::max_element(slotMaps.of(view).order);
    bytes += (slots - 1) * view.getSlotStride().value_or(0);
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
    SmallVector<std::pair<BufferOp, const Lifetime *>> live;
    for (auto buffer : program.getOps<BufferOp>())
      if (const Lifetime &lifetime = liveness.lifetimeOf(buffer); !lifetime.empty() && buffer.getBytes())
        live.push_back({buffer, &lifetime});
    llvm::sort(live, [](auto &a, auto &b) { return startOf(a.first) < startOf(b.first); });
    for (size_t i = 0; i < live.size(); ++i)
      for (size_t j = i + 1; j < live.size(); ++j) {
        auto [a, first] = live[i];
        auto [b, second] = live[j];
        if (a.getArena() != b.getArena() || *b.getOffset() >= *a.getOffset() + a.getBytes())
          break;
        if (std::optional<int64_t> command = first->meets(*second))
          return b.emitOpError("must not share bytes with @")
                 << a.getSymName() << ": both are in use at command " << *command;
      }
    return success();
  }
  /// Checks that only commands that touch each byte once and in order access host memory over the link.
  LogicalResult checkHost() {
    if (hostArenas.empty())
      return success();
    auto onHost = [&](BufferOp buffer) { return hostArenas.contains(buffer.getArena()); };
    // The host reads and writes its own values of a step in the mirror of the device's memory, not in a host arena.
    auto seen = [&](Operation *op, Value view) -> LogicalResult {
      auto of = view ? view.getDefiningOp<ViewOp>() : ViewOp();
      if (!of || !onHost(bufferOf(of)))
        return success();
      return op->emitOpError("must lie in memory of the device, got buffer @") << of.getBuffer();
    };
    for (auto input : program.getOps<InputOp>())
      if (failed(seen(input, input.getView())))
        return failure();
    for (auto scalar : program.getOps<ScalarOp>())
      if (failed(seen(scalar, scalar.getView())))
        return failure();
    for (auto phase : program.getOps<PhaseOp>())
      for (auto command : phase.getOps<CommandOpInterface>())
        for (Access access : accessesOf(command))
          if (!command.streams() && !isDenseCopy(command) && onHost(bufferOf(access.view)))
            return command.emitOpError("must not touch memory of the host, which updates and copies alone do: buffer @")
                   << access.view.getBuffer() << " of arena @" << bufferOf(access.view).getArena();
    return success();
  }
  /// Whether a command copies dense views, which the GPU's copy engine does without a kernel.
  static bool isDenseCopy(CommandOpInterface command) {
    auto dense = [](Value view) { return isDense(cast<MemRefType>(view.getType())); };
    return isa<CopyOp>(command.getOperation()) && llvm::all_of(command.getIns(), dense) &&
           llvm::all_of(command.getOuts(), dense);
  }
  static std::pair<StringRef, int64_t> startOf(BufferOp buffer) {
    return {buffer.getArena(), int64_t(*buffer.getOffset())};
  }

  /// Communicators that commands and views name are those of the program.
  LogicalResult checkCommunicators(PhaseOp phase) const {
    WalkResult named = phase.walk([&](Operation *op) {
      auto name = op->getAttrOfType<FlatSymbolRefAttr>("communicator");
      if (!name || groups.contains(name.getValue()))
        return WalkResult::advance();
      op->emitOpError("must name an exec.communicator, got: ") << name;
      return WalkResult::interrupt();
    });
    return failure(named.wasInterrupted());
  }

  LogicalResult check(PhaseOp phase) {
    if (failed(checkCommunicators(phase)))
      return failure();
    for (auto view : phase.getOps<ViewOp>())
      if (failed(check(view)))
        return failure();
    SmallVector<CommandOpInterface> commands(phase.getOps<CommandOpInterface>());
    SmallVector<Touch> touches;
    Sums sums;
    for (CommandOpInterface command : commands) {
      size_t first = touches.size();
      for (Access access : accessesOf(command)) {
        touches.push_back({command, bufferOf(access.view), rangeOf(access.view), access.writes});
        if (access.reads && failed(checkWritten(touches.back())))
          return failure();
      }
      if (failed(checkCellOrder(command)) || failed(checkSums(command, sums)))
        return failure();
      for (const Touch &touch : llvm::drop_begin(touches, first))
        if (touch.writes)
          written.insert(touch.buffer);
    }
    // One stream is an order.
    llvm::SmallDenseSet<uint64_t> streams;
    for (CommandOpInterface command : commands)
      streams.insert(command.getStream());
    if (streams.size() < 2)
      return success();
    return success(succeeded(checkOrders(phase)) && succeeded(checkRaces(commands, orderOf(commands), touches)));
  }

  /// Sizes and strides of the view without dimensions of one cell, and with contiguous ones merged: equal for two views
  /// of one place if, and only if, they go through its cells in the same order.
  static SmallVector<std::pair<int64_t, int64_t>> cellOrder(MemRefType type) {
    SmallVector<std::pair<int64_t, int64_t>> order;
    for (auto [size, stride] : llvm::zip_equal(type.getShape(), getStrides(type))) {
      if (size == 1)
        continue;
      if (!order.empty() && order.back().second == size * stride)
        order.back() = {order.back().first * size, stride};
      else
        order.push_back({size, stride});
    }
    return order;
  }

  /// A command that reads the bytes it writes goes through them in one order: in another it would read cells that it
  /// has written already, as a sum of a matrix and its transpose would that lie in one buffer.
  LogicalResult checkCellOrder(CommandOpInterface command) const {
    SmallVector<Access> accesses = llvm::to_vector(accessesOf(command));
    auto coversItsBytes = [](MemRefType type) { return getSpan(type) == getBytes(type); };
    for (Access out : accesses)
      for (Access in : accesses) {
        if (!out.writes || !in.reads || in.view.getBuffer() != out.view.getBuffer() ||
            in.view.getOffset() != out.view.getOffset())
          continue;
        MemRefType from = in.view.getView().getType(), to = out.view.getView().getType();
        if (coversItsBytes(from) && coversItsBytes(to) && getSpan(from) == getSpan(to) &&
            cellOrder(from) != cellOrder(to))
          return command.emitOpError("must read and write the cells of buffer @")
                 << in.view.getBuffer() << " in one order, got: " << from << " and " << to;
      }
    return success();
  }

  /// The ranges of each buffer that a phase added to and has not read since.
  using Sums = llvm::DenseMap<BufferOp, SmallVector<Touch>>;

  /// Bytes that were added to are read before they are overwritten: the terms of a gradient are added up in its memory,
  /// and the one that overwrites what was there is the first.
  LogicalResult checkSums(CommandOpInterface command, Sums &sums) const {
    SmallVector<Access> accesses = llvm::to_vector(accessesOf(command));
    for (const Access &access : accesses)
      if (access.reads)
        if (auto added = sums.find(bufferOf(access.view)); added != sums.end())
          llvm::erase_if(added->second,
                         [range = rangeOf(access.view)](const Touch &sum) { return sum.range.overlaps(range); });
    for (Access access : accesses) {
      if (!access.writes)
        continue;
      BufferOp buffer = bufferOf(access.view);
      if (access.reads) {
        sums[buffer].push_back({command, buffer, rangeOf(access.view), true});
        continue;
      }
      // Strides, slots and blocks leave bytes between those that are written.
      auto added = sums.find(buffer);
      if (added == sums.end() || !isDense(access.view.getView().getType()) || access.view.getSlotStride() ||
          access.view.getBlockOf())
        continue;
      const Range range = rangeOf(access.view);
      for (const Touch &sum : added->second)
        if (range.begin <= sum.range.begin && sum.range.end <= range.end) {
          auto diagnostic = command.emitOpError("must not overwrite what was added to buffer @")
                            << buffer.getSymName() << " and nobody read";
          diagnostic.attachNote(sum.command->getLoc()) << "what was added";
          return failure();
        }
    }
    return success();
  }

  /// Members of a group meet in the order of one stream, which is the text's on each of them.
  static LogicalResult checkOrders(PhaseOp phase) {
    llvm::StringMap<uint64_t> streamOf;
    for (auto op : phase.getOps<CollectiveOp>())
      if (uint64_t first = streamOf.try_emplace(op.getCommunicator(), op.getStream()).first->second;
          first != op.getStream())
        return op.emitOpError("must be on the stream of all collectives over @")
               << op.getCommunicator() << " in this phase, " << first << ", got: " << op.getStream();
    return success();
  }

  /// For each command, the commands that have ended when it begins: earlier ones of its stream, those of its events,
  /// and their predecessors.
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
    SmallVector<unsigned> commandOf, row; // by touch; touches by their first byte
    for (auto [i, touch] : llvm::enumerate(touches)) {
      commandOf.push_back(numbers.lookup(touch.command));
      row.push_back(i);
    }
    llvm::sort(row, [&](unsigned a, unsigned b) {
      const Range &first = touches[a].range, &second = touches[b].range;
      return std::tie(first.arena, first.begin, a) < std::tie(second.arena, second.begin, b);
    });
    std::optional<std::pair<unsigned, unsigned>> race; // the first in the order of commands
    for (size_t i = 0; i < row.size(); ++i)
      for (size_t j = i + 1; j < row.size() && touches[row[i]].range.reaches(touches[row[j]].range); ++j) {
        auto [first, second] = std::minmax(row[i], row[j]);
        unsigned a = commandOf[first], b = commandOf[second];
        if (a != b && (touches[first].writes || touches[second].writes) && !before[b].test(a) &&
            touches[first].range.overlaps(touches[second].range))
          race = std::min(race.value_or(std::pair(first, second)), std::pair(first, second));
      }
    return race ? refuse(touches[race->first], touches[race->second]) : success();
  }

  static LogicalResult refuse(const Touch &first, const Touch &second) {
    auto diagnostic =
        second.command->emitOpError("must wait for a command of another stream: one writes what the other uses, bytes ")
        << std::max(first.range.begin, second.range.begin) << " to " << std::min(first.range.end, second.range.end)
        << " of @" << first.range.arena;
    diagnostic.attachNote(first.command->getLoc()) << "the other command";
    return failure();
  }

  /// Checks that a command before, or the host, has written the bytes that are read.
  LogicalResult checkWritten(Touch read) const {
    if (read.buffer.getPersistent())
      return success();
    if (written.contains(read.buffer))
      return success();
    return read.command->emitOpError("must not read what nobody wrote: buffer @") << read.buffer.getSymName();
  }

  ProgramOp program;
  const spmd::Mesh &mesh;
  SlotMaps slotMaps;
  llvm::StringMap<BufferOp> buffers;
  llvm::StringMap<int64_t> groups;
  llvm::StringSet<> hostArenas;
  llvm::DenseSet<BufferOp> written;
};

/// Whether the runs of a program, which are listed, are not too many.
LogicalResult checkRepeats(ProgramOp program) {
  for (auto phase : program.getOps<PhaseOp>())
    if (phase.getRepeat() > uint64_t(plan::Schedule::kMostActions))
      return phase.emitOpError("must repeat at most ")
             << plan::Schedule::kMostActions << " times, got: " << phase.getRepeat();
  return success();
}

struct Verify : dtcc::exec::impl::VerifyBase<Verify> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      FailureOr<spmd::Mesh> mesh = meshOf(program);
      if (failed(mesh) || failed(checkRepeats(program)) || failed(Verifier(program, *mesh).run()))
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
