//===- NeMo.cpp - A plan as a part of NeMo's configuration
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys of NeMo's megatron_gpt_config.yaml; MegatronStrategy of NeMo 2 has the same names.
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/frameworks/Frameworks.h"

using namespace dtcc;
using plan::Parallelism;

static void writeNeMoRecomputation(const FrameworkPlan &given, FrameworkConfig &config) {
  if (given.plan.recompute == plan::Recompute::Selective) {
    config.line("  activations_checkpoint_granularity: selective");
    return;
  }
  if (given.plan.recompute == plan::Recompute::None && given.recomputed == 0)
    return;
  bool all = given.recomputed == given.blocks;
  config.line("  activations_checkpoint_granularity: full");
  config.line("  activations_checkpoint_method: {0}", all ? "uniform" : "block");
  if (all || given.blocksAreLayers)
    config.line("  activations_checkpoint_num_layers: {0}",
                all ? 1 : llvm::divideCeil(given.recomputed, size_t(given.plan.virtualStages)));
  else
    config.unsaid.push_back(llvm::formatv("{0} of {1} blocks of the fullest stage are recomputed: "
                                          "activations_checkpoint_num_layers takes that share of its layers",
                                          given.recomputed, given.blocks));
  if (!all)
    config.unsaid.push_back("layers that recompute only a part of their values: NeMo repeats whole layers");
}

FrameworkConfig dtcc::writeNeMo(const FrameworkPlan &given) {
  const Parallelism &plan = given.plan;
  FrameworkConfig config;
  if (given.precision == "bf16" || given.precision == "fp16" || given.precision == "f32")
    config.line("trainer:\n  precision: {0}", given.precision == "bf16"   ? "bf16"
                                              : given.precision == "fp16" ? "16"
                                                                          : "32");
  else
    config.unsaid.push_back("layers in " + given.precision + ": NeMo takes a recipe of Transformer Engine");
  config.line("model:");
  config.line("  micro_batch_size: {0}", given.microBatch());
  config.line("  global_batch_size: {0}", given.batch);
  config.line("  tensor_model_parallel_size: {0}", plan.tp);
  config.line("  pipeline_model_parallel_size: {0}", plan.pp);
  if (plan.schedule == cost::PipelineKind::Interleaved)
    config.line("  virtual_pipeline_model_parallel_size: {0}", plan.virtualStages);
  else if (plan.pp > 1 && plan.schedule != cost::PipelineKind::OneForwardOneBackward)
    config.unsaid.push_back("schedule " + plan.scheduleName() + ": NeMo runs 1f1b");
  noteUnequalStages(given, "NeMo cuts equal ones", config);
  config.line("  context_parallel_size: {0}", plan.cp);
  if (plan.cp > 1 && plan.exchange != plan::SequenceExchange::Ring)
    config.unsaid.push_back("cp-attention=" + std::string(toString(plan.exchange)) + ": NeMo passes keys in a ring");
  if (plan.ep > 1)
    config.line("  expert_model_parallel_size: {0}", plan.ep);
  config.line("  sequence_parallel: {0}", plan.sequenceParallel ? "True" : "False");
  writeNeMoRecomputation(given, config);
  config.line("  optim:\n    name: {0}", plan.zero > 0 ? "distributed_fused_adam" : "fused_adam");
  if (plan.gradients == plan::GradientType::BF16 && plan.zero > 0)
    config.line("    grad_sync_dtype: bf16");
  else if (plan.gradients == plan::GradientType::BF16)
    config.unsaid.push_back("gradients in bf16: fused_adam of NeMo has no type for them");
  if (plan.zero > 1)
    config.unsaid.push_back("ZeRO " + std::to_string(plan.zero) + ": the distributed optimizer is ZeRO 1");
  if (plan.groups > 1)
    config.unsaid.push_back("state shared among " + std::to_string(plan.dp / plan.groups) + " of " +
                            std::to_string(plan.dp) + " data-parallel ranks");
  if (plan.offload.any())
    config.unsaid.push_back("offload to host memory");
  return config;
}
