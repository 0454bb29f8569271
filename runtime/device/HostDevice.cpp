//===- HostDevice.cpp - Commands on the cores of this machine - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/HostDevice.h"

#include "runtime/collective/Communicator.h"
#include "runtime/device/CommandCollective.h"
#include "runtime/device/HostTuning.h"

#include <algorithm>

namespace dtcc::rt {

HostDevice::HostDevice(const DeviceSetup &setup) : setup(setup), bound(setup.rank.stage.commands.count) {
  Rank &rank = setup.rank;
  for (uint32_t i = 0; i < rank.stage.arenas.count; ++i) {
    uint32_t number = rank.stage.arenas.first + i;
    const dtcc_arena &arena = rank.image.arenas()[number];
    std::string name(rank.image.string(arena.name));
    memory.emplace_back(arena.bytes, name.c_str(), rank.team,
                        setup.transport ? setup.transport->allocate(arena.bytes) : nullptr);
    rank.arenas[number] = memory.back().data();
  }
}

void HostDevice::bind(uint32_t number) {
  const Image &image = setup.rank.image;
  const dtcc_command &command = image.commands()[number];
  Bound &made = bound[number - setup.rank.stage.commands.first];
  switch (command.kind) {
  case DTCC_KERNEL:
    made.kernel = setup.kernels[command.op];
    break;
  case DTCC_LIBRARY:
    made.library = createLibraryOp(command, setup.rank);
    break;
  case DTCC_COPY: {
    auto operands = image.operands(command);
    made.copy.emplace(image.views()[operands[0]], image.views()[operands[1]]);
    break;
  }
  case DTCC_COLLECTIVE:
  case DTCC_SEND:
    reserveMessages(image, command, *setup.rank.communicators[command.communicator]);
    break;
  default:
    break;
  }
}

void HostDevice::prepare() {
  if (!setup.tuning.isAsked())
    return;
  Rank &rank = setup.rank;
  std::vector<HostSite> sites;
  for (size_t i = 0; i < bound.size(); ++i)
    if (LibraryOp *op = bound[i].library.get(); op && op->ways()) {
      std::vector<void *> buffers;
      for (uint32_t view : rank.image.operands(rank.image.commands()[rank.stage.commands.first + i]))
        buffers.push_back(rank.address(view, 0));
      sites.push_back({op, std::move(buffers)});
    }
  chosen = tuneHost(sites, setup.tuning, rank);
}

void HostDevice::overlap() {
  auto commands = rowsOf(setup.rank.stage.commands, setup.rank.image.commands());
  // A command that computes would share the team with the first thread.
  bool exchanges = std::all_of(commands.begin(), commands.end(), [](const dtcc_command &command) {
    return command.stream == 0 || command.kind == DTCC_COLLECTIVE || command.kind == DTCC_SEND;
  });
  bool any = std::any_of(commands.begin(), commands.end(), [](auto &command) { return command.stream != 0; });
  if (exchanges && any)
    second = std::make_unique<StreamThread>();
}

static bool computes(const dtcc_command &command) {
  return command.kind == DTCC_KERNEL || command.kind == DTCC_LIBRARY || command.kind == DTCC_COPY ||
         command.kind == DTCC_FILL;
}

template <typename Fn> void HostDevice::exchange(Fn &&work) {
  auto begin = Trace::Clock::now();
  work();
  exchanged += std::chrono::duration<double>(Trace::Clock::now() - begin).count();
}

void HostDevice::run(uint32_t number, void *const *buffers, const void *predicate) {
  if (predicate && *static_cast<const int32_t *>(predicate) == 0)
    return;
  const Rank &rank = setup.rank;
  const dtcc_command &command = rank.image.commands()[number];
  uint32_t first = rank.stage.commands.first;
  if (second && command.stream != 0) {
    bound[number - first].ticket = second->post(
        [this, number, buffers, slot = rank.abi.slot] { runTraced(number, buffers, slot, setup.traceOfStreams); });
    return;
  }
  // Only this thread waits for commands of the second one. The second thread need not wait for commands of this one,
  // because each is posted after all earlier commands of this thread have run.
  if (second)
    for (const dtcc_wait &wait : rank.image.waits(command))
      if (uint64_t ticket = bound[wait.command - first].ticket)
        exchange([&] { second->wait(ticket); });
  auto now = [&] { runTraced(number, buffers, rank.abi.slot, setup.trace); };
  if (computes(command))
    now();
  else
    exchange(now);
}

void HostDevice::endAction() {
  if (second)
    exchange([&] { second->drain(); });
}

void HostDevice::runTraced(uint32_t number, void *const *buffers, int64_t slot, Trace *into) {
  if (!into || !into->records(setup.rank.abi.step))
    return runNow(number, buffers);
  auto begin = Trace::Clock::now();
  runNow(number, buffers);
  into->add({number, static_cast<uint32_t>(slot), setup.rank.abi.step, begin, Trace::Clock::now()});
}

void HostDevice::runNow(uint32_t number, void *const *buffers) {
  Rank &rank = setup.rank;
  const dtcc_command &command = rank.image.commands()[number];
  Bound &made = bound[number - rank.stage.commands.first];
  switch (command.kind) {
  case DTCC_KERNEL:
    rank.team.parallelFor(command.extent, command.grain,
                          [&](int64_t begin, int64_t end) { made.kernel(&rank.abi, buffers, begin, end); });
    break;
  case DTCC_LIBRARY:
    made.library->run(rank, buffers);
    break;
  case DTCC_COPY:
    made.copy->run(buffers[0], buffers[1], rank.team);
    break;
  case DTCC_FILL:
    fillView(rank.image.views()[rank.image.operands(command)[0]], buffers[0], rank.image.attributes(command)[0],
             rank.team);
    break;
  default:
    rank.exchange.store(number, std::memory_order_relaxed);
    if (rank.position)
      rank.position->command.store(number, std::memory_order_relaxed);
    runCommunication(rank.image, command, *rank.communicators[command.communicator], buffers);
    rank.exchange.store(DTCC_NONE, std::memory_order_relaxed);
  }
}

} // namespace dtcc::rt
