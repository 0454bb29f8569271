//===- Exchange.cpp - What ranks send each other from GPUs ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/Exchange.h"

#include "runtime/abi/Collectives.h"
#include "runtime/device/CommandCollective.h"

namespace dtcc::rt::cuda {
namespace {

/// Operands [first, last) of a command.
struct Operands {
  size_t first, last;
};
/// Operands that a command reads and operands that it writes. Operands behind these are room for the host's lists.
struct Accesses {
  Operands reads, writes;
};

Accesses accessesOf(const dtcc_command &command) {
  switch (command.kind) {
  case DTCC_SEND:
    return {{0, 1}, {}};
  case DTCC_RECEIVE:
    return {{}, {0, 1}};
  default:
    if (collectiveInfo(command.op).in == Extent::None)
      return {};
    return collectiveInfo(command.op).traffic == Traffic::ToPicked ? Accesses{{0, 2}, {2, 3}}
                                                                   : Accesses{{0, 1}, {1, 2}};
  }
}

} // namespace

void reserveExchange(Rank &rank, const dtcc_command &command) {
  reserveMessages(rank.image, command, *rank.communicators[command.communicator]);
}

void exchangeThroughHost(Gpu &gpu, Rank &rank, const dtcc_command &command, CUstream stream, void *const *buffers) {
  auto operands = rank.image.operands(command);
  std::vector<void *> mirrored;
  for (uint32_t view : operands)
    mirrored.push_back(rank.address(view, rank.abi.slot));
  auto bytes = [&](size_t i) {
    const dtcc_view &view = rank.image.views()[operands[i]];
    return static_cast<uint64_t>(elementCount(view) * dtcc_dtype_size(view.dtype));
  };
  auto onGpu = [&](size_t i) { return reinterpret_cast<CUdeviceptr>(buffers[i]); };
  Accesses accesses = accessesOf(command);
  for (size_t i = accesses.reads.first; i < accesses.reads.last; ++i)
    gpu.copyToHost(mirrored[i], onGpu(i), bytes(i), stream);
  gpu.synchronize(stream);
  runCommunication(rank.image, command, *rank.communicators[command.communicator], mirrored.data());
  // From memory that is not locked: it may change when the call has returned.
  for (size_t i = accesses.writes.first; i < accesses.writes.last; ++i)
    gpu.copyToDevice(onGpu(i), mirrored[i], bytes(i), stream);
}

} // namespace dtcc::rt::cuda
