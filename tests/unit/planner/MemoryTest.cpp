//===- MemoryTest.cpp - Memory of a step by hand
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/Memory.h"
#include <gtest/gtest.h>

using namespace dtcc::cost;

namespace {
const Transformer kGpt{24, 2048, 16, 16, 8192, 51200, 2048, false, true};
double state(int zero, int64_t ranks) {
  Parallelism plan;
  plan.dp = ranks;
  plan.zero = zero;
  return forecastMemory(kGpt, plan, {}, softwareOf(Framework::MegatronLM)).state /
         (kGpt.layers * kGpt.layerParameters() + kGpt.vocabulary * kGpt.hidden);
}
} // namespace

/// ZeRO (Rajbhandari et al., 2020), table 1: 18 bytes a parameter with gradients in f32, 6 + 12/d with the
/// optimizer shared, all of it over d in stage 3.
TEST(Memory, State) {
  EXPECT_NEAR(state(0, 8), 18, 1e-9);
  EXPECT_NEAR(state(1, 8), 6 + 12.0 / 8, 1e-9);
  EXPECT_NEAR(state(2, 8), 2 + 16.0 / 8, 1e-9);
  EXPECT_NEAR(state(3, 8), 18.0 / 8, 1e-9);
}

/// Which part is what: 2 bytes of parameters and 4 of gradients stay whole, masters and moments are shared.
TEST(Memory, StateParts) {
  Parallelism plan;
  plan.dp = 8;
  plan.zero = 1;
  StateBytes bytes = stateBytesOf(plan, softwareOf(Framework::MegatronLM));
  EXPECT_DOUBLE_EQ(bytes.parameters, 2);
  EXPECT_DOUBLE_EQ(bytes.gradients, 4);
  EXPECT_DOUBLE_EQ(bytes.optimizer, 12.0 / 8);
  plan.zero = 3;
  EXPECT_DOUBLE_EQ(stateBytesOf(plan, softwareOf(Framework::Fsdp)).parameters, 4.0 / 8);
}

/// Korthikanti 2022: s b h (10 + 24/t + 5 a s / (h t)), (34 + 5 a s / h) / t with sequence
/// parallelism, 34 / t with selective recomputation, 2 with full.
TEST(Memory, KeptByALayer) {
  Software software = softwareOf(Framework::MegatronLM);
  RunSetting run;
  run.samples = 4;
  run.attention = AttentionKernel::Plain;
  double values = 4 * 2048.0 * 2048, scores = 5 * 16 * 2048.0 / 2048;
  auto kept = [&](int64_t tp, bool sequence, Recompute recompute) {
    Parallelism plan;
    plan.tp = tp;
    plan.sequenceParallel = sequence;
    plan.recompute = recompute;
    return keptBytes(kGpt, plan, run, software) / values;
  };
  EXPECT_NEAR(kept(1, false, Recompute::None), 34 + scores, 1e-9);
  EXPECT_NEAR(kept(8, false, Recompute::None), 10 + (24 + scores) / 8, 1e-9);
  EXPECT_NEAR(kept(8, true, Recompute::None), (34 + scores) / 8, 1e-9);
  EXPECT_NEAR(kept(8, true, Recompute::Selective), 34.0 / 8, 1e-9);
  EXPECT_NEAR(kept(8, false, Recompute::Full), 2, 1e-9);
}

/// NCCL issue 964: half a gigabyte a group of a node. Few groups are in what software is known to reserve.
TEST(Memory, CommunicatorsAreCharged) {
  Software software = softwareOf(Framework::MegatronLM);
  Parallelism plan;
  EXPECT_DOUBLE_EQ(reserveBytes(plan, software), 0.4 * software.reserveBytes);
  plan.dp = 8;
  EXPECT_DOUBLE_EQ(reserveBytes(plan, software), software.reserveBytes);
  plan.tp = plan.cp = plan.ep = 2;
  plan.dp = 4;
  plan.pp = 4;
  double groups = 3 * communicatorBytes({1, 2}) + communicatorBytes({2, 4}) + communicatorBytes({4, 1});
  EXPECT_GT(groups, 1.2e9);
  EXPECT_NEAR(reserveBytes(plan, software), 0.4 * software.reserveBytes + groups, 1);
}

/// Every rank has experts / ep of the routed parameters; ZeRO shares them over what ranks of dp are left.
TEST(Memory, ExpertsAreSharedOverWhatRanksAreLeft) {
  std::string error;
  Transformer model = *parseTransformer("mixtral-8x7b", error);
  Software software = softwareOf(Framework::MegatronLM);
  Parallelism plan;
  plan.dp = 16;
  plan.ep = 8;
  Layer layer = makeBlock(model, plan, {});
  EXPECT_DOUBLE_EQ(layer.expertParameters, model.routedParameters() / 8);
  EXPECT_DOUBLE_EQ(layer.parameters, model.layerParameters() - model.routedParameters());
  EXPECT_DOUBLE_EQ(stateBytes(layer, plan, software), 18 * (layer.parameters + layer.expertParameters));
  plan.zero = 3;
  EXPECT_DOUBLE_EQ(stateBytes(layer, plan, software), 18 * (layer.parameters / 16 + layer.expertParameters / 2));
  plan.zero = 1;
  plan.offload.optimizer = true;
  EXPECT_DOUBLE_EQ(stateBytes(layer, plan, software), 6 * (layer.parameters + layer.expertParameters));
}

TEST(Memory, StagesHoldWhatIsInFlight) {
  Software software = softwareOf(Framework::MegatronLM);
  Parallelism plan;
  plan.pp = 8;
  plan.microbatches = 64;
  plan.schedule = PipelineKind::OneForwardOneBackward;
  double one = forecastMemory(kGpt, plan, {}, software).activations;
  EXPECT_NEAR(one / (8 * 3 * keptBytes(kGpt, plan, {}, software)), 1, 1e-9);
  plan.schedule = PipelineKind::ZeroBubble2;
  EXPECT_NEAR(forecastMemory(kGpt, plan, {}, software).activations / one, 15.0 / 8, 1e-9);
  Device device;
  device.memoryBytes = 80e9;
  EXPECT_TRUE(fitsIn(77e9, device));
  EXPECT_FALSE(fitsIn(79e9, device));
  device.headroomBytes = 5e9;
  EXPECT_TRUE(fitsIn(72e9, device));
  EXPECT_FALSE(fitsIn(77e9, device));
}
