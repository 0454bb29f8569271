//===- DeepSpeed.cpp - A plan as DeepSpeed's configuration
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys of https://www.deepspeed.ai/docs/config-json. Stages, experts and recomputed layers are said in Python there.
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/frameworks/Frameworks.h"
#include "llvm/Support/JSON.h"

using namespace dtcc;
using plan::Parallelism;

static void listDeepSpeedUnsaid(const FrameworkPlan &given, FrameworkConfig &config) {
  const Parallelism &plan = given.plan;
  if (plan.pp > 1)
    config.unsaid.push_back(llvm::formatv("{0} stages: PipelineModule(layers, num_stages={0}) says them; its schedule "
                                          "is 1f1b",
                                          plan.pp));
  if (plan.pp > 1 && plan.schedule != cost::PipelineKind::OneForwardOneBackward)
    config.unsaid.push_back("schedule " + plan.scheduleName());
  if (plan.ep > 1)
    config.unsaid.push_back(
        llvm::formatv("experts over {0} ranks: deepspeed.moe.layer.MoE(ep_size={0}) says it", plan.ep));
  if (plan.cp > 1 && plan.exchange != plan::SequenceExchange::AllToAll)
    config.unsaid.push_back("cp-attention=" + std::string(toString(plan.exchange)) +
                            ": DeepSpeed-Ulysses exchanges heads for positions");
  if (plan.sequenceParallel)
    config.unsaid.push_back("sequence parallelism beside tp");
  if (given.recomputed > 0)
    config.unsaid.push_back(llvm::formatv("{0} of {1} {2} of the fullest stage are recomputed: "
                                          "deepspeed.checkpointing.checkpoint in the model says which",
                                          given.recomputed, given.blocks, given.blocksAreLayers ? "layers" : "blocks"));
  if (plan.groups > 1 && plan.zero < 3)
    config.unsaid.push_back(
        llvm::formatv("state shared among {0} of {1} data-parallel ranks", plan.dp / plan.groups, plan.dp));
  if (plan.offload.activations)
    config.unsaid.push_back("activations in host memory");
  if (given.precision != "f32" && given.precision != "bf16" && given.precision != "fp16")
    config.unsaid.push_back("layers in " + given.precision);
}

FrameworkConfig dtcc::writeDeepSpeed(const FrameworkPlan &given) {
  const Parallelism &plan = given.plan;
  FrameworkConfig config;
  llvm::json::Object zero{{"stage", plan.zero}, {"overlap_comm", true}};
  if (plan.groups > 1 && plan.zero == 3)
    zero["mics_shard_size"] = plan.dp / plan.groups;
  if (plan.offload.optimizer)
    zero["offload_optimizer"] = llvm::json::Object{{"device", "cpu"}, {"pin_memory", true}};
  llvm::json::Object all{{"train_batch_size", given.batch},
                         {"train_micro_batch_size_per_gpu", given.microBatch()},
                         {"gradient_accumulation_steps", plan.microbatches},
                         {"zero_optimization", std::move(zero)}};
  if (given.precision == "bf16" || given.precision == "fp16")
    all[given.precision] = llvm::json::Object{{"enabled", true}};
  if (plan.gradients == plan::GradientType::BF16)
    all["data_types"] = llvm::json::Object{{"grad_accum_dtype", "bf16"}};
  if (plan.tp > 1)
    all["tensor_parallel"] = llvm::json::Object{{"autotp_size", plan.tp}};
  if (plan.cp > 1)
    all["sequence_parallel_size"] = plan.cp;
  config.text = llvm::formatv("{0:2}\n", llvm::json::Value(std::move(all))).str();
  listDeepSpeedUnsaid(given, config);
  return config;
}
