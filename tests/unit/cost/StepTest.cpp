//===- StepTest.cpp - Steps, pipelines and transformers by hand
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/cost/Step.h"
#include "passes/cost/Transformer.h"
#include <gtest/gtest.h>

using namespace dtcc::cost;

/// reference/planners.md, section 4.
TEST(Pipeline, Bubbles) {
  double f = 1, b = 1.2, w = 0.9;
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::None, 1, 1, f, b, w), 0);
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::OneForwardOneBackward, 8, 1, f, b, w), 7 * (f + b + w));
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::Interleaved, 8, 4, f, b, w), 7 * (f + b + w) / 4);
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::ZeroBubble1, 8, 1, f, b, w), 7 * (f + b - w));
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::ZeroBubble2, 8, 1, f, b, w), 7 * (f + b - 2 * w));
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::ZeroBubble2, 8, 1, 1, 1, 1), 0);
}

TEST(Pipeline, InFlight) {
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::None, 1, 1, 8), 1);
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::OneForwardOneBackward, 8, 1, 64), 8);
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::OneForwardOneBackward, 8, 1, 4), 4);
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::Interleaved, 8, 4, 64), 8 * (1 + 7.0 / 32));
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::ZeroBubble2, 8, 1, 64), 15);
}

TEST(Transformer, Parameters) {
  // LLaMA-3 8B: 8.03e9; GPT-3: 174.6e9 (Narayanan 2021, with 51,200 words).
  Transformer llama{32, 4096, 32, 8, 14336, 128256, 8192, true, false};
  EXPECT_NEAR(llama.parameters() / 8.03e9, 1, 0.001);
  Transformer gpt{96, 12288, 96, 96, 49152, 51200, 2048, false, true};
  EXPECT_NEAR(gpt.parameters() / 174.6e9, 1, 0.001);
}

namespace {
double flops(const Work &work) {
  double sum = 0;
  for (const Gemm &gemm : work.gemms)
    sum += 2 * gemm.m * gemm.n * gemm.k * gemm.count;
  return sum;
}
} // namespace

TEST(Transformer, WorkIsSharedOut) {
  Transformer model{32, 4096, 32, 8, 14336, 128256, 8192, true, false};
  RunSetting run;
  Parallel one, tp, cp;
  tp.tp = 8;
  cp.cp = 2;
  Layer whole = makeBlock(model, one, run);
  // Matrices times tokens, twice that backward.
  double matrices = model.layerParameters() - 4 * model.hidden;
  EXPECT_DOUBLE_EQ(flops(whole.forward), 2 * 8192 * matrices);
  EXPECT_DOUBLE_EQ(flops(whole.inputGradient), flops(whole.forward));
  EXPECT_DOUBLE_EQ(flops(whole.weightGradient), flops(whole.forward));
  EXPECT_DOUBLE_EQ(flops(makeBlock(model, tp, run).forward) * 8, flops(whole.forward));
  EXPECT_DOUBLE_EQ(flops(makeBlock(model, cp, run).forward) * 2, flops(whole.forward));
  // Four all-reduces of 2 T h bytes, two each way.
  ASSERT_EQ(makeBlock(model, tp, run).forward.transfers.front().group.ranks, 8);
  EXPECT_DOUBLE_EQ(makeBlock(model, tp, run).forward.transfers.front().bytes, 2.0 * 8192 * 4096);
  // KV heads fewer than tp: each rank has one.
  tp.tp = 16;
  EXPECT_DOUBLE_EQ(makeBlock(model, tp, run).forward.gemms[0].n, 2 * 128 + 2 * 128);
  Parallel full = one;
  full.recompute = Recomputation::Full;
  EXPECT_DOUBLE_EQ(flops(makeBlock(model, full, run).recompute), flops(whole.forward));
}

namespace {
StepProblem gpt(const Parallel &plan) {
  Transformer model{24, 2048, 16, 16, 8192, 50304, 2048, false, true};
  RunSetting run;
  StepProblem problem;
  problem.device = *findDevice("a100");
  problem.fabric = fabricOf(problem.device, 8);
  problem.software = softwareOf(Framework::NeMo);
  problem.parallel = plan;
  problem.layers = {makeBlock(model, plan, run), makeHead(model, plan, run)};
  for (int64_t s = 0; s < plan.pp; ++s)
    problem.stages.push_back({{0, model.layers / double(plan.pp)}});
  problem.stages.back().push_back({1, 1});
  problem.boundaryBytes = boundaryBytes(model, plan, run, true);
  return problem;
}
} // namespace

TEST(Step, PartsAddUp) {
  Constants constants;
  Parallel plan;
  plan.microbatches = 8;
  StepSeconds one = priceStep(gpt(plan), constants);
  EXPECT_GT(one.compute, 0);
  EXPECT_EQ(one.tensor + one.data + one.stages + one.bubble + one.recompute, 0);
  EXPECT_DOUBLE_EQ(one.total(), one.compute + one.host);
  // Twice the micro-batches need twice the time but for the end of a step.
  plan.microbatches = 16;
  EXPECT_NEAR(priceStep(gpt(plan), constants).total() / one.total(), 2, 0.05);
  plan.recompute = Recomputation::Full;
  StepSeconds again = priceStep(gpt(plan), constants);
  EXPECT_GT(again.recompute, 0.2 * again.compute);

  Parallel pipeline;
  pipeline.pp = 8;
  pipeline.microbatches = 8;
  pipeline.schedule = PipelineKind::OneForwardOneBackward;
  StepSeconds staged = priceStep(gpt(pipeline), constants);
  EXPECT_GT(staged.bubble, 0);
  EXPECT_GT(staged.stages, 0);
  // Seven of fifteen slots stand empty; fewer, as the stage with the head is longer.
  EXPECT_LT(staged.bubble / staged.total(), 7.0 / 15);
  EXPECT_GT(staged.bubble / staged.total(), 0.3);
}

TEST(Step, CalibrationScales) {
  Constants constants;
  Parallel plan;
  double base = priceStep(gpt(plan), constants).compute;
  EXPECT_NEAR(priceStep(gpt(plan), constants, {1.5, 1}).compute / base, 1.5, 1e-9);
  // A slow host bounds small work.
  EXPECT_GT(priceStep(gpt(plan), constants, {1, 100}).host, 1);
}

TEST(Step, ZeroThreeSharesTheUpdate) {
  Constants constants;
  Parallel plan;
  plan.dp = 64;
  double whole = priceStep(gpt(plan), constants).compute;
  plan.zero = 3;
  StepSeconds shared = priceStep(gpt(plan), constants);
  EXPECT_GT(shared.data, 0);
  EXPECT_LT(shared.compute * constants.gemmFsdp, whole);
}

TEST(Software, ByWords) {
  EXPECT_EQ(softwareOf("a table of pytorch/TorchTitan").framework, Framework::TorchTitan);
  EXPECT_EQ(softwareOf("Oneflow-Inc/DLPerf; framework Megatron-LM").framework, Framework::MegatronLM);
  EXPECT_EQ(softwareOf("Megatron-DeepSpeed").framework, Framework::MegatronDeepSpeed);
  EXPECT_EQ(softwareOf("nothing known").framework, Framework::PyTorch);
}
