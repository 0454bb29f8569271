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

namespace dtcc::rt::test {
namespace {

/// Messages between threads, counted.
struct Wire {
  std::mutex lock;
  std::condition_variable come;
  std::map<std::tuple<int64_t, int64_t, uint32_t>, std::deque<std::vector<std::byte>>> messages; /* from, to, channel */
  size_t bytes = 0;
};

class CountedLink final : public Link {
public:
  CountedLink(Wire &wire, int64_t me) : wire(wire), me(me) {}
  void post(int64_t rank, uint32_t channel, std::vector<std::byte> data) override {
    std::lock_guard<std::mutex> guard(wire.lock);
    wire.bytes += data.size();
    wire.messages[{me, rank, channel}].push_back(std::move(data));
    wire.come.notify_all();
  }
  void drain(int64_t, size_t, const Describe &) override {}
  int64_t take(int64_t rank, uint32_t channel, void *into, int64_t bytes, const Describe &) override {
    std::unique_lock<std::mutex> guard(wire.lock);
    auto &queue = wire.messages[{rank, me, channel}];
    wire.come.wait(guard, [&] { return !queue.empty(); });
    std::vector<std::byte> message = std::move(queue.front());
    queue.pop_front();
    std::memcpy(into, message.data(), std::min(message.size(), static_cast<size_t>(bytes)));
    return static_cast<int64_t>(message.size());
  }

private:
  Wire &wire;
  int64_t me;
};

/// Runs `call` on ranks of as many hosts of one rank each; returns the bytes between them.
size_t bytesBetween(int64_t ranks, const std::function<void(Communicator &)> &call) {
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
  return wire.bytes;
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
      size_t all = bytesBetween(ranks, [&](Communicator &group) {
        std::vector<float> in = inputOf(group), out(in.size());
        group.allReduce(in.data(), out.data(), count, DTCC_F32, DTCC_SUM);
        if (group.index() == 0)
          whole = out;
      });
      size_t scattered = bytesBetween(ranks, [&](Communicator &group) {
        std::vector<float> in = inputOf(group), out(static_cast<size_t>(part));
        group.reduceScatter(in.data(), out.data(), part, DTCC_F32, DTCC_SUM);
        EXPECT_EQ(std::memcmp(out.data(), whole.data() + group.index() * part, out.size() * sizeof(float)), 0)
            << "rank " << group.index();
      });
      EXPECT_EQ(all, static_cast<size_t>(2 * (ranks - 1) * count) * sizeof(float));
      EXPECT_EQ(scattered * 4, all * 3) << part << " of " << ranks;
    }
}

} // namespace
} // namespace dtcc::rt::test
