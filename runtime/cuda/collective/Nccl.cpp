//===- Nccl.cpp - Collectives among GPUs ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/Nccl.h"

#include "runtime/abi/Collectives.h"
#include "runtime/core/Error.h"

#include <array>

namespace dtcc::rt::cuda {
namespace {

/// ncclDataType_t of numbers that are reduced.
int typeOf(dtcc_dtype dtype) {
  constexpr int kNone = -1;
  constexpr std::array<int, 9> types = {/*f32*/ kFloat32, /*f64*/ kFloat64, /*bf16*/ kBfloat16,
                                        /*f16*/ kFloat16, /*i64*/ kInt64,   /*i32*/ kInt32,
                                        /*i16*/ kNone,    /*i8*/ kInt8,     /*bool*/ kUint8};
  if (types[dtype] == kNone)
    fail("NCCL reduces no 16-bit integers");
  return types[dtype];
}

/// ncclRedOp_t. The sum of flags is whether one is set.
int reductionOf(dtcc_reduction reduction, dtcc_dtype dtype) {
  if (reduction == DTCC_SUM && dtype != DTCC_BOOL)
    return kSum;
  return reduction == DTCC_MIN ? kMinimum : kMaximum;
}

size_t bytesOf(int64_t count, dtcc_dtype dtype) { return static_cast<size_t>(count * dtcc_dtype_size(dtype)); }

} // namespace

std::unique_ptr<NcclCommunicator> NcclCommunicator::open(Communicator &host, std::string name, Gpu &gpu,
                                                         Watchdog *dog) {
  NcclUse use = NcclMember::agree(host, gpu);
  if (use == NcclUse::None)
    return nullptr;
  NcclId id = host.index() == 0 ? NcclMember::makeId(gpu) : NcclId{};
  host.broadcast(&id, &id, sizeof id, DTCC_I8);
  return std::unique_ptr<NcclCommunicator>(new NcclCommunicator(host, id, use, std::move(name), gpu, dog));
}

template <typename Calls> void NcclCommunicator::issueGroup(const char *what, Calls &&calls) {
  member.issue(what, stream, [&](void *group) {
    int error = nccl().beginGroup();
    error = error ? error : calls(group);
    int ended = nccl().endGroup();
    return error ? error : ended;
  });
}

bool NcclCommunicator::takes(const dtcc_command &command) {
  if (command.kind != DTCC_COLLECTIVE)
    return false;
  switch (static_cast<CollectiveKind>(command.op)) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
  case CollectiveKind::Broadcast:
  case CollectiveKind::Shift:
  case CollectiveKind::DispatchRows:
  case CollectiveKind::CombineRows:
    return true;
  default:
    return false;
  }
}

void NcclCommunicator::exchange(std::span<const Piece> sends, std::span<const Piece> receives) {
  issueGroup("ncclSend and ncclRecv of rows", [&](void *group) {
    int error = 0;
    for (size_t peer = 0; peer < sends.size() && !error; ++peer) {
      auto [from, out] = sends[peer];
      auto [to, in] = receives[peer];
      if (out > 0)
        error = nccl().send(from, static_cast<size_t>(out), kInt8, static_cast<int>(peer), group, stream);
      if (in > 0 && !error)
        error = nccl().receive(to, static_cast<size_t>(in), kInt8, static_cast<int>(peer), group, stream);
    }
    return error;
  });
}

void NcclCommunicator::allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  int element = typeOf(type), fold = reductionOf(reduction, type);
  member.issue("ncclAllReduce", stream, [&](void *group) {
    return nccl().allReduce(in, out, static_cast<size_t>(count), element, fold, group, stream);
  });
}

void NcclCommunicator::allGather(const void *in, void *out, int64_t count, dtcc_dtype type) {
  member.issue("ncclAllGather", stream,
               [&](void *group) { return nccl().allGather(in, out, bytesOf(count, type), kInt8, group, stream); });
}

void NcclCommunicator::reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type,
                                     dtcc_reduction reduction) {
  int element = typeOf(type), fold = reductionOf(reduction, type);
  member.issue("ncclReduceScatter", stream, [&](void *group) {
    return nccl().reduceScatter(in, out, static_cast<size_t>(count), element, fold, group, stream);
  });
}

void NcclCommunicator::broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) {
  member.issue("ncclBroadcast", stream,
               [&](void *group) { return nccl().broadcast(in, out, bytesOf(count, type), kInt8, 0, group, stream); });
}

void NcclCommunicator::allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) {
  size_t part = bytesOf(count, type);
  issueGroup("ncclSend and ncclRecv of an all-to-all", [&](void *group) {
    int error = 0;
    for (int peer = 0; peer < static_cast<int>(size()) && !error; ++peer) {
      auto offset = static_cast<size_t>(peer) * part;
      error = nccl().send(static_cast<const char *>(in) + offset, part, kInt8, peer, group, stream);
      error = error ? error : nccl().receive(static_cast<char *>(out) + offset, part, kInt8, peer, group, stream);
    }
    return error;
  });
}

void NcclCommunicator::shift(const void *in, void *out, int64_t bytes) {
  auto next = static_cast<int>((index() + 1) % size()), last = static_cast<int>((index() + size() - 1) % size());
  issueGroup("ncclSend and ncclRecv of a shift", [&](void *group) {
    int error = nccl().send(in, static_cast<size_t>(bytes), kInt8, next, group, stream);
    return error ? error : nccl().receive(out, static_cast<size_t>(bytes), kInt8, last, group, stream);
  });
}

[[noreturn]] static void leftToOthers() { fail("NCCL was asked for what others do"); }
void NcclCommunicator::allToAllRows(const void *, void *, int64_t, const RowLists &) { leftToOthers(); }
void NcclCommunicator::barrier() { leftToOthers(); }
void NcclCommunicator::reserveSend(int64_t, int64_t) { leftToOthers(); }
void NcclCommunicator::send(const void *, int64_t, int64_t) { leftToOthers(); }
void NcclCommunicator::receive(void *, int64_t, int64_t) { leftToOthers(); }

} // namespace dtcc::rt::cuda
