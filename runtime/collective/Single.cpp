//===- Single.cpp - A group of one ---------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan of one rank, and groups of one member in any plan (an axis of size 1):
// nothing is exchanged, results are copies.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Single.h"

#include "runtime/core/Error.h"

#include <cstring>

namespace dtcc::rt {
namespace {

void copy(const void *in, void *out, int64_t count, dtcc_dtype type) {
  if (in != out && count > 0)
    std::memmove(out, in, static_cast<size_t>(count * dtcc_dtype_size(type)));
}

class SingleCommunicator final : public Communicator {
public:
  SingleCommunicator() : Communicator(1, 0) {}
  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction) override {
    copy(in, out, count, type);
  }
  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type) override { copy(in, out, count, type); }
  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction) override {
    copy(in, out, count, type);
  }
  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) override { copy(in, out, count, type); }
  void allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) override {
    for (size_t i = 0; i < lists.sendRows.size(); ++i)
      std::memcpy(static_cast<std::byte *>(out) + lists.receiveRows[i] * rowBytes,
                  static_cast<const std::byte *>(in) + lists.sendRows[i] * rowBytes, static_cast<size_t>(rowBytes));
  }
  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) override { copy(in, out, count, type); }
  void barrier() override {}
  void reserveSend(int64_t, int64_t) override {}
  void send(const void *, int64_t, int64_t) override { fail("a group of one member cannot send"); }
  void receive(void *, int64_t, int64_t) override { fail("a group of one member cannot receive"); }
  uint64_t stagingBytes() const override { return 0; }
};

class SingleTransport final : public Transport {
public:
  std::vector<int64_t> localRanks() const override { return {0}; }
  std::unique_ptr<Communicator> group(const std::string &, std::span<const int64_t>, int64_t) override {
    return createSingleCommunicator();
  }
  void abort(int) noexcept override {}
};

} // namespace

std::unique_ptr<Communicator> createSingleCommunicator() { return std::make_unique<SingleCommunicator>(); }

std::unique_ptr<Transport> createSingleTransport(const Launch &launch) {
  if (!launch.launcher.empty() || launch.ranks != 1)
    return nullptr;
  return std::make_unique<SingleTransport>();
}

} // namespace dtcc::rt
