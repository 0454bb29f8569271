//===- Nccl.cpp - Collectives among GPUs ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Nccl.h"

#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace dtcc::rt::cuda {
namespace {

struct NcclId {
  char bytes[128];
};

struct Nccl {
#define DTCC_NCCL_FUNCTION(FIELD, SYMBOL, PARAMETERS) int(*FIELD) PARAMETERS = nullptr;
#include "runtime/cuda/Nccl.def"
  const char *(*errorString)(int error) = nullptr;
  bool there = false;
};

const Nccl &nccl() {
  static const Nccl opened = [] {
    Nccl library;
    library.there = openLibrary({"libnccl.so.2"},
                                {
#define DTCC_NCCL_FUNCTION(FIELD, SYMBOL, PARAMETERS) {#SYMBOL, reinterpret_cast<void **>(&library.FIELD)},
#include "runtime/cuda/Nccl.def"
                                    {"ncclGetErrorString", reinterpret_cast<void **>(&library.errorString)}})
                        .empty();
    return library;
  }();
  return opened;
}

void check(int error, const char *call) {
  if (error != 0)
    failWith(Status::Device, call, ": ", nccl().errorString(error));
}

/// ncclDataType_t
int typeOf(uint32_t dtype) {
  constexpr std::array<int, 9> types = {/*f32*/ 7, /*f64*/ 8, /*bf16*/ 9, /*f16*/ 6, /*i64*/ 4,
                                        /*i32*/ 2, /*i16*/ 0, /*i8*/ 0,   /*bool*/ 1};
  return types[dtype];
}
constexpr int kBytes = 0; /* ncclInt8 */

/// ncclRedOp_t
int reductionOf(uint32_t reduction) { return reduction == DTCC_SUM ? 0 : reduction == DTCC_MAX ? 2 : 3; }

/// What members tell each other before they join.
struct Offer {
  unsigned char uuid[16];
  unsigned char there, mayShare;
};

} // namespace

std::unique_ptr<NcclGroup> NcclGroup::open(Communicator &host, const Gpu &gpu) {
  if (host.size() < 2)
    return nullptr;
  Offer mine = {};
  gpu.uuid(mine.uuid);
  const char *share = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  mine.there = nccl().there;
  mine.mayShare = share && std::strcmp(share, "1") == 0;
  std::vector<Offer> all(static_cast<size_t>(host.size()));
  host.allGather(&mine, all.data(), sizeof mine, DTCC_I8);
  for (const Offer &one : all)
    for (const Offer &other : all)
      if (!one.there || (&one != &other && !one.mayShare && std::memcmp(one.uuid, other.uuid, sizeof one.uuid) == 0))
        return nullptr;
  NcclId id = {};
  if (host.index() == 0)
    check(nccl().makeId(&id), "ncclGetUniqueId");
  host.broadcast(&id, &id, sizeof id, DTCC_I8);
  void *group = nullptr;
  check(nccl().join(&group, static_cast<int>(host.size()), id, static_cast<int>(host.index())), "ncclCommInitRank");
  return std::unique_ptr<NcclGroup>(new NcclGroup(group, host.size(), host.index()));
}

NcclGroup::~NcclGroup() { nccl().leave(group); }

bool NcclGroup::takes(const dtcc_command &command) {
  return command.kind == DTCC_COLLECTIVE && (command.op <= DTCC_BROADCAST || command.op == DTCC_SHIFT);
}

void NcclGroup::run(const Image &image, const dtcc_command &command, void *const *buffers, CUstream stream) {
  const Nccl &library = nccl();
  auto operands = image.operands(command);
  const dtcc_view &in = image.views()[operands[0]], &out = image.views()[operands[1]];
  auto count = static_cast<size_t>(elementCount(in));
  int type = typeOf(in.dtype), reduction = reductionOf(command.reduction);
  const auto *from = static_cast<const char *>(buffers[0]);
  auto *to = static_cast<char *>(buffers[1]);
  auto bytes = count * static_cast<size_t>(dtcc_dtype_size(in.dtype));
  switch (command.op) {
  case DTCC_ALL_REDUCE:
    return check(library.allReduce(from, to, count, type, reduction, group, stream), "ncclAllReduce");
  case DTCC_ALL_GATHER:
    return check(library.allGather(from, to, count, type, group, stream), "ncclAllGather");
  case DTCC_REDUCE_SCATTER:
    count = static_cast<size_t>(elementCount(out));
    return check(library.reduceScatter(from, to, count, type, reduction, group, stream), "ncclReduceScatter");
  case DTCC_BROADCAST:
    return check(library.broadcast(from, to, count, type, 0, group, stream), "ncclBroadcast");
  case DTCC_ALL_TO_ALL: {
    size_t part = bytes / static_cast<size_t>(members);
    check(library.beginGroup(), "ncclGroupStart");
    for (int64_t peer = 0; peer < members; ++peer) {
      auto offset = static_cast<size_t>(peer) * part;
      check(library.send(from + offset, part, kBytes, static_cast<int>(peer), group, stream), "ncclSend");
      check(library.receive(to + offset, part, kBytes, static_cast<int>(peer), group, stream), "ncclRecv");
    }
    return check(library.endGroup(), "ncclGroupEnd");
  }
  case DTCC_SHIFT:
    check(library.beginGroup(), "ncclGroupStart");
    check(library.send(from, bytes, kBytes, static_cast<int>((me + 1) % members), group, stream), "ncclSend");
    check(library.receive(to, bytes, kBytes, static_cast<int>((me + members - 1) % members), group, stream),
          "ncclRecv");
    return check(library.endGroup(), "ncclGroupEnd");
  }
}

} // namespace dtcc::rt::cuda
