//===- TwoLevelGroupTest.cpp - Bytes between hosts ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/TwoLevelGroup.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <tuple>

namespace dtcc::rt::test {
namespace {

/// Messages between threads, counted. Each takes as long as it has bytes, behind those that go the same way; nothing
/// else takes any time.
struct Wire {
  struct Message {
    std::vector<std::byte> data;
    size_t arrival;
  };
  std::mutex lock;
  std::condition_variable come;
  std::map<std::tuple<int64_t, int64_t, uint32_t>, std::deque<Message>> messages; /* from, to, channel */
  std::map<std::pair<int64_t, int64_t>, size_t> busyUntil;                        /* from, to */
  size_t bytes = 0, end = 0; /* the last arrival that a rank waited for */
};

class CountedLink final : public Link {
public:
  CountedLink(Wire &wire, int64_t me) : wire(wire), me(me) {}
  void post(int64_t rank, uint32_t channel, std::vector<std::byte> data) override {
    std::lock_guard<std::mutex> guard(wire.lock);
    wire.bytes += data.size();
    size_t &arrival = wire.busyUntil[{me, rank}];
    arrival = std::max(arrival, now) + data.size();
    wire.messages[{me, rank, channel}].push_back({std::move(data), arrival});
    wire.come.notify_all();
  }
  void drain(int64_t, size_t, const Describe &) override {}
  Notes ask(std::span<const int64_t>) override { return {}; }
  int64_t take(int64_t rank, uint32_t channel, void *into, int64_t bytes, const Describe &) override {
    std::unique_lock<std::mutex> guard(wire.lock);
    auto &queue = wire.messages[{rank, me, channel}];
    wire.come.wait(guard, [&] { return !queue.empty(); });
    Wire::Message message = std::move(queue.front());
    queue.pop_front();
    now = std::max(now, message.arrival);
    wire.end = std::max(wire.end, now);
    std::memcpy(into, message.data.data(), std::min(message.data.size(), static_cast<size_t>(bytes)));
    return static_cast<int64_t>(message.data.size());
  }

private:
  Wire &wire;
  int64_t me;
  size_t now = 0; /* of this rank */
};

/// Bytes between ranks, and the time until the last has what it waits for.
struct Traffic {
  size_t bytes, time;
};

/// Runs `call` on ranks of as many hosts of one rank each.
Traffic trafficOf(int64_t ranks, const std::function<void(Communicator &)> &call) {
  Wire wire;
  std::vector<int64_t> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::thread> threads;
  for (int64_t rank : all)
    threads.emplace_back([&, rank] {
      CountedLink link(wire, rank);
      uint32_t channel = 0;
      call(*twoLevelGroup("all", all, rank, all, nullptr, link, channel));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &[way, queue] : wire.messages)
    EXPECT_TRUE(queue.empty());
  return {wire.bytes, wire.end};
}

/// Value `i` of rank `rank`: sums depend on their order.
float valueOf(int64_t rank, int64_t i) { return static_cast<float>((rank * 7919 + i * 104729) % 100003) * 1.37e-3F; }

/// Results go back along the chain of hosts only as far as somebody needs them.
TEST(TwoLevelGroup, AReduceScatterSendsLessThanAnAllReduce) {
  // Parts of one chunk, of one that does not divide, of more than the window holds.
  for (int64_t part : {20000, 20001, 900007})
    for (int64_t ranks : {2, 3}) {
      const int64_t count = part * ranks;
      std::vector<float> whole(static_cast<size_t>(count));
      auto inputOf = [&](const Communicator &group) {
        std::vector<float> in(static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i)
          in[static_cast<size_t>(i)] = valueOf(group.index(), i);
        return in;
      };
      const Traffic all = trafficOf(ranks, [&](Communicator &group) {
        std::vector<float> in = inputOf(group), out(in.size());
        group.allReduce(in.data(), out.data(), count, DTCC_F32, DTCC_SUM);
        if (group.index() == 0)
          whole = out;
      });
      const Traffic scattered = trafficOf(ranks, [&](Communicator &group) {
        std::vector<float> in = inputOf(group), out(static_cast<size_t>(part));
        group.reduceScatter(in.data(), out.data(), part, DTCC_F32, DTCC_SUM);
        EXPECT_EQ(std::memcmp(out.data(), whole.data() + group.index() * part, out.size() * sizeof(float)), 0)
            << "rank " << group.index();
      });
      EXPECT_EQ(all.bytes, static_cast<size_t>(2 * (ranks - 1) * count) * sizeof(float));
      EXPECT_EQ(scattered.bytes * 4, all.bytes * 3) << part << " of " << ranks;
    }
}

/// Values go over each wire once in each direction, and the two directions overlap.
TEST(TwoLevelGroup, AnAllReduceTakesLittleLongerThanItsBytesOnAWire) {
  for (int64_t count : {1 << 18, 1 << 20, 3 << 20})
    for (int64_t ranks : {2, 3, 4}) {
      const Traffic traffic = trafficOf(ranks, [&](Communicator &group) {
        std::vector<float> values(static_cast<size_t>(count), 1);
        group.allReduce(values.data(), values.data(), count, DTCC_F32, DTCC_SUM);
        EXPECT_EQ(values.back(), static_cast<float>(ranks));
      });
      const auto bytes = static_cast<size_t>(count) * sizeof(float);
      // Results wait for the chunks that may be on their way: four for every hop but the last, which takes one.
      const size_t hops = static_cast<size_t>(ranks) - 1, chunk = std::max<size_t>(32 << 10, bytes / hops / 32);
      EXPECT_LE(traffic.time, bytes + (4 * hops - 3) * chunk) << bytes << " bytes over " << ranks << " hosts";
    }
}

} // namespace
} // namespace dtcc::rt::test
