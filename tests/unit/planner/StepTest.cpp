//===- StepTest.cpp - Steps, pipelines and transformers by hand
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cost/Step.h"
#include "planner/cost/ExchangeChunks.h"
#include "planner/cost/Kernels.h"
#include "planner/transformer/Transformer.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace dtcc;
using namespace dtcc::cost;

/// GPipe (Huang et al., 2019), interleaved 1F1B (Narayanan et al., 2021), zero bubble (Qi et al., 2023).
TEST(Pipeline, Bubbles) {
  double f = 1, b = 1.2, w = 0.9;
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::None, 1, 1, f, b, w), 0);
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::OneForwardOneBackward, 8, 1, f, b, w), 7 * (f + b + w));
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::GPipe, 8, 1, f, b, w), 7 * (f + b + w));
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::Interleaved, 8, 4, f, b, w), 7 * (f + b + w) / 4);
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::ZeroBubble, 8, 1, f, b, w), 7 * (f + b - w));
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::ZeroBubble2, 8, 1, f, b, w), 7 * (f + b - 2 * w));
  EXPECT_DOUBLE_EQ(bubbleSeconds(PipelineKind::ZeroBubble2, 8, 1, 1, 1, 1), 0);
}

TEST(Pipeline, InFlight) {
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::None, 1, 1, 8), 1);
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::OneForwardOneBackward, 8, 1, 64), 8);
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::OneForwardOneBackward, 8, 1, 4), 4);
  EXPECT_DOUBLE_EQ(microbatchesInFlight(PipelineKind::GPipe, 8, 1, 64), 64);
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
  Parallelism one, tp, cp;
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
  Parallelism full = one;
  full.recompute = Recompute::Full;
  EXPECT_DOUBLE_EQ(flops(makeBlock(model, full, run).recompute), flops(whole.forward));
}

/// PyTorch ends a checkpoint's second forward pass with what the backward pass reads.
TEST(Transformer, RecomputationStopsEarly) {
  Transformer model{32, 4096, 32, 8, 14336, 128256, 8192, true, false};
  RunSetting run;
  run.stopsEarly = true;
  Parallelism plan;
  plan.tp = 2;
  plan.recompute = Recompute::Full;
  Layer layer = makeBlock(model, plan, run);
  double last = 2.0 * 8192 * 14336 / 2 * 4096;
  EXPECT_DOUBLE_EQ(flops(layer.recompute), flops(layer.forward) - last);
  auto sums = [](const Work &work) {
    return std::count_if(work.transfers.begin(), work.transfers.end(),
                         [](const Transfer &transfer) { return transfer.kind == CollectiveKind::AllReduce; });
  };
  EXPECT_EQ(sums(layer.forward), 2);
  EXPECT_EQ(sums(layer.recompute), 1);
  // Weights of experts need what the experts gave.
  layer = makeBlock(*findTransformer("mixtral-8x7b"), plan, run);
  EXPECT_DOUBLE_EQ(flops(layer.recompute), flops(layer.forward));
}

/// All and active parameters as their reports state them, in billions.
TEST(Transformer, ParametersWithExperts) {
  struct Stated {
    const char *name;
    double all, active;
  };
  for (const Stated &stated : {Stated{"mixtral-8x7b", 46.7, 12.9},
                               {"mixtral-8x22b", 141, 39},
                               {"grok-1", 314, 86},
                               {"deepseek-v3", 671, 37},
                               {"kimi-k2", 1040, 32.6},
                               {"qwen3-30b-a3b", 30.5, 3.3},
                               {"qwen3-235b-a22b", 235, 22},
                               {"llama4-scout", 109, 17},
                               {"llama4-maverick", 400, 17}}) {
    Transformer model = *findTransformer(stated.name);
    EXPECT_NEAR(model.parameters() / 1e9 / stated.all, 1, 0.02) << stated.name;
    EXPECT_NEAR(model.activeParameters() / 1e9 / stated.active, 1, 0.04) << stated.name;
  }
  EXPECT_FALSE(findTransformer("mixtral"));
  EXPECT_EQ(findTransformer("mixtral-8x7b-instruct", /*prefix=*/true)->experts, 8);
  EXPECT_FALSE(findTransformer("another", /*prefix=*/true));
}

TEST(Transformer, ExpertsWorkOnTheRowsThatChoseThem) {
  Transformer model = *findTransformer("mixtral-8x7b");
  RunSetting run;
  Parallelism plan;
  plan.dp = plan.ep = 8;
  Layer layer = makeBlock(model, plan, run);
  // A token meets the active matrices of a layer, the router's among them.
  double matrices = model.layerParameters() - 4 * model.hidden - model.routedParameters() * (1 - 2.0 / 8);
  EXPECT_DOUBLE_EQ(flops(layer.forward), 2 * model.sequence * matrices);
  EXPECT_DOUBLE_EQ(flops(layer.weightGradient), flops(layer.forward));
  // Every token goes to two ranks and back, in both passes.
  std::vector<Transfer> exchanges;
  for (const Work *work : {&layer.forward, &layer.inputGradient})
    for (const Transfer &transfer : work->transfers)
      if (transfer.kind == CollectiveKind::AllToAll)
        exchanges.push_back(transfer);
  ASSERT_EQ(exchanges.size(), 4u);
  EXPECT_EQ(exchanges[0].group.ranks, 8);
  EXPECT_DOUBLE_EQ(exchanges[0].bytes, 2 * 2 * model.sequence * model.hidden);
  // Grouped products cost more than one of as many rows, the more the more experts share them.
  Constants constants;
  Kernels kernels(*findDevice("h100"), constants);
  Gemm one{512, 4096, 4096}, grouped = one;
  grouped.groups = 64;
  EXPECT_GT(kernels.seconds(grouped), 1.5 * kernels.seconds(one));
  // Leading layers and every other layer may be dense.
  EXPECT_EQ(findTransformer("deepseek-v3")->expertLayers(), 58);
  EXPECT_FALSE(findTransformer("deepseek-v3")->isExpertLayer(2));
  EXPECT_EQ(findTransformer("llama4-maverick")->expertLayers(), 24);
  EXPECT_TRUE(findTransformer("llama4-maverick")->isExpertLayer(1));
}

/// If cp and dp together have fewer ranks than ep, the ranks of tp hold whole experts.
TEST(Transformer, ExpertsSpreadOverTp) {
  Transformer model = *findTransformer("qwen3-235b-a22b");
  Parallelism plan;
  plan.tp = 2;
  plan.dp = 16;
  plan.ep = 32;
  EXPECT_FALSE(plan.splitsExperts());
  EXPECT_EQ(plan.ofExperts().dataGroup().ranks, 1);
  EXPECT_DOUBLE_EQ(makeBlock(model, plan, {}).expertParameters, model.routedParameters() / 32);
  plan.ep = 8;
  EXPECT_EQ(plan.ofExperts().dataGroup().ranks, 2);
  EXPECT_EQ(plan.ofExperts().dataGroup().stride, 16);
  EXPECT_DOUBLE_EQ(makeBlock(model, plan, {}).expertParameters, model.routedParameters() / 16);
}

TEST(Transformer, SaysWhatIsWrongWithExperts) {
  std::string error;
  EXPECT_TRUE(parseTransformer("layers=8,hidden=1024,heads=8,experts=8,chosen=2", error));
  EXPECT_FALSE(parseTransformer("layers=8,hidden=1024,heads=8,experts=8,chosen=9", error));
  EXPECT_EQ(error, "chosen must be at most the 8 experts, got: 9");
}

namespace {
StepProblem gpt(const Parallelism &plan) {
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
  problem.setLeavingBytes(boundaryBytes(model, plan, run, true));
  return problem;
}
} // namespace

TEST(Step, PartsAddUp) {
  Constants constants;
  Parallelism plan;
  plan.microbatches = 8;
  StepSeconds one = priceStep(gpt(plan), constants);
  EXPECT_GT(one.compute, 0);
  EXPECT_EQ(one.tensor + one.data + one.stages + one.bubble + one.recompute, 0);
  EXPECT_DOUBLE_EQ(one.total(), one.compute + one.host);
  // Twice the micro-batches need twice the time but for the end of a step.
  plan.microbatches = 16;
  EXPECT_NEAR(priceStep(gpt(plan), constants).total() / one.total(), 2, 0.05);
  plan.recompute = Recompute::Full;
  StepSeconds again = priceStep(gpt(plan), constants);
  EXPECT_GT(again.recompute, 0.2 * again.compute);

  Parallelism pipeline;
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

/// Sum of all stages and, for every other micro-batch, the slowest again (GPipe, Huang et al., 2019, with uneven
/// stages).
TEST(Step, UnevenStages) {
  Constants constants;
  constants.hostStep = constants.hostMicrobatch = 0;
  Parallelism plan;
  plan.pp = 4;
  plan.microbatches = 3;
  for (int64_t chunks : {1, 2}) {
    plan.virtualStages = chunks;
    plan.schedule = chunks > 1 ? PipelineKind::Interleaved : PipelineKind::OneForwardOneBackward;
    StepProblem problem = gpt(plan);
    std::vector<LayerSeconds> layers = priceLayers(problem, constants);
    auto all = [](const LayerSeconds &layer) {
      return layer.forward + layer.inputGradient + layer.weightGradient + layer.recompute;
    };
    double others = 3 * 6 * all(layers[0]), slowest = 6 * all(layers[0]) + all(layers[1]);
    StepSeconds step = priceStep(problem, constants);
    EXPECT_NEAR(step.bubble, others / double(chunks), 1e-9);
    HeldParameters held{6 * problem.layers[0].parameters + problem.layers[1].parameters, 0};
    double end = secondsAtEnd(problem, constants, held, /*backward=*/0);
    EXPECT_NEAR(step.total(), 3 * slowest + others / double(chunks) + step.stages + end, 1e-9);
  }
}

/// Under zero-bubble schedules a stage that is not the slowest may decide: the others fill less of its wait with weight
/// gradients (ZB-H1, Qi et al., 2023, with uneven stages).
TEST(Step, StagesWithUnevenWeightGradients) {
  Constants constants;
  constants.hostStep = constants.hostMicrobatch = constants.host = 0;
  Parallelism plan;
  plan.pp = 2;
  plan.microbatches = 1;
  plan.schedule = PipelineKind::ZeroBubble;
  StepProblem problem = gpt(plan);
  // One stage has all of its time in weight gradients, the other a little more time and none there.
  problem.layers.resize(2);
  for (Layer &layer : problem.layers)
    layer = Layer();
  problem.layers[0].weightGradient.gemms = {{4096, 4096, 4096}};
  problem.layers[1].forward.gemms = {{4096, 4096, 4096}};
  problem.stages = {{{0, 1}}, {{1, 1.01}}};
  std::vector<LayerSeconds> layers = priceLayers(problem, constants);
  double first = layers[0].total(), second = 1.01 * layers[1].total();
  ASSERT_GT(second, first);
  StepSeconds step = priceStep(problem, constants);
  EXPECT_NEAR(step.bubble, second, 1e-9);
  EXPECT_NEAR(step.total() - step.stages - step.data, first + second, 1e-9);
}

/// The gradient reduction of a rank's stages overlaps with the stages that still run: only that of the last stage to
/// finish is exposed.
TEST(Step, StagesReducedBesideOthers) {
  Constants constants;
  Parallelism plan;
  plan.pp = plan.virtualStages = 4;
  plan.dp = 8;
  StepProblem problem = gpt(plan);
  HeldParameters held{1e9, 0};
  auto tail = [&] { return secondsAtEnd(problem, constants, held, /*backward=*/0); };
  double whole = tail(), reduce = priceEnd(problem, constants, held).reduce;
  EXPECT_GT(reduce, 0);
  problem.software.reducesByStage = true;
  EXPECT_NEAR(whole - tail(), 0.75 * reduce, 1e-9);
}

/// DeepSpeed sends and receives in turns, and gathers what came in parts.
TEST(Step, SerialSends) {
  Constants constants;
  Parallelism plan;
  plan.tp = 2;
  plan.pp = 4;
  StepProblem problem = gpt(plan);
  Collectives collectives(problem.fabric, constants);
  double bytes = problem.layers.front().leavingBytes, one = collectives.secondsToSend(bytes, 2);
  double gather = collectives.seconds({CollectiveKind::AllGather, 2 * bytes, {2, 1}});
  problem.software.sendsHidden = 0;
  EXPECT_DOUBLE_EQ(secondsToSendOn(problem, bytes, constants), 2 * one);
  problem.software.serialSends = true;
  EXPECT_DOUBLE_EQ(secondsToSendOn(problem, bytes, constants), 2 * (2 * one + gather));
}

TEST(Step, CalibrationScales) {
  Constants constants;
  Parallelism plan;
  double base = priceStep(gpt(plan), constants).compute;
  EXPECT_NEAR(priceStep(gpt(plan), constants, {1.5, 1}).compute / base, 1.5, 1e-9);
  // A slow host bounds small work.
  EXPECT_GT(priceStep(gpt(plan), constants, {1, 100}).host, 1);
}

/// Masters and moments over the link, both ways at once; what the host's memory does not hold is read from NVMe and
/// written.
TEST(Step, OptimizersOnTheHost) {
  Constants constants;
  Parallelism plan;
  StepProblem problem = gpt(plan);
  problem.host = {64e9, 0, 0};
  problem.parallel.offload.optimizer = true;
  HeldParameters held{1e9, 0};
  double stream = constants.updateBytes * 1e9 / (2039e9 * constants.stream);
  double expected = 12e9 / (31e9 * constants.hostLink * constants.hostLinkBoth) + stream;
  EXPECT_NEAR(priceEnd(problem, constants, held).update, expected, 1e-9);
  problem.host = {2e9, 100e9, 1e9};
  EXPECT_NEAR(priceEnd(problem, constants, held).update, expected + 2 * (12 - 2), 1e-6);
}

/// Muon's matrices: without ZeRO a rank orthogonalizes all; with it, of each layer's one more than its part; and the
/// ranks of tp each do the same.
TEST(Step, OrthogonalizedMatrices) {
  Constants constants;
  Parallelism plan;
  plan.dp = 8;
  HeldParameters plain{1e9, 0}, held = plain;
  const OrthogonalMatrices layer = {4, 4e7, 1e12, 3e-3, 4e11, 4e11};
  held.matrices.add(layer, 25);
  EXPECT_DOUBLE_EQ(held.matrices.largest, 4e11);
  auto added = [&](int zero, const HeldParameters &with) {
    plan.zero = zero;
    StepProblem problem = gpt(plan);
    return priceEnd(problem, constants, with).update - priceEnd(problem, constants, plain).update;
  };
  StepProblem problem = gpt(plan);
  Collectives collectives(problem.fabric, constants);
  const double all = 25 * 3e-3;
  const double gather = collectives.seconds({CollectiveKind::AllGather, 4e9, plan.dataGroup()});
  EXPECT_NEAR(added(0, held), all, 1e-9);
  EXPECT_NEAR(added(2, held), (1.0 / 8 + 0.4) * all + gather, 1e-9);
  // Buckets that are smaller than a layer are met more often; none holds less than a matrix.
  EXPECT_LT(added(1, held), added(0, held) + gather);
  EXPECT_GT(added(1, held), all / 8 + gather);
  // Nothing is known of matrices beside a part.
  HeldParameters least = held;
  least.matrices.largest = least.matrices.largestOfLayers = 0;
  EXPECT_NEAR(added(2, least), all / 8 + gather, 1e-9);

  plan.tp = 2;
  const double apart = collectives.seconds({CollectiveKind::AllGather, 4e9, plan.tensorGroup()});
  EXPECT_NEAR(added(0, held), all + apart, 1e-9);
}

/// Copies run beside kernels: what a layer keeps is hidden unless the link is too slow for it.
TEST(Step, ActivationsOnTheHost) {
  Constants constants;
  Parallelism plan;
  StepProblem problem = gpt(plan);
  double before = priceLayers(problem, constants)[0].forward, link = 31e9 * constants.hostLink;
  moveToHost(problem.layers[0], before * link / 2);
  EXPECT_DOUBLE_EQ(priceLayers(problem, constants)[0].forward, before);
  moveToHost(problem.layers[0], before * link * 3);
  EXPECT_NEAR(priceLayers(problem, constants)[0].forward, 3 * before, 1e-9);
}

TEST(Step, ZeroThreeSharesTheUpdate) {
  Constants constants;
  Parallelism plan;
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

/// A layer in its modes has the price of a layer of its own for each mode.
TEST(Step, LayersInModesCostWhatTheyCostAlone) {
  for (Recompute recompute : {Recompute::None, Recompute::Full})
    for (int zero : {1, 3}) {
      Parallelism plan;
      plan.dp = 8;
      plan.zero = zero;
      plan.recompute = recompute;
      StepProblem problem = gpt(plan);
      problem.layers[0].passes = 1;
      problem.layers.insert(problem.layers.begin(), problem.layers[0]);
      problem.layers[1].expertParameters = problem.layers[1].parameters;
      std::vector<LayerInModes> inModes;
      std::vector<Layer> alone;
      for (const Layer &layer : problem.layers) {
        LayerInModes &each = inModes.emplace_back(LayerInModes{layer, {}});
        each.layer.recompute = Work();
        Work half = layer.forward;
        half.gemms.resize(1);
        for (const auto &[again, hostBytes] :
             {std::pair(Work(), 0.0), {half, 0.0}, {half, 1e9}, {layer.forward, 2e9}}) {
          each.modes.push_back({again, hostBytes});
          Layer &one = alone.emplace_back(layer);
          one.recompute = again;
          one.forward.hostBytes = one.inputGradient.hostBytes = hostBytes;
        }
      }
      Constants constants;
      StepProblem whole = problem;
      whole.layers = alone;
      std::vector<LayerSeconds> expected = priceLayers(whole, constants),
                                actual = PricedLayers(problem, inModes, constants).price(problem, constants);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i)
        for (double LayerSeconds::*part : {&LayerSeconds::forward, &LayerSeconds::inputGradient,
                                           &LayerSeconds::weightGradient, &LayerSeconds::recompute})
          EXPECT_DOUBLE_EQ(actual[i].*part, expected[i].*part) << i << " zero " << zero;
    }
}

/// Parts of an exchange run beside parts of its product in the forward pass, and again where that is recomputed.
TEST(Step, ExchangesInPartsSaveTheirTime) {
  Parallelism plan;
  plan.tp = 8;
  plan.recompute = Recompute::Full;
  StepProblem problem = gpt(plan);
  ChunkedExchange exchange{{21504, 16384, 2048, 1, Width::B16}, 5e-3, 1e-5, 0, 16, 0};
  for (Work *work : {&problem.layers[0].forward, &problem.layers[0].recompute}) {
    work->exchangeSeconds = exchange.seconds;
    work->chunked = {exchange};
  }
  Constants constants;
  problem.software.chunksExchanges = false;
  const LayerSeconds whole = priceLayers(problem, constants)[0];
  problem.software.chunksExchanges = true;
  const LayerSeconds parts = priceLayers(problem, constants)[0];
  const double saved = savedByChunks(exchange, Kernels(problem.device, constants), constants);
  EXPECT_GT(saved, 0);
  EXPECT_NEAR(parts.forward, whole.forward - saved, 1e-12);
  EXPECT_NEAR(parts.recompute, whole.recompute - saved, 1e-12);
  EXPECT_DOUBLE_EQ(parts.inputGradient, whole.inputGradient);
}

/// The host starts a whole forward pass again. What is recomputed of one is started with the backward pass.
TEST(Step, HostsWaitForWholePasses) {
  Parallelism plan;
  StepProblem problem = gpt(plan);
  problem.layers[0].passes = 1;
  problem.layers[0].recompute = Work();
  problem.layers[0].recompute.gemms = {{16, 16, 16}};
  Constants constants;
  auto recomputed = [&](Recompute recompute) {
    problem.parallel.recompute = recompute;
    return priceLayers(problem, constants)[0].recompute;
  };
  EXPECT_LT(recomputed(Recompute::Selective), 2e-5);
  EXPECT_GT(recomputed(Recompute::Full), 2e-5);
}
