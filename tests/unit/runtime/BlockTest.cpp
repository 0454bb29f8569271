//===- BlockTest.cpp - Cells of blocks, shares and copies ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Block.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/CheckpointWriter.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/Elements.h"
#include "runtime/core/Error.h"
#include "runtime/core/HalfFloat.h"
#include "runtime/core/Philox.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/launch/Initialize.h"
#include "runtime/launch/options/LearningRate.h"
#include "tests/unit/runtime/ImageBuilder.h"
#include "tests/unit/runtime/RunProgram.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

namespace dtcc::rt::test {
namespace {

Mesh meshOf(std::vector<int64_t> sizes) {
  Mesh mesh;
  for (int64_t size : sizes)
    mesh.axes.push_back({size, false});
  return mesh;
}

/// Writes DIR/step-N and waits for it. Called by all ranks.
void writeCheckpoint(const std::string &directory, const RunPosition &position, const RunIdentity &identity,
                     const Rank &rank) {
  FolderDisks disks;
  CheckpointWriter writer(directory, disks, identity, {}, rank, rank.abi.ranks);
  writer.begin(position);
  writer.finish();
}

TEST(Block, RunsCoverTheWholeOnce) {
  // Random layouts: every cell of the whole is held by exactly one owner, and owners'
  // runs ascend.
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    Mesh mesh = meshOf({2, 3, 2});
    StateLayout layout;
    std::vector<uint8_t> free{0, 1, 2};
    std::shuffle(free.begin(), free.end(), random);
    int rank = static_cast<int>(random() % 4);
    int64_t block = 1;
    for (int d = 0; d < rank; ++d) {
      std::vector<uint8_t> axes;
      if (!free.empty() && random() % 2) {
        axes.push_back(free.back());
        free.pop_back();
      }
      if (!free.empty() && random() % 4 == 0) {
        axes.push_back(free.back());
        free.pop_back();
      }
      auto size = static_cast<int64_t>(1 + random() % 7);
      int64_t parts = mesh.extent(axesOf(axes)), padded = (size + parts - 1) / parts * parts;
      layout.dims.push_back(dimOf(size, padded, axes));
      block *= padded / parts;
    }
    if (!free.empty() && random() % 2) {
      layout.shared = true;
      layout.flat = axesOf({free.back()});
      layout.bucketOffset = static_cast<int64_t>(random() % 5);
      int64_t parts = mesh.extent(layout.flat);
      layout.bucketLength = (layout.bucketOffset + block + parts - 1) / parts * parts;
    }
    std::vector<int> seen(static_cast<size_t>(layout.elements()));
    for (int64_t r = 0; r < mesh.ranks(); ++r) {
      std::vector<int64_t> at = mesh.coordinates(r, 0);
      if (!ownsCells(mesh, layout, at.data()))
        continue;
      HeldRuns runs(mesh, layout, at.data(), nullptr);
      int64_t end = 0;
      for (rt::Run run; runs.next(run); end = run.whole + run.length) {
        EXPECT_GE(run.whole, end);
        EXPECT_GE(run.local, 0);
        for (int64_t i = 0; i < run.length; ++i)
          ++seen[static_cast<size_t>(run.whole + i)];
      }
    }
    for (int count : seen)
      EXPECT_EQ(count, 1) << "trial " << trial;
  }
}

TEST(Block, NeighboursJoinIntoOneRun) {
  Mesh mesh = meshOf({2});
  StateLayout rows{{dimOf(4, 4, {0}), dimOf(3, 3), dimOf(5, 5)}};
  int64_t at = 1;
  HeldRuns runs(mesh, rows, &at, nullptr);
  rt::Run run;
  ASSERT_TRUE(runs.next(run));
  EXPECT_EQ(run.whole, 30);
  EXPECT_EQ(run.local, 0);
  EXPECT_EQ(run.length, 30);
  EXPECT_FALSE(runs.next(run));
}

/// One state under a random layout, held by all ranks of a mesh.
struct OneState {
  OneState(std::vector<int64_t> mesh, std::vector<dtcc_dim> dims, std::vector<uint8_t> flat, dtcc_init init) {
    for (size_t i = 0; i < mesh.size(); ++i)
      b.axis("a" + std::to_string(i), mesh[i]);
    Mesh grid = meshOf(mesh);
    uint32_t arena = b.arena("state");
    dtcc_state state{};
    state.name = b.string("s");
    state.rank = state.saved_rank = static_cast<uint32_t>(dims.size());
    state.parameter = DTCC_NONE;
    state.trainable = 1;
    state.init = init;
    state.init_a = 1;
    state.init_b = 2;
    std::vector<int64_t> local;
    int64_t block = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      state.dims[d] = dims[d];
      state.saved_sizes[d] = dims[d].size;
      local.push_back(dims[d].padded / grid.extent(dims[d].axes));
      block *= local.back();
    }
    dtcc_bucket bucket{};
    bucket.name = b.string("bucket");
    bucket.parameters = DTCC_NONE;
    bucket.flat = axesOf(flat);
    int64_t parts = grid.extent(bucket.flat);
    bucket.length = (block + parts - 1) / parts * parts;
    if (flat.empty()) {
      state.view = b.view(arena, DTCC_F32, local);
      bucket.length = 0;
      bucket.view = DTCC_NONE;
      state.bucket = DTCC_NONE;
    } else {
      state.view = DTCC_NONE;
      bucket.view = b.view(arena, DTCC_F32, {bucket.length / parts});
    }
    b.buckets.push_back(bucket);
    b.states.push_back(state);
    bytes = b.build();
    image.emplace(bytes.data(), 0);
  }
  struct Held {
    Held(const Image &image, int64_t number) : team(2), rank(image, number, team, 0) {
      memory.resize(image.arenas()[0].bytes);
      rank.arenas[0] = memory.data();
    }
    ThreadTeam team;
    Rank rank;
    std::vector<std::byte> memory;
  };
  /// The whole tensor, put together from what all ranks hold.
  std::vector<float> whole(std::vector<std::unique_ptr<Held>> &ranks) {
    std::vector<float> values(static_cast<size_t>(layoutOf(*image, image->states()[0]).elements()), -99);
    for (auto &held : ranks) {
      StateRuns runs(held->rank, image->states()[0]);
      for (StateRun run; runs.next(run);)
        std::memcpy(&values[static_cast<size_t>(run.whole)], run.address, static_cast<size_t>(run.length) * 4);
    }
    return values;
  }
  std::vector<std::unique_ptr<Held>> ranks() {
    std::vector<std::unique_ptr<Held>> all;
    for (int64_t r = 0; r < image->mesh().ranks(); ++r)
      all.push_back(std::make_unique<Held>(*image, r));
    return all;
  }
  ImageBuilder b;
  std::vector<uint64_t> bytes;
  std::optional<Image> image;
};

std::vector<OneState> layoutsOf(dtcc_init init) {
  std::vector<OneState> all;
  all.reserve(8);
  all.emplace_back(std::vector<int64_t>{1}, std::vector<dtcc_dim>{dimOf(7, 7), dimOf(10, 10)}, std::vector<uint8_t>{},
                   init);
  all.emplace_back(std::vector<int64_t>{2, 3}, std::vector<dtcc_dim>{dimOf(7, 8, {0}), dimOf(10, 12, {1})},
                   std::vector<uint8_t>{}, init);
  all.emplace_back(std::vector<int64_t>{2, 3}, std::vector<dtcc_dim>{dimOf(7, 7), dimOf(10, 12, {1, 0})},
                   std::vector<uint8_t>{}, init);
  all.emplace_back(std::vector<int64_t>{2, 2}, std::vector<dtcc_dim>{dimOf(7, 8, {1}), dimOf(10, 10)},
                   std::vector<uint8_t>{0}, init);
  all.emplace_back(std::vector<int64_t>{4}, std::vector<dtcc_dim>{dimOf(7, 7), dimOf(10, 10)}, std::vector<uint8_t>{0},
                   init);
  return all;
}

TEST(Initialize, ValuesDoNotDependOnThePlan) {
  for (dtcc_init init : {DTCC_INIT_NORMAL, DTCC_INIT_UNIFORM, DTCC_INIT_CONSTANT}) {
    std::vector<float> first;
    for (OneState &state : layoutsOf(init)) {
      auto ranks = state.ranks();
      for (auto &held : ranks)
        initializeStates(held->rank, 42, ModelWeights(held->rank.image, "", /*starts=*/true));
      std::vector<float> values = state.whole(ranks);
      if (first.empty())
        first = values;
      EXPECT_EQ(values, first);
    }
  }
}

TEST(Checkpoint, LoadsUnderEveryOtherPlan) {
  for (OneState &saver : layoutsOf(DTCC_INIT_NORMAL)) {
    Folder folder;
    auto saved = saver.ranks();
    for (auto &held : saved)
      initializeStates(held->rank, 42, ModelWeights(held->rank.image, "", /*starts=*/true));
    Launch launch;
    launch.ranks = saver.image->mesh().ranks();
    auto transport = createTransport(launch);
    std::vector<int64_t> all;
    for (int64_t r = 0; r < launch.ranks; ++r)
      all.push_back(r);
    std::vector<std::thread> writers;
    for (auto &held : saved)
      writers.emplace_back([&] {
        auto world = transport->group("world", all, held->rank.abi.rank);
        held->rank.world = world.get();
        writeCheckpoint(folder.path, {3, 24, 42, {}}, {}, held->rank);
      });
    for (std::thread &writer : writers)
      writer.join();
    CheckpointReader reader(checkpointPath(folder.path, 3));
    EXPECT_EQ(reader.position().samples, 24);
    for (OneState &loader : layoutsOf(DTCC_INIT_ZERO)) {
      auto loaded = loader.ranks();
      for (auto &held : loaded)
        reader.load(held->rank);
      EXPECT_EQ(loader.whole(loaded), saver.whole(saved));
    }
  }
}

// One bit at a time, another one in each byte but a few.
TEST(Checkpoint, FindsFlippedBits) {
  OneState saver({1}, {dimOf(7, 7), dimOf(10, 10)}, {}, DTCC_INIT_NORMAL);
  Folder folder;
  auto saved = saver.ranks();
  ASSERT_EQ(saved.size(), 1u);
  initializeStates(saved[0]->rank, 42, ModelWeights(saved[0]->rank.image, "", /*starts=*/true));
  writeCheckpoint(folder.path, {3, 24, 42, {}}, {"adamw(0.9)", {{"x", "x.npy", 100, "0123456789abcdef"}}, {}},
                  saved[0]->rank);
  auto isFound = [&] {
    try {
      return !CheckpointReader(checkpointPath(folder.path, 3)).damage(0, 1).empty();
    } catch (const Error &) {
      return true;
    }
  };
  EXPECT_FALSE(isFound());
  for (const char *name : {"manifest.json", "rank-00000.safetensors"}) {
    std::string path = folder / (std::string("step-3/") + name), good = readFile(path);
    ASSERT_GT(good.size(), 100u);
    for (size_t bit = 0; bit < good.size() * 8; bit += 9) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      writeFile(path, bad);
      ASSERT_TRUE(isFound()) << name << ", byte " << bit / 8 << ", bit " << bit % 8;
    }
    writeFile(path, good);
  }
  EXPECT_FALSE(isFound());
}

// Written on a thread from a copy, or at once where there is no memory for one: the same bytes, and not those of a
// state that changed meanwhile.
TEST(Checkpoint, HoldsTheStateFromWhenItBegan) {
  OneState saver({1}, {dimOf(7, 7), dimOf(10, 10)}, {}, DTCC_INIT_NORMAL);
  std::vector<std::string> written;
  for (int64_t machineRanks : {int64_t(1), int64_t(1) << 60}) {
    Folder folder;
    auto saved = saver.ranks();
    const Rank &rank = saved[0]->rank;
    initializeStates(saved[0]->rank, 42, ModelWeights(rank.image, "", /*starts=*/true));
    RunIdentity identity;
    FolderDisks disks;
    CheckpointWriter writer(folder.path, disks, identity, {2, 0}, rank, machineRanks);
    for (int64_t step : {3, 4, 5}) {
      writer.begin({step, 8 * step, 42, {}});
      EXPECT_TRUE(writer.isUnderWay());
      StateRuns runs(rank, rank.states()[0]);
      for (StateRun run; runs.next(run);)
        for (int64_t i = 0; i < run.length; ++i)
          reinterpret_cast<float *>(run.address)[i] += 1;
    }
    writer.finish();
    EXPECT_FALSE(writer.isUnderWay());
    EXPECT_EQ(checkpointSteps(folder.path), (std::vector<int64_t>{4, 5}));
    EXPECT_EQ(CheckpointReader(checkpointPath(folder.path, 5)).damage(0, 1), "");
    written.push_back(readFile(folder / "step-4/rank-00000.safetensors"));
    EXPECT_NE(written.back(), readFile(folder / "step-5/rank-00000.safetensors"));
  }
  EXPECT_EQ(written[0], written[1]);
}

TEST(Checkpoint, OfValuesThatAreNotFiniteIsNotWritten) {
  OneState saver({1}, {dimOf(7, 7), dimOf(10, 10)}, {}, DTCC_INIT_NORMAL);
  Folder folder;
  auto saved = saver.ranks();
  const Rank &rank = saved[0]->rank;
  writeCheckpoint(folder.path, {3, 24, 42, {}}, {}, rank);
  StateRuns runs(rank, rank.states()[0]);
  StateRun run;
  ASSERT_TRUE(runs.next(run));
  *reinterpret_cast<float *>(run.address) = INFINITY;
  try {
    writeCheckpoint(folder.path, {4, 32, 42, {}}, {}, rank);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, Status::Nonfinite);
  }
  EXPECT_EQ(checkpointSteps(folder.path), std::vector<int64_t>{3});
}

TEST(Philox, KnownAnswers) {
  // kat_vectors of Random123, philox4x32 with 10 rounds.
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t f = 0xffffffff;
  EXPECT_EQ(philox({f, f, f, f}, ~uint64_t(0)),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, uint64_t(0x299f31d0) << 32 | 0xa4093822),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, NormalNumbersAreNormal) {
  double sum = 0, squares = 0, fourth = 0;
  constexpr int pairs = 100000;
  for (uint64_t i = 0; i < pairs; ++i)
    for (double x : {normalPair(1, 2, i).first, normalPair(1, 2, i).second}) {
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
    }
  EXPECT_NEAR(sum / (2 * pairs), 0, 0.01);
  EXPECT_NEAR(squares / (2 * pairs), 1, 0.01);
  EXPECT_NEAR(fourth / (2 * pairs), 3, 0.1);
}

TEST(HalfFloat, EveryF16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float value = fromF16(half);
    if (value != value) {
      float again = fromF16(toF16(value));
      EXPECT_NE(again, again);
      continue;
    }
    EXPECT_EQ(toF16(value), half) << bits;
    // Half of a unit above rounds to even.
    auto next = static_cast<uint16_t>(bits + 1);
    if ((bits & 0x7fff) < 0x7bff) {
      float middle = (value + fromF16(next)) / 2;
      EXPECT_EQ(toF16(middle), bits & 1 ? next : half) << bits;
    }
  }
  EXPECT_EQ(toF16(65520.0f), 0x7c00);
  EXPECT_EQ(toF16(65519.0f), 0x7bff);
  EXPECT_EQ(toF16(1e30f), 0x7c00);
  EXPECT_EQ(fromF16(0x0001), 0x1p-24f);
}

TEST(HalfFloat, EveryBF16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float value = fromBF16(half);
    if (value == value) {
      EXPECT_EQ(toBF16(value), half);
    } else {
      float again = fromBF16(toBF16(value));
      EXPECT_NE(again, again);
    }
  }
  EXPECT_EQ(toBF16(std::bit_cast<float>(0x3f808000u)), 0x3f80); // ties to even
  EXPECT_EQ(toBF16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
}

TEST(ThreadTeam, PartsCoverTheRangeOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    for (int64_t extent : {0, 1, 4, 5, 1001})
      for (int64_t grain : {1, 3, 1000}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(extent));
        std::atomic<int> calls = 0;
        team.parallelFor(extent, grain, [&](int64_t begin, int64_t end) {
          ++calls;
          for (int64_t i = begin; i < end; ++i)
            ++seen[static_cast<size_t>(i)];
        });
        for (auto &count : seen)
          EXPECT_EQ(count, 1);
        EXPECT_EQ(calls, extent == 0 ? 0 : team.parts(extent, grain));
      }
  }
}

TEST(ThreadTeam, TheFirstPartsErrorIsThrown) {
  ThreadTeam team(3);
  try {
    team.parallelFor(3, 1, [](int64_t begin, int64_t) { fail("part ", begin); });
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "part 0");
  }
}

TEST(LearningRate, WarmsUpAndDecays) {
  LearningRate rate{2.0, LearningRate::Cosine, 4};
  EXPECT_DOUBLE_EQ(rate.at(1, 104), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(4, 104), 2.0);
  EXPECT_DOUBLE_EQ(rate.at(5, 104), 2.0);
  EXPECT_NEAR(rate.at(55, 104), 1.0, 1e-12);
  EXPECT_NEAR(rate.at(105, 104), 0.0, 1e-12);
  rate.schedule = LearningRate::Linear;
  EXPECT_DOUBLE_EQ(rate.at(30, 104), 1.5);
  rate.schedule = LearningRate::Constant;
  EXPECT_DOUBLE_EQ(rate.at(30, 104), 2.0);
}

TEST(LearningRate, FallsToTheLeastRateInTheStepsThatItIsGiven) {
  LearningRate rate{2.0, LearningRate::Linear, 4, /*least=*/0.5, /*decaySteps=*/50};
  EXPECT_DOUBLE_EQ(rate.at(5, 104), 2.0);
  EXPECT_DOUBLE_EQ(rate.at(30, 104), 1.25);
  EXPECT_DOUBLE_EQ(rate.at(80, 104), 0.5);
  rate.schedule = LearningRate::Cosine;
  EXPECT_NEAR(rate.at(30, 104), 1.25, 1e-12);
  rate.schedule = LearningRate::WarmupStableDecay;
  rate.decaySteps = 10;
  EXPECT_DOUBLE_EQ(rate.at(2, 104), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(95, 104), 2.0);
  EXPECT_DOUBLE_EQ(rate.at(100, 104), 1.25);
  EXPECT_DOUBLE_EQ(rate.at(105, 104), 0.5);
  rate.decaySteps = 0; // a tenth of all steps, which are ten
  EXPECT_DOUBLE_EQ(rate.at(95, 104), 2.0);
  EXPECT_DOUBLE_EQ(rate.at(100, 104), 1.25);
}

TEST(LearningRate, FallsAsOneOverTheRootOfTheStep) {
  LearningRate rate{2.0, LearningRate::InverseSqrt, 4, /*least=*/0.5};
  EXPECT_DOUBLE_EQ(rate.at(2, 104), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(4, 104), 2.0);
  EXPECT_DOUBLE_EQ(rate.at(16, 104), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(100, 104), 0.5);
}

TEST(LearningRate, BeginsAnewBehindItsRestart) {
  LearningRate once{2.0, LearningRate::Cosine, 4}, twice{2.0, LearningRate::Cosine, 4, 0, 0, /*restart=*/50};
  for (int64_t step = 1; step <= 50; ++step)
    EXPECT_EQ(twice.at(step, 150), once.at(step, 50));
  for (int64_t step = 51; step <= 150; ++step)
    EXPECT_EQ(twice.at(step, 150), once.at(step - 50, 100));
}

} // namespace
} // namespace dtcc::rt::test
