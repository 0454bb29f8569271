//===- ExecutorTest.cpp - The executor runs what the table says -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Executor.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/driver/Driver.h"
#include "runtime/device/CreateDevice.h"
#include "tests/unit/runtime/ImageBuilder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string_view>
#include <thread>

namespace dtcc::rt::test {
namespace {

void addOneKernel(const dtcc_rank *, void *const *buffers, int64_t begin, int64_t end) {
  auto *values = static_cast<float *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    values[i] += 1;
}

/// Writes rank, slot, step and the mesh coordinates.
void contextKernel(const dtcc_rank *rank, void *const *buffers, int64_t, int64_t) {
  auto *values = static_cast<int64_t *>(buffers[0]);
  values[0] = rank->rank * 1000 + rank->ranks;
  values[1] = rank->slot;
  values[2] = rank->step;
  values[3] = rank->coordinates[0] * 10 + rank->coordinates[1];
}

/// The two flags: is this rank 0, is it rank 1.
void flagKernel(const dtcc_rank *rank, void *const *buffers, int64_t, int64_t) {
  *static_cast<int32_t *>(buffers[0]) = rank->rank == 0;
  *static_cast<int32_t *>(buffers[1]) = rank->rank == 1;
}

const dtcc_kernel kernels[] = {addOneKernel, contextKernel, flagKernel};

/// PTX of the three kernels above. Each iteration runs as a block of one thread.
const char gpuKernels[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 p0, .param .u64 flag, .param .u64 p1) {
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd1, [flag];
  setp.eq.s64 %p1, %rd1, 0;
  @%p1 bra WORK;
  ld.global.u32 %r2, [%rd1];
  setp.eq.s32 %p2, %r2, 0;
  @%p2 ret;
WORK:
  ld.param.u64 %rd1, [p1];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  add.f32 %f2, %f1, 0f3F800000;
  st.global.f32 [%rd3], %f2;
  ret;
}
.visible .entry context(.param .u64 p0, .param .u64 flag, .param .u64 p1) {
  .reg .b64 %rd<14>;
  ld.param.u64 %rd1, [p0];
  ld.param.u64 %rd2, [p1];
  ld.global.u64 %rd3, [%rd1];
  ld.global.u64 %rd4, [%rd1+8];
  mad.lo.s64 %rd5, %rd3, 1000, %rd4;
  st.global.u64 [%rd2], %rd5;
  ld.global.u64 %rd6, [%rd1+16];
  st.global.u64 [%rd2+8], %rd6;
  ld.global.u64 %rd7, [%rd1+32];
  st.global.u64 [%rd2+16], %rd7;
  ld.global.u64 %rd8, [%rd1+40];
  ld.global.u64 %rd9, [%rd8];
  ld.global.u64 %rd10, [%rd8+8];
  mad.lo.s64 %rd11, %rd9, 10, %rd10;
  st.global.u64 [%rd2+24], %rd11;
  ret;
}
.visible .entry flags(.param .u64 p0, .param .u64 flag, .param .u64 p1, .param .u64 p2) {
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p0];
  ld.param.u64 %rd2, [p1];
  ld.param.u64 %rd3, [p2];
  ld.global.u64 %rd4, [%rd1];
  setp.eq.s64 %p1, %rd4, 0;
  setp.eq.s64 %p2, %rd4, 1;
  selp.b32 %r1, 1, 0, %p1;
  selp.b32 %r2, 1, 0, %p2;
  st.global.u32 [%rd2], %r1;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";
const char *const gpuKernelNames[] = {"add_one", "context", "flags"};

/// Turns the program into one for GPUs. The arena `onHost`, if there is one, stays in host memory.
void moveToGpus(ImageBuilder &b, uint32_t onHost) {
  for (uint32_t arena = 0; arena < b.arenas.size(); ++arena)
    b.arenas[arena].kind = arena == onHost ? DTCC_MEMORY_HOST : DTCC_MEMORY_DEVICE;
  for (dtcc_command &command : b.commands)
    if (command.kind == DTCC_KERNEL) {
      b.gpuKernels.push_back({b.string(gpuKernelNames[command.op]), 1, command.extent});
      command.op = static_cast<uint32_t>(b.gpuKernels.size() - 1);
    }
  b.gpuCode.assign(std::begin(gpuKernels), std::end(gpuKernels));
  b.gpuModules = {{80, DTCC_GPU_PTX, 0, sizeof gpuKernels}};
}

/// Tests the executor's promises on every device. "host" runs without a GPU. With a driver, "cuda" runs all ranks on
/// one GPU with collectives through the host, and "nccl" gives each rank a GPU of its own as far as there are GPUs.
class Executor : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (std::string_view(GetParam()) == "host")
      return;
    try {
      cuda::driver();
    } catch (const Error &error) {
      GTEST_SKIP() << error.what();
    }
  }
  void runAll(ImageBuilder &b, int64_t steps, const std::function<void(Rank &)> &inspect, int threadsPerRank = 1,
              bool overlap = false);
  /// Writes the host's values before each step.
  std::function<void(Rank &, Device &)> beforeStep = [](Rank &, Device &) {};
  GraphUse graphs = GraphUse::Auto;
  /// Arena that a program for GPUs keeps in host memory, or DTCC_NONE.
  uint32_t onHost = DTCC_NONE;
};

/// Runs steps of a program on all its ranks as threads; then `inspect` each rank.
void Executor::runAll(ImageBuilder &b, int64_t steps, const std::function<void(Rank &)> &inspect, int threadsPerRank,
                      bool overlap) {
  if (std::string_view(GetParam()) != "host")
    moveToGpus(b, onHost);
  std::vector<uint64_t> bytes = b.build();
  Image image(bytes.data(), std::size(kernels));
  Launch launch;
  launch.ranks = image.mesh().ranks();
  auto transport = createTransport(launch);
  auto body = [&](int64_t number) {
    ThreadTeam team(threadsPerRank);
    Rank rank(image, number, team, 0);
    std::vector<std::unique_ptr<Communicator>> groups;
    for (const dtcc_communicator &communicator : image.communicators()) {
      groups.push_back(transport->group(std::string(image.string(communicator.name)),
                                        image.mesh().members(communicator, number), number));
      rank.communicators.push_back(groups.back().get());
    }
    DeviceSetup setup{rank, kernels};
    setup.ordinal = std::string_view(GetParam()) == "nccl" ? number : 0;
    setup.graphs = graphs;
    std::unique_ptr<Device> device = createDevice(setup);
    dtcc::rt::Executor executor(rank, *device);
    executor.bind();
    executor.begin();
    if (overlap)
      device->overlap();
    for (int64_t step = 1; step <= steps; ++step) {
      rank.abi.step = step;
      beforeStep(rank, *device);
      executor.runStep([](int64_t) {});
    }
    std::vector<uint32_t> views(image.views().size());
    std::iota(views.begin(), views.end(), 0u);
    for (int64_t slot = 0; slot < image.mesh().slots(); ++slot)
      device->download(views, slot);
    inspect(rank);
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < image.mesh().ranks(); ++i)
    others.emplace_back(body, i);
  body(0);
  for (std::thread &other : others)
    other.join();
}

template <typename T> std::vector<T> contents(Rank &rank, uint32_t view, int64_t slot = 0) {
  auto *start = static_cast<const T *>(rank.address(view, slot));
  return {start, start + elementCount(rank.image.views()[view])};
}

TEST_P(Executor, KernelsSeeTheirContextAndCoverTheirRange) {
  for (int threads : {1, 2, 3}) {
    ImageBuilder b;
    b.axis("dp", 2);
    b.axis("mb", 2, DTCC_AXIS_TIME);
    uint32_t arena = b.arena("work");
    uint32_t values = b.view(arena, DTCC_F32, {1000}), context = b.view(arena, DTCC_I64, {4}, 2);
    b.kernel(0, {values}, 1000, 10);
    b.kernel(1, {context}, 1);
    uint32_t phase = b.phase("all");
    b.action(phase, 0);
    b.action(phase, 1);
    runAll(
        b, 3,
        [&](Rank &rank) {
          EXPECT_EQ(contents<float>(rank, values), std::vector<float>(1000, 6));
          for (int64_t slot : {0, 1})
            EXPECT_EQ(contents<int64_t>(rank, context, slot),
                      (std::vector<int64_t>{rank.abi.rank * 1000 + 2, slot, 3, rank.abi.rank * 10 + slot}));
        },
        threads);
  }
}

TEST_P(Executor, PutsMicroBatchesInTheSlotsOfAnOrder) {
  ImageBuilder b;
  b.axis("dp", 1);
  b.axis("mb", 2, DTCC_AXIS_TIME);
  uint32_t arena = b.arena("work"), context = b.view(arena, DTCC_I64, {4}, 3);
  std::vector<uint32_t> slots;
  for (int64_t slot = 0; slot < 3; ++slot) {
    dtcc_view plain = b.views[context];
    plain.offset += slot * std::exchange(plain.slot_stride, 0);
    b.views.push_back(plain);
    slots.push_back(static_cast<uint32_t>(b.views.size() - 1));
  }
  b.slotOrders = {1, 2, 0}; // the view's are the last two
  b.views[context].slots = 2;
  b.views[context].slot_order = 1 + 1;
  b.kernel(1, {context}, 1);
  uint32_t phase = b.phase("all");
  b.action(phase, 0);
  b.action(phase, 1);
  runAll(b, 1, [&](Rank &rank) {
    EXPECT_EQ(contents<int64_t>(rank, slots[2])[1], 0);
    EXPECT_EQ(contents<int64_t>(rank, slots[0])[1], 1);
    EXPECT_EQ(contents<int64_t>(rank, slots[1]), std::vector<int64_t>(4, 0));
    EXPECT_EQ(contents<int64_t>(rank, context, 1)[1], 1);
  });
}

TEST_P(Executor, CopiesAnyStrides) {
  ImageBuilder b;
  uint32_t arena = b.arena("work");
  uint32_t from = b.view(arena, DTCC_F32, {3, 4, 5}), to = b.view(arena, DTCC_F32, {5, 3, 4});
  // The target's memory is [5, 3, 4]; seen as [3, 4, 5] it is a transposition.
  dtcc_view turned = b.views[to];
  turned.sizes[0] = 3, turned.sizes[1] = 4, turned.sizes[2] = 5;
  turned.strides[0] = 4, turned.strides[1] = 1, turned.strides[2] = 12;
  b.views.push_back(turned);
  auto turnedView = static_cast<uint32_t>(b.views.size() - 1);
  // Every value different: fill, then add its own index by kernels over growing tails.
  b.fill(from, std::bit_cast<int32_t>(0.0f));
  for (int64_t i = 0; i < 60; ++i) {
    dtcc_view tail = b.views[from];
    tail.rank = 1;
    tail.offset += i * 4;
    tail.sizes[0] = 60 - i;
    tail.strides[0] = 1;
    b.views.push_back(tail);
    b.kernel(0, {static_cast<uint32_t>(b.views.size() - 1)}, 60 - i);
  }
  b.copy(from, turnedView);
  b.action(b.phase("all"));
  runAll(b, 1, [&](Rank &rank) {
    std::vector<float> source = contents<float>(rank, from), target = contents<float>(rank, to);
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 4; ++j)
        for (size_t k = 0; k < 5; ++k) {
          EXPECT_EQ(source[(i * 4 + j) * 5 + k], static_cast<float>((i * 4 + j) * 5 + k + 1));
          EXPECT_EQ(target[(k * 3 + i) * 4 + j], source[(i * 4 + j) * 5 + k]);
        }
  });
}

TEST_P(Executor, FillsStridedViewsOnly) {
  for (dtcc_dtype type : {DTCC_F32, DTCC_F64, DTCC_BF16, DTCC_I8}) {
    ImageBuilder b;
    uint32_t arena = b.arena("work");
    uint32_t all = b.view(arena, type, {4, 6});
    dtcc_view inner = b.views[all];
    inner.offset += dtcc_dtype_size(type);
    inner.sizes[0] = 2, inner.sizes[1] = 3;
    inner.strides[0] = 12, inner.strides[1] = 2;
    b.views.push_back(inner);
    b.fill(static_cast<uint32_t>(b.views.size() - 1), 0x0101010101010101);
    b.action(b.phase("all"));
    runAll(b, 1, [&](Rank &rank) {
      auto *bytes = static_cast<const char *>(rank.address(all, 0));
      for (int64_t i = 0; i < 24; ++i) {
        bool inside = i / 6 % 2 == 0 && i % 6 % 2 == 1;
        for (int64_t byte = 0; byte < dtcc_dtype_size(type); ++byte)
          EXPECT_EQ(bytes[i * dtcc_dtype_size(type) + byte], inside ? 1 : 0) << i;
      }
    });
  }
}

TEST_P(Executor, PredicatesDecide) {
  for (int32_t flag : {0, 1, -1}) {
    ImageBuilder b;
    uint32_t arena = b.arena("work");
    uint32_t values = b.view(arena, DTCC_F32, {4}), predicate = b.view(arena, DTCC_I32, {});
    b.fill(predicate, flag);
    b.kernel(0, {values}, 4).predicate = predicate;
    b.action(b.phase("all"));
    runAll(b, 1, [&](Rank &rank) { EXPECT_EQ(contents<float>(rank, values)[0], flag != 0 ? 1 : 0); });
  }
}

TEST_P(Executor, OneSlotAlone) {
  ImageBuilder b;
  uint32_t arena = b.arena("work");
  b.axis("mb", 3, DTCC_AXIS_TIME);
  uint32_t second = b.view(arena, DTCC_F32, {4}), every = b.view(arena, DTCC_F32, {4});
  b.kernel(0, {second}, 4).only_slot = 1;
  b.kernel(0, {every}, 4);
  uint32_t phase = b.phase("microbatch");
  for (uint32_t slot = 0; slot < 3; ++slot)
    b.action(phase, slot);
  runAll(b, 2, [&](Rank &rank) {
    EXPECT_EQ(contents<float>(rank, second)[0], 2);
    EXPECT_EQ(contents<float>(rank, every)[0], 6);
  });
}

TEST_P(Executor, EveryCollective) {
  ImageBuilder b;
  uint8_t dp = b.axis("dp", 4);
  uint32_t group = b.communicator("dp", {dp}), arena = b.arena("work");
  uint32_t mine = b.view(arena, DTCC_I64, {4}), all = b.view(arena, DTCC_I64, {16});
  uint32_t sum = b.view(arena, DTCC_I64, {16}), share = b.view(arena, DTCC_I64, {4});
  uint32_t turned = b.view(arena, DTCC_I64, {16}), first = b.view(arena, DTCC_I64, {4});
  uint32_t most = b.view(arena, DTCC_I64, {4}), before = b.view(arena, DTCC_I64, {4});
  b.axis("mb", 1, DTCC_AXIS_TIME);
  b.kernel(1, {mine}, 1); // mine[0] = rank * 1000 + 4
  b.collective(DTCC_ALL_GATHER, group, mine, all);
  b.collective(DTCC_ALL_REDUCE, group, all, sum, DTCC_MAX);
  b.collective(DTCC_REDUCE_SCATTER, group, all, share);
  b.collective(DTCC_ALL_TO_ALL, group, all, turned);
  b.collective(DTCC_BROADCAST, group, mine, first);
  b.collective(DTCC_ALL_REDUCE, group, mine, most, DTCC_MAX);
  b.collective(DTCC_SHIFT, group, mine, before);
  b.action(b.phase("all"));
  runAll(b, 1, [&](Rank &rank) {
    std::vector<int64_t> gathered = contents<int64_t>(rank, all);
    for (int64_t r = 0; r < 4; ++r)
      EXPECT_EQ(gathered[static_cast<size_t>(r * 4)], r * 1000 + 4);
    EXPECT_EQ(contents<int64_t>(rank, sum), gathered);
    EXPECT_EQ(contents<int64_t>(rank, share)[0], 4 * (rank.abi.rank * 1000 + 4));
    EXPECT_EQ(contents<int64_t>(rank, turned)[4], rank.abi.rank * 1000 + 4);
    EXPECT_EQ(contents<int64_t>(rank, first)[0], 4);
    EXPECT_EQ(contents<int64_t>(rank, most)[0], 3004);
    EXPECT_EQ(contents<int64_t>(rank, before)[0], (rank.abi.rank + 3) % 4 * 1000 + 4);
  });
}

// A reduction on a stream of its own, beside kernels, gives the same as on one thread; who needs it waits.
TEST_P(Executor, StreamsOverlap) {
  for (bool overlap : {false, true}) {
    ImageBuilder b;
    uint8_t dp = b.axis("dp", 2);
    b.axis("mb", 1, DTCC_AXIS_TIME);
    uint32_t group = b.communicator("dp", {dp}), arena = b.arena("work");
    uint32_t mine = b.view(arena, DTCC_F32, {50000}), sum = b.view(arena, DTCC_F32, {50000});
    uint32_t other = b.view(arena, DTCC_F32, {1000});
    b.kernel(0, {mine}, 50000, 100); // adds 1
    b.collective(DTCC_ALL_REDUCE, group, mine, sum).stream = 1;
    b.kernel(0, {other}, 1000, 10);
    dtcc_command &reader = b.kernel(0, {sum}, 50000, 100);
    b.waits.push_back({1}); // the reduction
    reader.wait_count = 1;
    b.action(b.phase("all"));
    runAll(
        b, 20,
        [&](Rank &rank) {
          EXPECT_EQ(contents<float>(rank, mine), std::vector<float>(50000, 20));
          EXPECT_EQ(contents<float>(rank, other), std::vector<float>(1000, 20));
          // The last sum of two ranks, and 1.
          EXPECT_EQ(contents<float>(rank, sum), std::vector<float>(50000, 41));
        },
        1, overlap);
  }
}

// Steps launched as CUDA graphs see the values that the host writes between steps, predicates included.
TEST_P(Executor, KeptStepsSeeWhatChanges) {
  for (GraphUse use : {GraphUse::Off, GraphUse::Auto}) {
    ImageBuilder b;
    uint8_t dp = b.axis("dp", 2);
    b.axis("mb", 3, DTCC_AXIS_TIME);
    uint32_t group = b.communicator("dp", {dp}), arena = b.arena("work");
    uint32_t fresh = b.view(arena, DTCC_F32, {4}), sum = b.view(arena, DTCC_F32, {4}),
             all = b.view(arena, DTCC_F32, {4});
    uint32_t flag = b.view(arena, DTCC_I32, {}), odd = b.view(arena, DTCC_F32, {4});
    uint32_t context = b.view(arena, DTCC_I64, {4}, 3);
    b.kernel(1, {context}, 1);
    b.copy(fresh, sum);
    b.collective(DTCC_ALL_REDUCE, group, sum, all).stream = 1;
    b.kernel(0, {odd}, 4).predicate = flag;
    b.collective(DTCC_ALL_REDUCE, group, all, sum).stream = 1;
    dtcc_command &reader = b.kernel(0, {all}, 4);
    b.waits.push_back({4});
    reader.wait_count = 1;
    uint32_t phase = b.phase("all");
    for (uint32_t slot = 0; slot < 3; ++slot)
      b.action(phase, slot);
    graphs = use;
    beforeStep = [=](Rank &rank, Device &device) {
      *static_cast<int32_t *>(rank.address(flag, 0)) = static_cast<int32_t>(rank.abi.step % 2);
      std::fill_n(static_cast<float *>(rank.address(fresh, 0)), 4, static_cast<float>(10 * rank.abi.step));
      device.upload(flag, 0);
      device.upload(fresh, 0);
    };
    runAll(b, 5, [&](Rank &rank) {
      EXPECT_EQ(contents<float>(rank, sum), std::vector<float>(4, 200));
      EXPECT_EQ(contents<float>(rank, all), std::vector<float>(4, 101));
      EXPECT_EQ(contents<float>(rank, odd), std::vector<float>(4, 9)); // three steps of three slots
      for (int64_t slot = 0; slot < 3; ++slot)
        EXPECT_EQ(contents<int64_t>(rank, context, slot)[2], 5);
    });
  }
}

// A pipeline of two stages: member 0 sends each slot's value, member 1 receives it.
TEST_P(Executor, MessagesArriveInOrder) {
  ImageBuilder b;
  uint8_t pp = b.axis("pp", 2);
  b.axis("mb", 4, DTCC_AXIS_TIME);
  uint32_t group = b.communicator("pp", {pp}), arena = b.arena("work");
  uint32_t mine = b.view(arena, DTCC_I64, {4}), got = b.view(arena, DTCC_I64, {4}, 4);
  uint32_t isFirst = b.view(arena, DTCC_I32, {}), isSecond = b.view(arena, DTCC_I32, {});
  b.kernel(1, {mine}, 1);
  b.kernel(2, {isFirst, isSecond}, 1);
  dtcc_command &send = b.command(DTCC_SEND, 0, {mine}, {1, 1});
  send.communicator = group;
  send.predicate = isFirst;
  dtcc_command &receive = b.command(DTCC_RECEIVE, 0, {got}, {0});
  receive.communicator = group;
  receive.predicate = isSecond;
  uint32_t phase = b.phase("all");
  for (uint32_t slot = 0; slot < 4; ++slot)
    b.action(phase, slot);
  runAll(b, 5, [&](Rank &rank) {
    for (int64_t slot = 0; slot < 4; ++slot)
      EXPECT_EQ(contents<int64_t>(rank, got, slot),
                rank.abi.rank == 1 ? (std::vector<int64_t>{2, slot, 5, slot}) : std::vector<int64_t>(4));
  });
}

// Parameters and momentum in an arena of their own, which on GPUs is memory of the host: zero at the start, whatever is
// written there before the first step is seen, and the host sees what the steps left.
TEST_P(Executor, UpdatesReachMemoryOfTheHost) {
  ImageBuilder b;
  b.axis("dp", 2);
  constexpr int64_t size = 5000; // some blocks of the update's kernel, the last one not full
  uint32_t host = onHost = b.arena("host"), arena = b.arena("work");
  uint32_t p = b.view(host, DTCC_F32, {size}), momentum = b.view(host, DTCC_F32, {size});
  uint32_t gradient = b.view(arena, DTCC_F32, {size}), scale = b.view(arena, DTCC_F32, {});
  uint32_t lr = b.view(arena, DTCC_F32, {}), step = b.view(arena, DTCC_I64, {});
  b.fill(gradient, std::bit_cast<int32_t>(1.0f));
  b.fill(scale, std::bit_cast<int32_t>(2.0f));
  b.fill(lr, std::bit_cast<int32_t>(0.5f));
  b.fill(step, 2);
  b.command(DTCC_LIBRARY, DTCC_LIB_SGD, {gradient, scale, lr, step, p, momentum},
            {0, -1, std::bit_cast<int64_t>(0.5), 0, 0, 0});
  b.action(b.phase("all"));
  dtcc_bucket bucket{};
  bucket.view = p, bucket.length = size, bucket.parameters = DTCC_NONE;
  b.buckets.push_back(bucket);
  dtcc_state state{};
  state.name = b.string("p"), state.view = p, state.rank = state.saved_rank = 1, state.parameter = DTCC_NONE;
  state.trainable = 1, state.saved_sizes[0] = size, state.dims[0] = dimOf(size, size);
  b.states.push_back(state);
  b.segments.push_back({0, 0, 0, size, 0, 1});
  beforeStep = [&](Rank &rank, Device &device) {
    if (rank.abi.step != 3)
      return;
    device.downloadStates();                                                 // what is saved in between
    EXPECT_EQ(contents<float>(rank, momentum), std::vector<float>(size, 3)); // 2, then 1 + 2
    EXPECT_EQ(contents<float>(rank, p), std::vector<float>(size, -2.5));
  };
  runAll(b, 3, [&](Rank &rank) {
    EXPECT_EQ(contents<float>(rank, momentum), std::vector<float>(size, 3.5));
    EXPECT_EQ(contents<float>(rank, p), std::vector<float>(size, -4.25));
  });
}

// Samples are sent to memory of the GPU and go from there to their input, whatever else the streams do first. Without
// such memory (more is to stay free than there is) they go to their input from the host's memory.
TEST_P(Executor, SamplesAreSentAhead) {
  for (const uint64_t spare : {uint64_t{0}, uint64_t{1} << 50}) {
    ImageBuilder b;
    uint32_t arena = b.arena("work"), counter = b.view(arena, DTCC_F32, {4});
    std::vector<uint32_t> inputs;
    for (int i = 0; i < 4; ++i)
      inputs.push_back(b.view(arena, DTCC_F32, {4}));
    b.kernel(0, {counter}, 4);
    b.action(b.phase("all"));
    bool lends = false;
    beforeStep = [&](Rank &, Device &device) {
      std::byte *one = device.lend(sizeof(float[4])), *other = device.lend(sizeof(float[4]));
      lends = one && other;
      if (!lends)
        return;
      device.reserveAhead(spare);
      auto write = [&](std::byte *room, float value) {
        device.awaitUploads(room);
        std::fill_n(reinterpret_cast<float *>(room), 4, value);
      };
      auto send = [&](const std::byte *room) { std::thread([&] { EXPECT_TRUE(device.sendAhead(room)); }).join(); };
      write(one, 1);
      send(one);
      write(one, 10);
      device.uploadFrom(one, inputs[0], 0);
      // The samples sent next leave alone those that the first stream has still to copy.
      write(other, 2);
      send(other);
      device.awaitUploads(other);
      device.uploadFrom(other, inputs[1], 0);
      // The first stream copies what has arrived.
      write(one, 3);
      send(one);
      device.uploadFrom(one, inputs[2], 0);
      device.download(std::span(&inputs[2], 1), 0);
      // Samples that nobody takes arrive before those that are sent behind them.
      write(other, 4);
      send(other);
      write(one, 5);
      send(one);
      device.awaitUploads(one);
      device.awaitUploads(other);
      device.uploadFrom(one, inputs[3], 0);
    };
    runAll(b, 1, [&](Rank &rank) {
      EXPECT_EQ(lends, std::string_view(GetParam()) != "host");
      const float expected[] = {spare == 0 ? 1.0f : 10.0f, 2, 3, 5};
      for (size_t i = 0; lends && i < inputs.size(); ++i)
        EXPECT_EQ(contents<float>(rank, inputs[i]), std::vector<float>(4, expected[i])) << i << " " << spare;
    });
  }
}

// The driver reads it when it is opened; the emulated one has a queue for each stream, whatever it says.
TEST(Driver, IsAskedForQueuesForAllStreams) { EXPECT_STREQ(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32"); }

INSTANTIATE_TEST_SUITE_P(Devices, Executor, testing::Values("host", "cuda", "nccl"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace dtcc::rt::test
