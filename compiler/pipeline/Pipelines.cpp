//===- Pipelines.cpp - The compiler as lists of passes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/Pipelines.h"
#include "compiler/options/CompileTarget.h"
#include "dialects/exec/Exec.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/exec/MachinePass.h"
#include "passes/exec/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/spmd/Passes.h"

using namespace mlir;
using namespace dtcc;

void dtcc::buildGraphPipeline(OpPassManager &manager, const Options &options) {
  // Programs compute in f32.
  manager.addPass(graph::createGraphNarrowDoubles());
  // One dimension, one factor: reshapes become views of finer dimensions.
  manager.addPass(graph::createGraphFactorDimensions());
  // Transposes become letters of the products that read them.
  manager.addPass(graph::createGraphCanonicalize());
  // Attention, norms, activations and losses, found by what they compute.
  manager.addPass(graph::createGraphRecoverComposites());
  manager.addPass(graph::createGraphCanonicalize());
  // Windows of tokens may cross documents, and attention may not.
  if (options.maskDocuments)
    manager.addPass(graph::createGraphMaskDocuments());
  // Products in the compute type, sums in f32: the backward pass inherits it.
  if (options.precision == "bf16" || options.precision == "fp16") {
    graph::GraphLowerPrecisionOptions lower;
    lower.compute = options.precision == "bf16" ? "bf16" : "f16";
    manager.addPass(graph::createGraphLowerPrecision(lower));
  }
  // Squares and roots are no powers, nor are their gradients. Powers are f32, and so are these.
  manager.addPass(graph::createGraphExpandPowers());
  // Several losses divide by counts of their own, which come from the labels alone.
  manager.addPass(graph::createGraphSeparateCounts());
  // Numbers of the whole batch may be those of a micro-batch, if the user says so.
  manager.addPass(graph::createGraphGroupLosses());
  // Forward, backward and the update, with the origin of every op.
  graph::GraphDifferentiateOptions differentiate;
  // As torch.amp.GradScaler starts.
  if (options.precision == "fp16")
    differentiate.lossScale = options.lossScale > 0 ? options.lossScale : 65536.0;
  manager.addPass(graph::createGraphDifferentiate(differentiate));
  manager.addPass(graph::createGraphVerifyStep());
}

void dtcc::buildSpmdPipeline(OpPassManager &manager, const Options &options) {
  manager.addPass(createCSEPass());
  // Layouts, partial sums and padding are what they say.
  manager.addPass(spmd::createSpmdVerify());
  // Tokens go to the experts that they picked, where the plan says so.
  manager.addPass(spmd::createSpmdDispatchExperts());
  // Parameters are stored for their readers, and travel, in the type that these compute in.
  manager.addPass(spmd::createSpmdAssignComputeTypes());
  // Form the units that are gathered and reduced together.
  manager.addPass(spmd::createSpmdFormUnits({options.latencyBytes, options.bytesPerFlop}));
  // The program of a rank: local tensors, collectives, buckets.
  manager.addPass(spmd::createSpmdLowerToProgram());
  // Stages have few channels to each other, each with buffers of its own.
  manager.addPass(spmd::createSpmdMergeChannels());
  // Units are gathered ahead of their use, gradients reduced when they are complete.
  manager.addPass(spmd::createSpmdPlaceUnits());
  // Values that skip stages do not make the others wait for ever.
  manager.addPass(spmd::createSpmdReserveMessages());
  // States lie apart, units are read while they exist, stages end.
  manager.addPass(spmd::createSpmdVerifyProgram());
}

void dtcc::buildMemoryPipeline(OpPassManager &manager, const Options &options) {
  const exec::Target &target = targetOf(options);
  // Logits exist for some rows at a time, gradients are added up where they are made.
  manager.addPass(exec::createChunkClassifier({target.logitsBytes}));
  manager.addPass(exec::createSplitAccumulation());
  // Parts of products travel while the next ones are made.
  if (target.runsStreams && options.machine)
    manager.addPass(exec::createChunkExchangesFor(*options.machine));
  // Expand norms, softmax and rotary embedding to elementwise ops and sums, which kernels compute.
  manager.addPass(exec::createExpandComposites());
  // Images lie with their channels last where tensor cores multiply them.
  if (target.channelsLast)
    manager.addPass(exec::createChannelsLast());
  manager.addPass(createCSEPass());
  // Store gradients of logits in 16 bits if the matrix products that read them compute in 16 bits.
  manager.addPass(exec::createNarrowLosses());
  // Fold epilogues that the library of products applies.
  if (const exec::ProductEpilogues &some = target.epilogues; some.bias || some.gelu || some.biasGradient)
    manager.addPass(exec::createFoldEpilogues({some.bias, some.gelu, some.biasGradient}));
  // Sums of few columns are shared out to all multiprocessors.
  if (target.memory == DTCC_MEMORY_DEVICE)
    manager.addPass(exec::createSplitSums());
  // Fuse neighbours that share their loops into one kernel, which saves passes over memory.
  manager.addPass(exec::createFuse());
  // Turn values into buffers, and ops into commands.
  manager.addPass(exec::createBufferize({target.packsRows, target.plansWorkspace, target.memory == DTCC_MEMORY_DEVICE,
                                         target.rowAlignment, target.splitsSums, target.channelsLast}));
  // Move updates that are early into the backward pass, behind the last commands that touch what they do.
  manager.addNestedPass<exec::ProgramOp>(exec::createAdvanceUpdates());
  // Merge equal views, which many commands share.
  manager.addPass(createCSEPass());
  // Copy the saved activations that the plan offloads to host memory and back.
  if (target.copyCommands > 0)
    manager.addNestedPass<exec::ProgramOp>(exec::createOffloadValues({target.copyCommands}));
  // Give buffers that one phase of a pipeline writes and another reads a slot for each micro-batch in flight.
  manager.addNestedPass<exec::ProgramOp>(exec::createAssignSlots({target.alignment}));
  // Gather what is updated beside the forward pass of the next step.
  if (target.runsStreams && options.machine)
    manager.addPass(exec::createDeferGathersFor(*options.machine));
  // Give parameter collectives a communicator of their own if activations use the same group of ranks: NCCL orders the
  // collectives of a communicator.
  if (target.runsStreams)
    manager.addNestedPass<exec::ProgramOp>(exec::createSeparateParameters());
  // Place the gradients of weights beside exchanges of activations.
  if (target.runsStreams && options.machine)
    manager.addPass(exec::createFillExchangesFor(*options.machine));
  // Move parameter gathers, gradient reductions and offload copies to side streams, where they overlap with
  // computation.
  exec::AssignStreamsOptions streams;
  streams.behind = target.copyCommands;
  manager.addNestedPass<exec::ProgramOp>(exec::createAssignStreams(streams));
  // Plan the workspace of library ops.
  if (target.plansWorkspace)
    manager.addNestedPass<exec::ProgramOp>(exec::createReserveWorkspace());
  // Let buffers with disjoint live ranges share bytes.
  manager.addNestedPass<exec::ProgramOp>(exec::createPlanArena({target.alignment}));
}

void dtcc::buildCheckPipeline(OpPassManager &manager) {
  // Check the bytes of the final program: no two live buffers overlap, each read follows a write, and no two streams
  // race.
  manager.addPass(exec::createVerify());
  // Check the messages of the final programs: no deadlock between stages.
  manager.addPass(exec::createVerifyMessages());
}

void dtcc::buildExecPipeline(OpPassManager &manager, const Options &options) {
  buildMemoryPipeline(manager, options);
  buildCheckPipeline(manager);
}

void dtcc::buildCodePipeline(OpPassManager &manager, const Options &options) {
  if (targetOf(options).memory == DTCC_MEMORY_DEVICE)
    manager.addPass(exec::createGenerateGpuKernels());
  else
    manager.addPass(exec::createGenerateKernels());
  manager.addPass(exec::createFoldDimensions());
}

namespace {
/// The options of the compiler that lists of passes depend on.
struct ListOptions : PassPipelineOptions<ListOptions> {
  PassOptions::Option<std::string> precision{*this, "precision", llvm::cl::desc("f32, bf16 or fp16"),
                                             llvm::cl::init("f32")};
  PassOptions::Option<std::string> target{*this, "target", llvm::cl::desc("cpu or cuda"), llvm::cl::init("cpu")};
  PassOptions::Option<double> clip{*this, "clip", llvm::cl::desc("clip by the global norm of the gradients; 0: no"),
                                   llvm::cl::init(0)};

  Options resolved() const {
    Options options;
    options.precision = precision;
    options.target = target;
    options.clip = clip;
    return options;
  }
};
} // namespace

/// `ends`: what holds behind the last pass.
template <void build(OpPassManager &, const Options &)> static void registerList(StringRef name, StringRef ends) {
  PassPipelineRegistration<ListOptions>(
      name, ends, [](OpPassManager &manager, const ListOptions &options) { build(manager, options.resolved()); });
}

void dtcc::registerPipelines() {
  registerList<buildGraphPipeline>("dtcc-graph", "a model to a training step on whole tensors; ends with what "
                                                 "graph-verify-step checks");
  registerList<buildSpmdPipeline>("dtcc-spmd", "a step with layouts to the program of a rank; ends with what "
                                               "spmd-verify-program checks");
  registerList<buildMemoryPipeline>("dtcc-memory", "the program of a rank to commands with planned memory");
  registerList<buildExecPipeline>("dtcc-exec", "dtcc-memory, and what exec-verify and exec-verify-messages check");
  registerList<buildCodePipeline>("dtcc-code", "the kernels of commands to functions of LLVM");
}
