//===- ImageTest.cpp - The image reader refuses what is damaged -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Image.h"
#include "runtime/abi/Checksum.h"
#include "runtime/core/Error.h"
#include "tests/unit/runtime/LinearRegression.h"

#include <gtest/gtest.h>

#include <functional>

namespace dtcc::rt::test {
namespace {

/// The message with which the image is refused, or "" if it is taken.
std::string refusal(const std::vector<uint64_t> &image) {
  try {
    Image(image.data(), linearRegressionKernelCount);
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST(Image, ReadsWhatTheBuilderWrote) {
  LinearRegressionPlan plan;
  plan.ranks = 2;
  plan.microbatches = 2;
  std::vector<uint64_t> bytes = linearRegressionImage(plan);
  Image image(bytes.data(), linearRegressionKernelCount);
  EXPECT_EQ(image.mesh().ranks(), 2);
  EXPECT_EQ(image.mesh().slots(), 2);
  EXPECT_EQ(image.string(image.header().model), "test");
  EXPECT_EQ(image.inputs().size(), 2u);
  EXPECT_EQ(image.mesh().members(image.communicators()[0], 1), (std::vector<int64_t>{0, 1}));
}

TEST(Image, MembersOfGroupsOnAMesh) {
  ImageBuilder b;
  uint8_t dp = b.axis("dp", 2), tp = b.axis("tp", 3);
  b.communicator("dp", {dp});
  b.communicator("tp", {tp});
  b.communicator("swapped", {tp, dp});
  std::vector<uint64_t> bytes = b.build();
  Image image(bytes.data(), 0);
  EXPECT_EQ(image.mesh().members(image.communicators()[0], 4), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(image.mesh().members(image.communicators()[1], 4), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(image.mesh().members(image.communicators()[2], 4), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Image, WhereViewsEnd) {
  ImageBuilder b;
  b.axis("mb", 4, DTCC_AXIS_TIME);
  uint8_t dp = b.axis("dp", 2);
  b.communicator("dp", {dp});
  uint32_t arena = b.arena("work");
  b.view(arena, DTCC_F32, {4, 3}, 4);
  b.views[0].strides[0] = 8; // a gap behind each row
  b.views[0].slot_stride = 128;
  b.arenas[0].bytes = 4096;
  std::vector<dtcc_view> views(4, b.views[0]);
  views[1].slots = 3;
  views[2].block_of = 1; // rows of both members
  views[3].sizes[1] = 0;
  std::vector<uint64_t> bytes = b.build();
  Image image(bytes.data(), 0);
  const uint64_t span = (3 * 8 + 2 + 1) * 4, begin = static_cast<uint64_t>(views[0].offset);
  EXPECT_EQ(spanOf(views[0]), span);
  EXPECT_EQ(endOf(image, views[0]), begin + 3 * 128 + span);
  EXPECT_EQ(endOf(image, views[1]), begin + 2 * 128 + span);
  EXPECT_EQ(endOf(image, views[2]), begin + 3 * 128 + span + 4 * 8 * 4);
  EXPECT_EQ(spanOf(views[3]), 0u);
  EXPECT_EQ(endOf(image, views[3]), 0u);
}

struct Damage {
  const char *expected;
  std::function<void(ImageBuilder &)> builder;
};

TEST(Image, NamesTheFirstWrongItem) {
  const Damage damages[] = {
      {"magic", [](ImageBuilder &b) { b.header.magic = 1; }},
      {"compile it again", [](ImageBuilder &b) { b.header.abi_version = DTCC_ABI_VERSION + 1; }},
      {"view 0: arena must exist", [](ImageBuilder &b) { b.views[0].arena = 7; }},
      {"view 0: the view must end inside its arena", [](ImageBuilder &b) { b.views[0].sizes[0] = 1 << 20; }},
      {"view 0: stride must be at most 2^56", [](ImageBuilder &b) { b.views[0].strides[0] = INT64_MAX; }},
      {"view 0: size must be at least 0", [](ImageBuilder &b) { b.views[0].sizes[0] = -1; }},
      {"view 0: order of slots must exist", [](ImageBuilder &b) { b.views[0].slots = b.views[0].slot_order = 1; }},
      {"view 0: order of slots must be at least 0",
       [](ImageBuilder &b) { b.views[0].slots = 1, b.views[0].slot_order = INT64_MIN; }},
      {"view 0: an order of slots must have at least one",
       [](ImageBuilder &b) { b.slotOrders = {0}, b.views[0].slots = 0, b.views[0].slot_order = 1; }},
      {"view 0: slot of memory must be from 0 to 2^56",
       [](ImageBuilder &b) { b.slotOrders = {-1}, b.views[0].slots = b.views[0].slot_order = 1; }},
      {"view 0: the view must end inside its arena",
       [](ImageBuilder &b) {
         b.slotOrders = {1 << 20}, b.views[0].slots = b.views[0].slot_order = 1, b.views[0].slot_stride = 64;
       }},
      {"view 0: offset", [](ImageBuilder &b) { b.views[0].offset = 3; }},
      {"view 0: rank", [](ImageBuilder &b) { b.views[0].rank = DTCC_MAX_RANK + 1; }},
      {"view 0: element type", [](ImageBuilder &b) { b.views[0].dtype = 99; }},
      {"command 0: kind", [](ImageBuilder &b) { b.commands[0].kind = 99; }},
      {"command 0: operands must exist", [](ImageBuilder &b) { b.commands[0].first_operand = 0xfffffff0u; }},
      {"command 0: kernel must exist", [](ImageBuilder &b) { b.commands[0].op = 1000; }},
      {"command 0: predicate must be a view", [](ImageBuilder &b) { b.commands[0].predicate = 1000; }},
      {"command 1: communicator", [](ImageBuilder &b) { b.commands[1].communicator = 5; }},
      {"command 1: sizes of a collective", [](ImageBuilder &b) { b.commands[1].op = DTCC_ALL_GATHER; }},
      {"phase 0: commands must exist", [](ImageBuilder &b) { b.phases[0].command_count = 50; }},
      {"action 0: phase", [](ImageBuilder &b) { b.actions[0].phase = 3; }},
      {"action 0: slot", [](ImageBuilder &b) { b.actions[0].slot = 3; }},
      {"arena 0: memory kind must be that of the program",
       [](ImageBuilder &b) { b.arenas[0].kind = DTCC_MEMORY_DEVICE; }},
      {"command 0: memory of the host must be touched by updates and by copies of dense views alone",
       [](ImageBuilder &b) {
         b.gpuCode = {'p', 't', 'x', 0};
         b.gpuModules = {{90, DTCC_GPU_PTX, 0, 4}};
         b.gpuKernels = {{0, 32, 1}};
       }},
      // Library ops may touch host memory only if they read each cell once.
      {"command 0: memory of the host must be touched by updates and by copies of dense views alone",
       [](ImageBuilder &b) {
         b.gpuCode = {'p', 't', 'x', 0};
         b.gpuModules = {{90, DTCC_GPU_PTX, 0, 4}};
         b.commands[0].kind = DTCC_LIBRARY, b.commands[0].op = DTCC_LIB_SUM_SQUARES;
       }},
      {"module 0: code must exist", [](ImageBuilder &b) { b.gpuModules = {{90, DTCC_GPU_PTX, 0, 4}}; }},
      {"module 0: PTX must end with 0",
       [](ImageBuilder &b) {
         b.gpuCode = {'p', 't', 'x'};
         b.gpuModules = {{90, DTCC_GPU_PTX, 0, 3}};
       }},
      {"kernel 0: threads of a block", [](ImageBuilder &b) { b.gpuKernels = {{0, 2048, 1}}; }},
      {"kernel 0: blocks must be", [](ImageBuilder &b) { b.gpuKernels = {{0, 32, 0}}; }},
      {"mesh axis size", [](ImageBuilder &b) { b.axes[0].size = 0; }},
      {"mesh axis size", [](ImageBuilder &b) { b.axes[0].size = int64_t(1) << 40; }},
      {"communicator 0: an axis", [](ImageBuilder &b) { b.communicators[0].axes.ids[0] = 9; }},
      {"a wait must name an earlier command",
       [](ImageBuilder &b) {
         b.waits.push_back({1});
         b.commands[0].wait_count = 1;
       }},
      {"stage 0: a wait must name a command of the stage",
       [](ImageBuilder &b) {
         b.waits.push_back({0});
         b.commands[1].wait_count = 1;
         b.stages = {dtcc_stage{0, 0, {0, 1}, {1, 1}, {}, {}, {}, {}, {}, {}, {}}};
       }},
      {"view 0: sizes must multiply to at most 2^56",
       [](ImageBuilder &b) {
         b.views[0].rank = 2;
         b.views[0].sizes[0] = b.views[0].sizes[1] = int64_t(1) << 40;
         b.views[0].strides[0] = b.views[0].strides[1] = 0;
       }},
      {"view 0: sizes must multiply to at most 2^56, got: 4611686018427387904",
       [](ImageBuilder &b) {
         b.views[0].rank = 2;
         b.views[0].sizes[0] = 0;
         b.views[0].sizes[1] = int64_t(1) << 62;
       }},
      {"labels must lie 0 to 2^31 positions", [](ImageBuilder &b) { b.header.training.label_shift = -1; }},
      {"scalar 3: element type", [](ImageBuilder &b) { b.scalars[DTCC_SCALAR_LR] = 1; }},
  };
  for (const Damage &damage : damages) {
    ImageBuilder b;
    uint8_t dp = b.axis("dp", 2);
    uint32_t group = b.communicator("dp", {dp});
    uint32_t arena = b.arena("work");
    uint32_t a = b.view(arena, DTCC_F32, {16});
    b.view(arena, DTCC_I64, {1});
    b.kernel(0, {a}, 16);
    b.collective(DTCC_ALL_REDUCE, group, a, a);
    b.action(b.phase("all"));
    EXPECT_EQ(refusal(b.build()), "");
    damage.builder(b);
    EXPECT_NE(refusal(b.build()).find(damage.expected), std::string::npos)
        << "expected: " << damage.expected << "\ngot: " << refusal(b.build());
  }
}

TEST(Image, SectionsMustLieInside) {
  std::vector<uint64_t> image = linearRegressionImage({});
  auto *header = reinterpret_cast<dtcc_image_header *>(image.data());
  header->views.count = 1u << 30;
  dtcc_seal(header);
  EXPECT_NE(refusal(image).find("section of views"), std::string::npos) << refusal(image);
}

// A program with any changed byte is refused before its tables are read.
TEST(Image, RefusesEveryFlippedByte) {
  std::vector<uint64_t> good = linearRegressionImage({});
  for (size_t byte = 0; byte < good.size() * 8; ++byte)
    for (int bit : {0, 7}) {
      std::vector<uint64_t> bad = good;
      reinterpret_cast<unsigned char *>(bad.data())[byte] ^= static_cast<unsigned char>(1 << bit);
      std::string message = refusal(bad);
      EXPECT_TRUE(message.find("damaged program") != std::string::npos || byte < 8) << byte << ": " << message;
      EXPECT_NE(message, "") << byte;
    }
}

// Sets each single field to a few values and seals the image again. The reader accepts or refuses each, and never
// crashes.
TEST(Image, SurvivesEveryFlippedWord) {
  std::vector<uint64_t> good = linearRegressionImage({});
  for (size_t word = 0; word < good.size(); ++word)
    for (uint64_t value : {uint64_t(0), ~uint64_t(0), uint64_t(1) << 40, good[word] + 8}) {
      // The image's own length is what the program says of itself: it is believed.
      if (word == offsetof(dtcc_image_header, image_bytes) / 8)
        continue;
      std::vector<uint64_t> bad = good;
      bad[word] = value;
      dtcc_seal(reinterpret_cast<dtcc_image_header *>(bad.data()));
      refusal(bad);
    }
}

} // namespace
} // namespace dtcc::rt::test
