//===- Megatron.cpp - A plan as arguments of Megatron-LM
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments of megatron/training/arguments.py, core 0.12 and later.
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/frameworks/Frameworks.h"

using namespace dtcc;
using plan::Parallelism;

static void writeMegatronStages(const FrameworkPlan &given, FrameworkConfig &config) {
  const Parallelism &plan = given.plan;
  if (plan.pp == 1)
    return;
  noteUnequalStages(given, "Megatron-LM takes such with --pipeline-model-parallel-layout alone", config);
  config.line("--pipeline-model-parallel-size {0}", plan.pp);
  if (plan.schedule == cost::PipelineKind::Interleaved)
    config.line("--num-virtual-stages-per-pipeline-rank {0}", plan.virtualStages);
  else if (plan.schedule != cost::PipelineKind::OneForwardOneBackward)
    config.unsaid.push_back("schedule " + plan.scheduleName() + ": Megatron-LM runs 1f1b");
}

static void writeMegatronContext(const Parallelism &plan, FrameworkConfig &config) {
  if (plan.cp == 1)
    return;
  config.line("--context-parallel-size {0}", plan.cp);
  switch (plan.exchange) {
  case plan::SequenceExchange::Ring:
    config.line("--cp-comm-type p2p");
    break;
  case plan::SequenceExchange::Gather:
    config.line("--cp-comm-type allgather");
    break;
  case plan::SequenceExchange::AllToAll:
    config.line("--cp-comm-type a2a");
    break;
  case plan::SequenceExchange::Cheaper:
    config.unsaid.push_back("each attention takes the cheaper of gathered keys and exchanged heads: --cp-comm-type "
                            "takes allgather or a2a");
    break;
  }
}

static void writeMegatronState(const Parallelism &plan, FrameworkConfig &config) {
  if (plan.zero == 0)
    return;
  config.line("--use-distributed-optimizer");
  if (plan.groups > 1)
    config.line("--num-distributed-optimizer-instances {0}", plan.groups);
  config.line("--overlap-grad-reduce");
  if (plan.zero == 1) {
    config.line("--overlap-param-gather");
    return;
  }
  config.line("--use-megatron-fsdp");
  config.line("--data-parallel-sharding-strategy {0}", plan.zero == 2 ? "optim_grads" : "optim_grads_params");
}

static void writeMegatronRecomputation(const FrameworkPlan &given, FrameworkConfig &config) {
  const Parallelism &plan = given.plan;
  if (plan.recompute == plan::Recompute::Selective) {
    config.line("--recompute-granularity selective");
    return;
  }
  if (plan.recompute == plan::Recompute::None && given.recomputed == 0)
    return;
  config.line("--recompute-granularity full");
  if (given.recomputed == given.blocks) {
    config.line("--recompute-method uniform");
    config.line("--recompute-num-layers 1");
    return;
  }
  config.line("--recompute-method block");
  size_t eachChunk = llvm::divideCeil(given.recomputed, size_t(plan.virtualStages)),
         all = eachChunk * plan.virtualStages;
  if (given.blocksAreLayers)
    config.line("--recompute-num-layers {0}", eachChunk);
  if (given.blocksAreLayers && all > given.recomputed)
    config.unsaid.push_back(
        llvm::formatv("{0} recomputed layers in the fullest stage: each of its {1} chunks repeats as "
                      "many, {2} in all",
                      given.recomputed, plan.virtualStages, all));
  if (!given.blocksAreLayers)
    config.unsaid.push_back(llvm::formatv("{0} of {1} blocks of the fullest stage are recomputed: "
                                          "--recompute-num-layers takes that share of its layers",
                                          given.recomputed, given.blocks));
  config.unsaid.push_back("layers that recompute only a part of their values: Megatron-LM repeats whole layers");
}

FrameworkConfig dtcc::writeMegatron(const FrameworkPlan &given) {
  const Parallelism &plan = given.plan;
  FrameworkConfig config;
  config.line("--tensor-model-parallel-size {0}", plan.tp);
  if (plan.sequenceParallel)
    config.line("--sequence-parallel");
  writeMegatronContext(plan, config);
  writeMegatronStages(given, config);
  if (plan.ep > 1)
    config.line("--expert-model-parallel-size {0}", plan.ep);
  if (plan.ep > 1 && !plan.splitsExperts())
    config.line("--expert-tensor-parallel-size 1");
  config.line("--micro-batch-size {0}", given.microBatch());
  config.line("--global-batch-size {0}", given.batch);
  writeMegatronState(plan, config);
  writeMegatronRecomputation(given, config);
  if (given.precision == "bf16" || given.precision == "fp16")
    config.line("--{0}", given.precision);
  else if (given.precision != "f32")
    config.unsaid.push_back("layers in " + given.precision + ": Megatron-LM takes a recipe of Transformer Engine");
  if (plan.gradients == plan::GradientType::BF16)
    config.line("--grad-reduce-in-bf16");
  if (plan.offload.optimizer)
    config.line("--optimizer-cpu-offload");
  if (plan.offload.activations)
    config.unsaid.push_back("activations in host memory");
  return config;
}
