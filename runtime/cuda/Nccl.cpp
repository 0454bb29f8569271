//===- Nccl.cpp - Collectives among GPUs ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Nccl.h"

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

void check(const Gpu &gpu, int error, const char *call) {
  if (error != 0)
    failWith(Status::Device, gpu.where(), ": ", call, ": ", nccl().errorString(error));
}

/// ncclDataType_t
int typeOf(dtcc_dtype dtype) {
  constexpr std::array<int, 9> types = {/*f32*/ 7, /*f64*/ 8, /*bf16*/ 9, /*f16*/ 6, /*i64*/ 4,
                                        /*i32*/ 2, /*i16*/ 0, /*i8*/ 0,   /*bool*/ 1};
  return types[dtype];
}
constexpr int kBytes = 0;      /* ncclInt8 */
constexpr int kInProgress = 7; /* ncclInProgress: no error */

/// ncclRedOp_t
int reductionOf(dtcc_reduction reduction) { return reduction == DTCC_SUM ? 0 : reduction == DTCC_MAX ? 2 : 3; }

/// What members tell each other before they join.
struct Offer {
  unsigned char uuid[16];
  unsigned char there, mayShare;
};

} // namespace

std::unique_ptr<NcclCommunicator> NcclCommunicator::open(Communicator &host, std::string name, Gpu &gpu,
                                                         Watchdog *dog) {
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
    check(gpu, nccl().makeId(&id), "ncclGetUniqueId");
  host.broadcast(&id, &id, sizeof id, DTCC_I8);
  void *group = nullptr;
  check(gpu, gpu.waiting([&] {
    return nccl().join(&group, static_cast<int>(host.size()), id, static_cast<int>(host.index()));
  }),
        "ncclCommInitRank");
  return std::unique_ptr<NcclCommunicator>(new NcclCommunicator(group, host, std::move(name), gpu, dog));
}

NcclCommunicator::NcclCommunicator(void *group, Communicator &host, std::string name, Gpu &gpu, Watchdog *dog)
    : Communicator(host.size(), host.index()), group(group), name(std::move(name)), gpu(gpu), dog(dog) {
  watched.error = [group] {
    int error = 0;
    nccl().asyncError(group, &error);
    return error == 0 || error == kInProgress ? std::string() : nccl().errorString(error);
  };
  watched.abort = [group] { nccl().abort(group); };
  if (dog)
    dog->add(watched);
}

NcclCommunicator::~NcclCommunicator() {
  switch (dog ? dog->remove(watched) : Watchdog::Close::Destroy) {
  case Watchdog::Close::Destroy:
    nccl().leave(group);
    break;
  case Watchdog::Close::Abort:
    nccl().abort(group);
    break;
  case Watchdog::Close::Nothing:
    break;
  }
}

template <typename Calls> void NcclCommunicator::issue(const char *call, Calls &&calls) {
  // NCCL connects members when they first meet: a call may wait for them.
  check(gpu, gpu.waiting(calls), call);
  ++issued;
  if (dog)
    dog->issued(call, name, issued, stream);
}

template <typename Calls> void NcclCommunicator::issueGroup(const char *call, Calls &&calls) {
  issue(call, [&] {
    int error = nccl().beginGroup();
    error = error ? error : calls();
    int ended = nccl().endGroup();
    return error ? error : ended;
  });
}

bool NcclCommunicator::takes(const dtcc_command &command) {
  return command.kind == DTCC_COLLECTIVE && (command.op <= DTCC_BROADCAST || command.op == DTCC_SHIFT);
}

void NcclCommunicator::allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  issue("ncclAllReduce", [&] {
    return nccl().allReduce(in, out, static_cast<size_t>(count), typeOf(type), reductionOf(reduction), group, stream);
  });
}

void NcclCommunicator::allGather(const void *in, void *out, int64_t count, dtcc_dtype type) {
  issue("ncclAllGather",
        [&] { return nccl().allGather(in, out, static_cast<size_t>(count), typeOf(type), group, stream); });
}

void NcclCommunicator::reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type,
                                     dtcc_reduction reduction) {
  issue("ncclReduceScatter", [&] {
    return nccl().reduceScatter(in, out, static_cast<size_t>(count), typeOf(type), reductionOf(reduction), group,
                                stream);
  });
}

void NcclCommunicator::broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) {
  issue("ncclBroadcast",
        [&] { return nccl().broadcast(in, out, static_cast<size_t>(count), typeOf(type), 0, group, stream); });
}

void NcclCommunicator::allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) {
  auto part = static_cast<size_t>(count * dtcc_dtype_size(type));
  issueGroup("ncclSend and ncclRecv of an all-to-all", [&] {
    int error = 0;
    for (int peer = 0; peer < static_cast<int>(size()) && !error; ++peer) {
      auto offset = static_cast<size_t>(peer) * part;
      error = nccl().send(static_cast<const char *>(in) + offset, part, kBytes, peer, group, stream);
      error = error ? error : nccl().receive(static_cast<char *>(out) + offset, part, kBytes, peer, group, stream);
    }
    return error;
  });
}

void NcclCommunicator::shift(const void *in, void *out, int64_t bytes) {
  auto next = static_cast<int>((index() + 1) % size()), last = static_cast<int>((index() + size() - 1) % size());
  issueGroup("ncclSend and ncclRecv of a shift", [&] {
    int error = nccl().send(in, static_cast<size_t>(bytes), kBytes, next, group, stream);
    return error ? error : nccl().receive(out, static_cast<size_t>(bytes), kBytes, last, group, stream);
  });
}

[[noreturn]] static void leftToTheHost() { fail("NCCL was asked for what goes through the host"); }
void NcclCommunicator::allToAllRows(const void *, void *, int64_t, const RowLists &) { leftToTheHost(); }
void NcclCommunicator::barrier() { leftToTheHost(); }
void NcclCommunicator::reserveSend(int64_t, int64_t) { leftToTheHost(); }
void NcclCommunicator::send(const void *, int64_t, int64_t) { leftToTheHost(); }
void NcclCommunicator::receive(void *, int64_t, int64_t) { leftToTheHost(); }

} // namespace dtcc::rt::cuda
