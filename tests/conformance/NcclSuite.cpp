//===- NcclSuite.cpp - The collective suite among GPUs -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are threads with a GPU each (or one for all: NCCL_MULTI_RANK_GPU_ENABLE=1). What
// the suite passes lies on the host: it is copied to the GPU, and the result back. Exit
// status 77 where there is no GPU, or no NCCL that connects them.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/cuda/collective/GpuRows.h"
#include "runtime/cuda/collective/NcclMessages.h"
#include "runtime/cuda/driver/GpuLauncher.h"
#include "tests/conformance/CollectiveSuite.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>
#include <mutex>
#include <numeric>
#include <thread>

using namespace dtcc::rt;
using namespace dtcc::rt::cuda;
using namespace dtcc::rt::test;

namespace {

constexpr int kSkipped = 77;
constexpr uint64_t kBytes = 64 << 20;
/// Messages of a member that an action receives at most.
constexpr int64_t kReceived = 2;

struct Skipped {
  std::string why;
};

/// The memory of a GPU that calls are made in, one piece behind the other.
class Bench {
public:
  explicit Bench(Gpu &gpu) : gpu(gpu), memory(gpu.allocate(kBytes, "a test")) {}

  /// Copies the host's bytes [from, from + bytes) to the device, and returns their address there.
  void *load(const void *from, int64_t bytes) {
    CUdeviceptr at = take(bytes);
    gpu.copyToDevice(at, from, static_cast<uint64_t>(bytes), gpu.firstStream());
    return reinterpret_cast<void *>(at);
  }
  void *room(int64_t bytes) { return reinterpret_cast<void *>(take(bytes)); }
  /// Ends a call, which may have written `bytes` at `at`.
  void store(void *to, const void *at, int64_t bytes) {
    gpu.copyToHost(to, reinterpret_cast<CUdeviceptr>(at), static_cast<uint64_t>(bytes), gpu.firstStream());
    gpu.synchronize(gpu.firstStream());
    used = 0;
  }
  Gpu &gpu;

private:
  CUdeviceptr take(int64_t bytes) {
    CUdeviceptr at = memory + used;
    used += (static_cast<uint64_t>(bytes) + 255) / 256 * 256;
    if (used > kBytes)
      fail("a case of the suite needs more than ", kBytes, " bytes");
    return at;
  }
  CUdeviceptr memory;
  uint64_t used = 0;
};

/// A group of GPUs that takes the host's buffers.
class OnGpus final : public Communicator, public RowMover {
public:
  OnGpus(Communicator &host, Bench &bench, Watchdog *dog)
      : Communicator(host.size(), host.index()), host(host), bench(bench), dog(dog),
        group(NcclCommunicator::open(host, "suite", bench.gpu, dog)) {
    if (!group)
      throw Skipped{"NCCL does not connect the ranks' GPUs"};
    group->useStream(bench.gpu.firstStream());
  }
  int64_t size() const override { return members; }
  int64_t index() const override { return me; }

  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override {
    int64_t bytes = count * dtcc_dtype_size(type);
    void *from = bench.load(in, bytes), *to = in == out ? from : bench.room(bytes);
    group->allReduce(from, to, count, type, reduction);
    bench.store(out, to, bytes);
  }
  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    int64_t bytes = count * dtcc_dtype_size(type);
    auto *to = static_cast<std::byte *>(bench.load(out, members * bytes));
    const void *from = inside(in, out, members * bytes) ? to + me * bytes : bench.load(in, bytes);
    group->allGather(from, to, count, type);
    bench.store(out, to, members * bytes);
  }
  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override {
    int64_t bytes = count * dtcc_dtype_size(type);
    auto *from = static_cast<std::byte *>(bench.load(in, members * bytes));
    void *to = inside(out, in, members * bytes) ? from + me * bytes : bench.room(bytes);
    group->reduceScatter(from, to, count, type, reduction);
    bench.store(out, to, bytes);
  }
  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    int64_t bytes = members * count * dtcc_dtype_size(type);
    void *from = bench.load(in, bytes), *to = bench.room(bytes);
    group->allToAll(from, to, count, type);
    bench.store(out, to, bytes);
  }
  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    int64_t bytes = count * dtcc_dtype_size(type);
    void *from = bench.load(in, bytes), *to = in == out ? from : bench.room(bytes);
    group->broadcast(from, to, count, type);
    bench.store(out, to, bytes);
  }
  void shift(const void *in, void *out, int64_t bytes) override {
    void *from = bench.load(in, bytes), *to = bench.room(bytes);
    group->shift(from, to, bytes);
    bench.store(out, to, bytes);
  }

  /// The first message opens the pairs, when all have reserved theirs.
  void reserveSend(int64_t peer, int64_t bytes) override {
    NcclMessages::Room &room = rooms.out[peer];
    ++room.messages, room.bytes = std::max(room.bytes, bytes);
    // All ranks send alike.
    for (int64_t other = 0; other < members; ++other)
      rooms.in[other] = {kReceived, kReceived * room.bytes};
  }
  void send(const void *data, int64_t bytes, int64_t peer) override {
    open();
    void *from = bench.load(data, bytes);
    messages->send(from, bytes, peer, bench.gpu.firstStream());
    bench.store(nullptr, from, 0);
  }
  void expect(const std::vector<int64_t> &bytes, int64_t peer) {
    open();
    messages->expect(bytes, peer, bench.gpu.firstStream());
  }
  void receive(void *data, int64_t bytes, int64_t peer) override {
    bench.store(data, receiveOnGpu(bytes, peer), bytes);
  }
  /// Returns where the message is when the first stream has run.
  const void *receiveOnGpu(int64_t bytes, int64_t peer) {
    open();
    void *to = bench.room(bytes);
    messages->receive(to, bytes, peer, bench.gpu.firstStream());
    return to;
  }
  void store(void *to, const void *at, int64_t bytes) { bench.store(to, at, bytes); }
  /// Gives the first stream work for a while.
  void keepBusy() {
    constexpr int64_t bytes = 16 << 20;
    auto from = reinterpret_cast<CUdeviceptr>(bench.room(bytes)), to = reinterpret_cast<CUdeviceptr>(bench.room(bytes));
    for (int i = 0; i < 8; ++i)
      bench.gpu.copyWithin(to, from, bytes, bench.gpu.firstStream());
  }

  void dispatch(const RowExchange &exchange, const void *in, const void *ids, void *out) override {
    const int64_t mine = exchange.tokens * exchange.rowBytes(), there = exchange.rowsOfExperts() * exchange.rowBytes();
    std::vector<void *> buffers = {bench.load(in, mine), loadIds(exchange, ids), bench.load(out, there)};
    run(exchange, buffers);
    bench.store(out, buffers[dtcc::RowOperands::out], there);
  }
  void combine(const RowExchange &dispatched, const void *in, const void *ids, void *out) override {
    RowExchange exchange = dispatched;
    exchange.combines = true;
    const int64_t mine = exchange.tokens * exchange.rowBytes(), there = exchange.rowsOfExperts() * exchange.rowBytes();
    std::vector<void *> buffers = {bench.load(in, there), loadIds(exchange, ids), bench.load(out, mine)};
    run(exchange, buffers);
    bench.store(out, buffers[dtcc::RowOperands::out], mine);
  }

  void barrier() override { host.barrier(); }
  void allToAllRows(const void *, void *, int64_t, const RowLists &) override { fail("rows move by GpuRows"); }
  uint64_t stagingBytes() const override { return 0; }

private:
  static bool inside(const void *piece, const void *all, int64_t bytes) {
    return piece >= all && piece < static_cast<const std::byte *>(all) + bytes;
  }
  void open() {
    if (!messages)
      messages = NcclMessages::open(
          host, "messages", rooms, [&](uint64_t bytes) { return bench.gpu.allocate(bytes, "a message"); }, bench.gpu,
          dog);
  }
  void *loadIds(const RowExchange &exchange, const void *ids) {
    return bench.load(ids, exchange.members * exchange.tokens * exchange.picks * dtcc_dtype_size(exchange.idType));
  }
  /// Adds the room that the exchange takes to `buffers`, and runs it.
  void run(const RowExchange &exchange, std::vector<void *> &buffers) {
    const dtcc::RowOperands places(exchange.combines, exchange.isBounded(), /*isForGpus=*/true);
    if (places.isReturned)
      buffers.push_back(bench.room(exchange.rowsReturned() * exchange.rowBytes()));
    if (places.isPacked)
      buffers.push_back(bench.room(exchange.rowsPacked() * exchange.rowBytes()));
    buffers.push_back(bench.room(exchange.listLength() * 8));
    GpuLauncher launcher(bench.gpu, 0);
    GpuRows::bind(exchange, launcher)->run(bench.gpu, *group, bench.gpu.firstStream(), buffers.data());
  }

  Communicator &host;
  Bench &bench;
  Watchdog *dog;
  std::unique_ptr<NcclCommunicator> group;
  NcclMessages::Rooms rooms;
  std::unique_ptr<NcclMessages> messages;
};

/// Messages come to memory of their receiver before it receives them, those of an action when it has received those of
/// the one before. The room is that of checkMessages.
std::string checkExpected(OnGpus &group) {
  const int64_t next = (group.index() + 1) % group.size(), previous = (group.index() + group.size() - 1) % group.size();
  if (group.size() == 1)
    return "";
  std::string wrong;
  for (int64_t round = 0; round < 10; ++round) {
    // Two actions, of one or two messages of several lengths.
    const std::vector<std::vector<int64_t>> actions = {{512 * (round % 3 + 1), 1000}, {2000 + round}};
    for (const std::vector<int64_t> &lengths : actions)
      group.expect(lengths, previous);
    int8_t number = 0;
    for (const std::vector<int64_t> &lengths : actions)
      for (int64_t length : lengths) {
        std::vector<int8_t> out(static_cast<size_t>(length));
        std::ranges::fill(out, static_cast<int8_t>(group.index() * 40 + 3 * round + number++));
        group.send(out.data(), length, next);
      }
    // Messages of the second action must not come while those of the first wait to be copied.
    group.keepBusy();
    std::vector<std::pair<const void *, int64_t>> received;
    for (const std::vector<int64_t> &lengths : actions)
      for (int64_t length : lengths)
        received.push_back({group.receiveOnGpu(length, previous), length});
    number = 0;
    for (auto [place, length] : received) {
      std::vector<int8_t> in(static_cast<size_t>(length));
      group.store(in.data(), place, length);
      const auto want = static_cast<int8_t>(previous * 40 + 3 * round + number++);
      for (int8_t value : in)
        if (value != want && wrong.empty())
          wrong = message("message ", number - 1, " of round ", round, ": got ", int(value), ", expected ", int(want));
    }
  }
  return wrong;
}

std::string runRank(Transport &transport, int64_t ranks, int64_t rank) {
  std::vector<int64_t> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), int64_t{0});
  auto world = transport.group("world", all, rank);
  Gpu gpu(rank, rank);
  // A rank whose peer has failed does not wait for it.
  Watchdog dog(gpu, rank, transport);
  Bench bench(gpu);
  OnGpus gpus(*world, bench, &dog);
  const std::pair<const char *, std::function<std::string()>> parts[] = {
      {"collectives", [&] { return checkCollectives(gpus, Sums::AnyOrder); }},
      {"large collectives", [&] { return checkLarge(gpus, Sums::AnyOrder); }},
      {"shifts", [&] { return checkShifts(gpus); }},
      {"messages", [&] { return checkMessages(gpus); }},
      {"expected messages", [&] { return checkExpected(gpus); }},
      {"rows", [&] { return checkRows(static_cast<RowMover &>(gpus)); }},
  };
  std::string wrong;
  for (const auto &[name, check] : parts) {
    // Where one hangs, the last line tells which.
    if (rank == 0)
      std::cout << ranks << " ranks: " << name << std::endl;
    if (wrong = check(); !wrong.empty())
      break;
  }
  world->barrier();
  return wrong;
}

} // namespace

/// Status of the process.
static int runAll(int64_t ranks) {
  Launch launch;
  launch.ranks = ranks;
  auto transport = createTransport(launch);
  std::mutex lock;
  int status = 0;
  auto body = [&](int64_t rank) {
    std::string wrong;
    int found = 0;
    try {
      wrong = runRank(*transport, ranks, rank);
    } catch (const Skipped &skipped) {
      wrong = skipped.why, found = kSkipped;
    } catch (const Error &error) {
      wrong = error.what(), found = 1;
      transport->abort(found);
    }
    std::lock_guard<std::mutex> guard(lock);
    if (!wrong.empty())
      std::cerr << ranks << " ranks, rank " << rank << ": " << wrong << "\n";
    if (!wrong.empty())
      status = found == kSkipped ? kSkipped : 1;
  };
  std::vector<std::thread> threads;
  for (int64_t rank = 1; rank < ranks; ++rank)
    threads.emplace_back(body, rank);
  body(0);
  for (std::thread &thread : threads)
    thread.join();
  return status;
}

int main() {
  try {
    Gpu(0, 0).info();
  } catch (const Error &error) {
    std::cerr << error.what() << "\n";
    return kSkipped;
  }
  for (int64_t ranks : {2, 3, 4})
    if (int status = runAll(ranks))
      return status;
  std::cout << "PASSED among 2, 3 and 4 ranks\n";
  return 0;
}
