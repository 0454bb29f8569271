//===- NcclMember.cpp - A rank in a communicator of NCCL ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/NcclMember.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace dtcc::rt::cuda {
namespace {

void check(const Gpu &gpu, int error, const char *call) {
  if (error != 0)
    failWith(Status::Device, gpu.where(), ": ", call, ": ", nccl().errorString(error));
}

/// Message that members exchange before they join a communicator.
struct Offer {
  unsigned char uuid[16];
  unsigned char there, mayShare;
};

/// Older ones do not know the variable, and fail when they find two ranks on a GPU.
bool mayShare() {
  constexpr int kFirstVersion = 23000;
  const char *share = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  int version = 0;
  return share && std::strcmp(share, "1") == 0 && nccl().version(&version) == 0 && version >= kFirstVersion;
}

} // namespace

const Nccl &nccl() {
  static const Nccl opened = [] {
    Nccl library;
    library.problem =
        openLibrary({"libnccl.so.2"}, {
#define DTCC_NCCL_FUNCTION(FIELD, SYMBOL, PARAMETERS) {#SYMBOL, reinterpret_cast<void **>(&library.FIELD)},
#include "runtime/cuda/collective/Nccl.def"
                                          {"ncclGetErrorString", reinterpret_cast<void **>(&library.errorString)}});
    if (!library.problem.empty())
      std::cerr << message("note: what ranks send each other goes through the host, which is slower: ", library.problem,
                           "\n")
                << std::flush;
    return library;
  }();
  return opened;
}

NcclUse NcclMember::agree(Communicator &host, const Gpu &gpu) {
  if (host.size() < 2)
    return NcclUse::None;
  Offer mine = {};
  gpu.uuid(mine.uuid);
  mine.there = nccl().problem.empty();
  mine.mayShare = mine.there && mayShare();
  std::vector<Offer> all(static_cast<size_t>(host.size()));
  host.allGather(&mine, all.data(), sizeof mine, DTCC_I8);
  NcclUse use = NcclUse::OwnGpus;
  for (const Offer &one : all) {
    auto shares = [&one](const Offer &other) {
      return &one != &other && std::memcmp(one.uuid, other.uuid, sizeof one.uuid) == 0;
    };
    bool isShared = std::ranges::any_of(all, shares);
    if (!one.there || (isShared && !one.mayShare))
      return NcclUse::None;
    if (isShared)
      use = NcclUse::SharedGpus;
  }
  return use;
}

NcclId NcclMember::makeId(const Gpu &gpu) {
  NcclId id = {};
  check(gpu, nccl().makeId(&id), "ncclGetUniqueId");
  return id;
}

NcclMember::NcclMember(const NcclId &id, int64_t size, int64_t index, std::string name, Gpu &gpu, Watchdog *dog,
                       int mostBlocks)
    : name(std::move(name)), gpu(gpu), dog(dog) {
  NcclConfig config;
  if (mostBlocks)
    config.mostBlocks = mostBlocks;
  auto join = [&] { return nccl().join(&group, static_cast<int>(size), id, static_cast<int>(index), &config); };
  check(gpu, gpu.waiting(join), "ncclCommInitRankConfig");
  watched.error = [group = group] {
    int error = 0;
    nccl().asyncError(group, &error);
    return error == 0 || error == kInProgress ? std::string() : nccl().errorString(error);
  };
  watched.abort = [group = group] { nccl().abort(group); };
  if (dog)
    dog->add(watched);
}

NcclMember::~NcclMember() {
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

void NcclMember::finish(const char *what, int error) { check(gpu, error, what); }

void NcclMember::watch(const char *what, CUstream stream) {
  ++watchedCalls;
  if (dog)
    dog->issued(what, name, watchedCalls, stream);
}

} // namespace dtcc::rt::cuda
