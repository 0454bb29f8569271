//===- ImagePrograms.cpp - Programs whose images are damaged -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/fuzz/ImagePrograms.h"

#include "tests/unit/runtime/LinearRegression.h"

#include <algorithm>
#include <iterator>

namespace dtcc::fuzz {

using rt::test::ImageBuilder;

static constexpr int64_t kSlots = 2;

/// The first stage computes and sends, the second receives, computes under a predicate and reduces.
static std::vector<uint64_t> pipeline() {
  ImageBuilder b;
  b.axis("mb", kSlots, DTCC_AXIS_TIME);
  uint8_t stages = b.axis("pp", 2), copies = b.axis("dp", 3);
  uint32_t channel = b.communicator("channel", {stages}), group = b.communicator("group", {copies});
  b.communicators[group].members = 5;
  b.header.stage_axis = stages;
  b.header.machine = b.string("2 x abacus");
  b.header.peak_flops = 48;
  for (uint32_t stage = 0; stage < 2; ++stage) {
    dtcc_stage row{};
    row.name = b.string("stage");
    std::fill(std::begin(row.scalars), std::end(row.scalars), DTCC_NONE);
    row.arenas = {stage, 1};
    row.commands.first = static_cast<uint32_t>(b.commands.size());
    row.phases = {stage, 1};
    row.actions = {static_cast<uint32_t>(b.actions.size()), kSlots};
    uint32_t arena = b.arena("work");
    uint32_t view = b.view(arena, DTCC_F32, {8}, kSlots), flag = b.view(arena, DTCC_I32, {});
    dtcc_command &kernel = b.kernel(0, {view}, 8);
    kernel.seconds = 2;
    kernel.predicate = stage == 0 ? DTCC_NONE : flag;
    auto attributes = stage == 0 ? std::vector<int64_t>{1, 4} : std::vector<int64_t>{0};
    dtcc_command &message = b.command(stage == 0 ? DTCC_SEND : DTCC_RECEIVE, 0, {view}, attributes);
    message.communicator = channel;
    message.stream = 1;
    b.waits.push_back({row.commands.first});
    message.wait_count = 1;
    if (stage == 1)
      b.collective(DTCC_ALL_REDUCE, group, view, view).only_slot = kSlots - 1;
    uint32_t phase = b.phase("phase");
    for (uint32_t slot = 0; slot < kSlots; ++slot)
      b.action(phase, slot);
    row.commands.count = static_cast<uint32_t>(b.commands.size()) - row.commands.first;
    b.stages.push_back(row);
  }
  return b.build();
}

/// Four tokens of two picks go to the experts of two ranks and come back; an update reaches memory of the host.
static std::vector<uint64_t> exchangeOnGpus() {
  ImageBuilder b;
  uint32_t group = b.communicator("ep", {b.axis("ep", 2)});
  uint32_t host = b.arena("host"), arena = b.arena("work");
  b.arenas[arena].kind = DTCC_MEMORY_DEVICE;
  uint32_t rows = b.view(arena, DTCC_F32, {4, 8}), picks = b.view(arena, DTCC_I64, {8, 2});
  uint32_t all = b.view(arena, DTCC_F32, {8, 8}), back = b.view(arena, DTCC_F32, {32, 8});
  uint32_t packed = b.view(arena, DTCC_F32, {64, 8}), lists = b.view(arena, DTCC_I64, {1024});
  uint32_t p = b.view(host, DTCC_F32, {6}), momentum = b.view(host, DTCC_F32, {6});
  uint32_t gradient = b.view(arena, DTCC_F32, {6}), scale = b.view(arena, DTCC_F32, {});
  uint32_t lr = b.view(arena, DTCC_F32, {}), step = b.view(arena, DTCC_I64, {});
  b.kernel(0, {rows}, 32);
  b.command(DTCC_COLLECTIVE, DTCC_DISPATCH_ROWS, {rows, picks, all, packed, lists}, {1}).communicator = group;
  b.command(DTCC_COLLECTIVE, DTCC_COMBINE_ROWS, {all, picks, rows, back, packed, lists}, {1}).communicator = group;
  b.command(DTCC_LIBRARY, DTCC_LIB_SGD, {gradient, scale, lr, step, p, momentum}, {0, -1, 0, 0, 0, 0});
  b.action(b.phase("all"));
  dtcc_bucket bucket{};
  bucket.view = p, bucket.length = 6, bucket.parameters = DTCC_NONE;
  b.buckets.push_back(bucket);
  dtcc_state state{};
  state.name = b.string("p"), state.view = p, state.rank = state.saved_rank = 1, state.parameter = DTCC_NONE;
  state.trainable = 1, state.saved_sizes[0] = 6, state.dims[0] = rt::test::dimOf(6, 6);
  b.states.push_back(state);
  b.segments.push_back({0, 0, 0, 6, 0, 1});
  b.gpuKernels = {{b.string("kernel"), 32, 1}};
  b.gpuCode = {'p', 't', 'x', 0};
  b.gpuModules = {{90, DTCC_GPU_PTX, 0, 4}};
  return b.build();
}

std::vector<std::vector<uint64_t>> imagePrograms() {
  std::vector<std::vector<uint64_t>> programs;
  for (auto [ranks, microbatches] : {std::pair<int64_t, int64_t>{1, 1}, {2, 2}, {4, 1}})
    programs.push_back(rt::test::linearRegressionImage(
        {.ranks = ranks, .microbatches = microbatches, .batch = 8, .features = 5, .init = DTCC_INIT_NORMAL}));
  programs.push_back(pipeline());
  programs.push_back(exchangeOnGpus());
  return programs;
}

} // namespace dtcc::fuzz
