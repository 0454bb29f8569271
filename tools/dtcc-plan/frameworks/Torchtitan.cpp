//===- Torchtitan.cpp - A plan as a part of torchtitan's configuration
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys of torchtitan/config/job_config.py. torchtitan shards state by PyTorch's fully_shard, which knows ZeRO 2 and 3.
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/frameworks/Frameworks.h"

using namespace dtcc;
using plan::Parallelism;

static void writeTorchtitanStages(const FrameworkPlan &given, FrameworkConfig &config) {
  const Parallelism &plan = given.plan;
  config.line("pipeline_parallel_degree = {0}", plan.pp);
  if (plan.pp == 1)
    return;
  const char *schedule = plan.schedule == cost::PipelineKind::GPipe         ? "GPipe"
                         : plan.schedule == cost::PipelineKind::Interleaved ? "Interleaved1F1B"
                                                                            : "1F1B";
  noteUnequalStages(given, "torchtitan cuts equal ones", config);
  config.line("pipeline_parallel_schedule = \"{0}\"", schedule);
  config.line("pipeline_parallel_microbatch_size = {0}", given.microBatch());
  if (plan.schedule == cost::PipelineKind::ZeroBubble)
    config.unsaid.push_back("schedule zero-bubble: PyTorch's schedules of one stage a rank are GPipe and 1F1B");
  if (plan.virtualStages > 1 && !given.blocksAreLayers)
    config.unsaid.push_back(llvm::formatv("{0} stages a rank: pipeline_parallel_layers_per_stage takes the layers of "
                                          "a stage",
                                          plan.virtualStages));
  else if (plan.virtualStages > 1)
    config.line("pipeline_parallel_layers_per_stage = {0}", llvm::divideCeil(given.blocks, size_t(plan.virtualStages)));
}

static void writeTorchtitanState(const Parallelism &plan, FrameworkConfig &config) {
  int64_t shards = plan.zero > 0 ? plan.dp / plan.groups : 1;
  config.line("data_parallel_replicate_degree = {0}", plan.dp / shards);
  config.line("data_parallel_shard_degree = {0}", shards);
  if (plan.zero > 0)
    config.line("fsdp_reshard_after_forward = \"{0}\"", plan.zero == 3 ? "always" : "never");
  if (plan.zero == 1)
    config.unsaid.push_back("ZeRO 1: fully_shard without resharding is ZeRO 2, which reduces gradients each "
                            "micro-batch");
}

static void writeTorchtitanContext(const Parallelism &plan, FrameworkConfig &config) {
  config.line("context_parallel_degree = {0}", plan.cp);
  if (plan.cp == 1)
    return;
  config.line("context_parallel_rotate_method = \"{0}\"",
              plan.exchange == plan::SequenceExchange::Ring ? "alltoall" : "allgather");
  if (plan.exchange == plan::SequenceExchange::AllToAll || plan.exchange == plan::SequenceExchange::Cheaper)
    config.unsaid.push_back("heads exchanged for positions: torchtitan rotates or gathers keys and values");
}

FrameworkConfig dtcc::writeTorchtitan(const FrameworkPlan &given) {
  const Parallelism &plan = given.plan;
  FrameworkConfig config;
  config.line("[training]");
  // Without stages, micro-batches are accumulated until the global batch is full.
  config.line("local_batch_size = {0}", plan.pp > 1 ? given.localBatch() : given.microBatch());
  config.line("global_batch_size = {0}", given.batch);
  if (given.precision == "bf16" || given.precision == "f32")
    config.line("mixed_precision_param = \"{0}\"", given.precision == "bf16" ? "bfloat16" : "float32");
  else
    config.unsaid.push_back("layers in " + given.precision);
  if (plan.offload.optimizer)
    config.line("enable_cpu_offload = true");
  config.line("\n[parallelism]");
  writeTorchtitanState(plan, config);
  config.line("tensor_parallel_degree = {0}", plan.tp);
  writeTorchtitanContext(plan, config);
  writeTorchtitanStages(given, config);
  if (plan.ep > 1)
    config.line("expert_parallel_degree = {0}", plan.ep);
  config.line("\n[activation_checkpoint]");
  bool some = given.recomputed > 0 && given.recomputed < given.blocks;
  bool selective = plan.recompute == plan::Recompute::Selective || some;
  config.line("mode = \"{0}\"", selective ? "selective" : given.recomputed > 0 ? "full" : "none");
  if (some)
    config.line("selective_ac_option = \"{0}\"", llvm::divideCeil(given.blocks, given.recomputed));
  else if (selective)
    config.line("selective_ac_option = \"op\"");
  if (some)
    config.unsaid.push_back(
        llvm::formatv("{0} of {1} {2} of the fullest stage are recomputed: torchtitan repeats every "
                      "n-th layer whole",
                      given.recomputed, given.blocks, given.blocksAreLayers ? "layers" : "blocks"));
  if (plan.gradients == plan::GradientType::BF16)
    config.unsaid.push_back("gradients in bf16: torchtitan reduces them in float32");
  if (plan.offload.activations)
    config.unsaid.push_back("activations in host memory");
  return config;
}
