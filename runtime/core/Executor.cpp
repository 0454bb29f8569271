//===- Executor.cpp - Runs the command table of one rank ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Executor.h"

#include "runtime/collective/Communicator.h"
#include "runtime/collective/RowExchange.h"
#include "runtime/core/Error.h"

#include <algorithm>

namespace dtcc::rt {

uint64_t arenaBytes(const Image &image, const dtcc_stage &stage) {
  uint64_t bytes = 0;
  for (const dtcc_arena &arena : Image::rowsOf(stage.arenas, image.arenas()))
    bytes += arena.bytes;
  return bytes;
}

Executor::Executor(Rank &rank, std::span<const dtcc_kernel> kernels, Trace *trace, Transport *transport)
    : rank(rank), kernels(kernels), trace(trace), entered(static_cast<size_t>(rank.image.slots())) {
  for (uint32_t i = 0; i < rank.stage.arenas.count; ++i) {
    const dtcc_arena &arena = rank.image.arenas()[rank.stage.arenas.first + i];
    std::string name(rank.image.string(arena.name));
    memory.emplace_back(arena.bytes, name.c_str(), rank.team, transport ? transport->allocate(arena.bytes) : nullptr);
    rank.arenas[rank.stage.arenas.first + i] = memory.back().data();
  }
}

void Executor::bind() {
  const Image &image = rank.image;
  for (const dtcc_command &command : Image::rowsOf(rank.stage.commands, image.commands())) {
    Bound &bound = table.emplace_back();
    bound.command = &command;
    auto operands = image.operands(command);
    for (uint32_t view : operands) {
      bound.bases.push_back(static_cast<std::byte *>(rank.address(view, 0)));
      bound.slotStrides.push_back(image.views()[view].slot_stride);
      bound.slots.push_back(image.views()[view].slots);
    }
    bound.buffers.resize(operands.size());
    if (command.communicator != DTCC_NONE)
      bound.communicator = rank.communicators[command.communicator];
    switch (command.kind) {
    case DTCC_KERNEL:
      bound.kernel = kernels[command.op];
      break;
    case DTCC_LIBRARY:
      bound.library = createLibraryOp(command, rank);
      break;
    case DTCC_COPY:
      bound.copy.emplace(image.views()[operands[0]], image.views()[operands[1]]);
      break;
    case DTCC_COLLECTIVE:
      if (command.op == DTCC_SHIFT)
        bound.communicator->reserveShifts();
      break;
    case DTCC_SEND: {
      const dtcc_view &view = image.views()[operands[0]];
      for (int64_t room = image.attributes(command)[1]; room > 0; --room)
        bound.communicator->reserveSend(image.attributes(command)[0], elementCount(view) * dtcc_dtype_size(view.dtype));
      break;
    }
    default:
      break;
    }
  }
}

void Executor::runStep(const std::function<void(int64_t)> &beforeSlot) {
  std::fill(entered.begin(), entered.end(), false);
  for (const dtcc_action &action : Image::rowsOf(rank.stage.actions, rank.image.actions())) {
    rank.enterSlot(action.slot);
    if (!entered[action.slot]) {
      entered[action.slot] = true;
      beforeSlot(action.slot);
    }
    const dtcc_phase &phase = rank.image.phases()[action.phase];
    for (uint32_t i = 0; i < phase.command_count; ++i) {
      Bound &bound = table[phase.first_command - rank.stage.commands.first + i];
      for (size_t b = 0; b < bound.buffers.size(); ++b) {
        int64_t slot = bound.slots[b] > 0 ? action.slot % bound.slots[b] : action.slot;
        bound.buffers[b] = bound.bases[b] + slot * bound.slotStrides[b];
      }
      uint32_t predicate = bound.command->predicate;
      if (predicate != DTCC_NONE && *static_cast<const int32_t *>(rank.address(predicate, action.slot)) == 0)
        continue;
      if (bound.command->last_slot && action.slot + 1 < rank.image.slots())
        continue;
      uint32_t number = phase.first_command + i;
      if (second && bound.command->stream != 0) {
        bound.ticket =
            second->post([this, &bound, number, slot = action.slot] { runTraced(bound, number, slot, secondTrace); });
        continue;
      }
      // Posting in program order was all that the second thread had to wait for.
      if (second)
        for (const dtcc_wait &wait : rank.image.waits(*bound.command))
          if (const Bound &other = table[wait.command - rank.stage.commands.first]; other.ticket)
            second->wait(other.ticket);
      runTraced(bound, number, action.slot, trace);
    }
    if (second)
      second->drain();
  }
}

void Executor::runTraced(Bound &bound, uint32_t number, uint32_t slot, Trace *into) {
  if (!into)
    return run(bound);
  auto begin = Trace::Clock::now();
  run(bound);
  into->add({number, slot, rank.abi.step, begin, Trace::Clock::now()});
}

std::vector<bool> Executor::communicatorsOfStreams(const Image &image) {
  std::vector<bool> used(image.communicators().size());
  for (const dtcc_command &command : image.commands())
    if (command.stream != 0 && command.communicator != DTCC_NONE)
      used[command.communicator] = true;
  return used;
}

void Executor::overlap(Trace *traceOfStreams) {
  auto commands = Image::rowsOf(rank.stage.commands, rank.image.commands());
  // What computes would share the team with the first thread.
  bool exchanges = std::all_of(commands.begin(), commands.end(), [](const dtcc_command &command) {
    return command.stream == 0 || command.kind == DTCC_COLLECTIVE || command.kind == DTCC_SEND;
  });
  bool any = std::any_of(commands.begin(), commands.end(), [](auto &command) { return command.stream != 0; });
  if (!exchanges || !any)
    return;
  secondTrace = traceOfStreams;
  second = std::make_unique<StreamThread>();
}

void Executor::run(Bound &bound) {
  const dtcc_command &command = *bound.command;
  void *const *buffers = bound.buffers.data();
  switch (command.kind) {
  case DTCC_KERNEL:
    rank.team.parallelFor(command.extent, command.grain,
                          [&](int64_t begin, int64_t end) { bound.kernel(&rank.abi, buffers, begin, end); });
    break;
  case DTCC_LIBRARY:
    bound.library->run(rank, buffers);
    break;
  case DTCC_COLLECTIVE:
    runCollective(bound);
    break;
  case DTCC_COPY:
    bound.copy->run(buffers[0], buffers[1], rank.team);
    break;
  case DTCC_FILL:
    fillView(rank.image.views()[rank.image.operands(command)[0]], buffers[0], rank.image.attributes(command)[0],
             rank.team);
    break;
  case DTCC_SEND:
  case DTCC_RECEIVE: {
    const dtcc_view &view = rank.image.views()[rank.image.operands(command)[0]];
    int64_t bytes = elementCount(view) * dtcc_dtype_size(view.dtype), peer = rank.image.attributes(command)[0];
    if (command.kind == DTCC_SEND)
      bound.communicator->send(buffers[0], bytes, peer);
    else
      bound.communicator->receive(buffers[0], bytes, peer);
    break;
  }
  }
}

void Executor::runCollective(Bound &bound) {
  const dtcc_command &command = *bound.command;
  Communicator &group = *bound.communicator;
  if (command.op == DTCC_BARRIER)
    return group.barrier();
  auto operands = rank.image.operands(command);
  const dtcc_view &in = rank.image.views()[operands[0]], &out = rank.image.views()[operands[1]];
  auto type = static_cast<dtcc_dtype>(in.dtype);
  auto reduction = static_cast<dtcc_reduction>(command.reduction);
  void *from = bound.buffers[0], *to = bound.buffers[1];
  switch (command.op) {
  case DTCC_ALL_REDUCE:
    return group.allReduce(from, to, elementCount(in), type, reduction);
  case DTCC_ALL_GATHER:
    return group.allGather(from, to, elementCount(in), type);
  case DTCC_REDUCE_SCATTER:
    return group.reduceScatter(from, to, elementCount(out), type, reduction);
  case DTCC_ALL_TO_ALL:
    return group.allToAll(from, to, elementCount(in) / group.size(), type);
  case DTCC_BROADCAST:
    return group.broadcast(from, to, elementCount(in), type);
  case DTCC_SHIFT:
    return group.shift(from, to, elementCount(in) * dtcc_dtype_size(type));
  case DTCC_DISPATCH_ROWS:
  case DTCC_COMBINE_ROWS:
    return exchangeRows(bound);
  }
}

void Executor::exchangeRows(Bound &bound) {
  const dtcc_command &command = *bound.command;
  auto operands = rank.image.operands(command);
  const dtcc_view &rows = rank.image.views()[operands[0]], &ids = rank.image.views()[operands[1]];
  int64_t columns = rows.sizes[rows.rank - 1], picks = ids.sizes[ids.rank - 1];
  auto type = static_cast<dtcc_dtype>(rows.dtype);
  RowExchange exchange{elementCount(ids) / picks / bound.communicator->size(), picks, rank.image.attributes(command)[0],
                       bound.buffers[1], static_cast<dtcc_dtype>(ids.dtype)};
  auto *lists = static_cast<int64_t *>(bound.buffers.back());
  if (command.op == DTCC_DISPATCH_ROWS)
    dispatchRows(*bound.communicator, exchange, bound.buffers[0], bound.buffers[2], columns * dtcc_dtype_size(type),
                 lists);
  else
    combineRows(*bound.communicator, exchange, bound.buffers[0], bound.buffers[2], columns, type, bound.buffers[3],
                lists);
}

} // namespace dtcc::rt
