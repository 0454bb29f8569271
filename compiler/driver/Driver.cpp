//===- Driver.cpp - Module in, artifact out -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Driver.h"
#include "compiler/console/StatusLine.h"
#include "compiler/driver/StepCheck.h"
#include "compiler/emit/GpuCode.h"
#include "compiler/emit/Image.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/Object.h"
#include "compiler/emit/Ptx.h"
#include "compiler/options/ClusterOption.h"
#include "compiler/options/CompileTarget.h"
#include "compiler/pipeline/Pipelines.h"
#include "compiler/pipeline/RunPasses.h"
#include "compiler/planning/MakePlan.h"
#include "compiler/training/LabelShift.h"
#include "compiler/training/Training.h"
#include "compiler/training/Weights.h"
#include "dialects/exec/Exec.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/exec/codegen/KernelGenerator.h"
#include "passes/exec/commands/PriceCommands.h"
#include "passes/graph/Recompute.h"
#include "passes/spmd/layout/ApplyPlan.h"
#include "planner/cost/AmountText.h"
#include "planner/plan/Offload.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include <chrono>

using namespace mlir;
using namespace dtcc;

namespace {

/// Steps of --verify: the second starts from what the first one's update left.
constexpr int64_t kVerifySteps = 2;

class Driver {
public:
  Driver(ModuleOp module, const Options &options, OutputFiles &files, const char *argv0)
      : module(module), options(options), files(files), argv0(argv0) {}
  LogicalResult run();

private:
  LogicalResult runPasses(StringRef what, llvm::function_ref<void(OpPassManager &)> build);
  LogicalResult emitModule() {
    return files.writeText(
        [&](raw_ostream &stream) { module->print(stream, OpPrintingFlags().enableDebugInfo(false)); });
  }
  LogicalResult emitCode();
  /// Prices the commands, by which `--info` of the program forecasts its step.
  LogicalResult priceCommands(exec::ProgramOp program, ImageOptions &image);
  /// The kernels as text: IR of LLVM, or PTX.
  LogicalResult emitKernels();
  bool isForGpus() const { return targetOf(options).memory == DTCC_MEMORY_DEVICE; }
  LogicalResult distribute();
  Level level();
  /// Plans that were given are compiled though they need more memory than there is.
  void warnOfMemory(exec::ProgramOp program);
  void tellOfHost(exec::ProgramOp program);
  /// Says what begins, and what the last part took.
  void progress(StringRef what);

  ModuleOp module;
  const Options &options;
  OutputFiles &files;
  const char *argv0;
  /// The processor that computes; of a program for GPUs any that runs its main.
  std::unique_ptr<llvm::TargetMachine> processor;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now(), last = began;
  std::string current;
  std::optional<Status> status;
  /// Whether the requested output is already written.
  bool finished = false;
};

void Driver::progress(StringRef what) {
  auto now = std::chrono::steady_clock::now();
  if ((options.progress || options.verbose) && !current.empty())
    messageStream() << llvm::formatv("{0,-28} {1,6:f2} s\n", current,
                                     std::chrono::duration<double>(now - last).count());
  last = now;
  current = what.str();
  if (what.empty())
    status.reset();
  else
    status.emplace(what);
}

Level Driver::level() {
  if (!module.getOps<exec::ProgramOp>().empty())
    return Level::Exec;
  if (!module.getOps<spmd::ProgramOp>().empty())
    return Level::Spmd;
  return Level::Graph;
}

LogicalResult Driver::runPasses(StringRef what, llvm::function_ref<void(OpPassManager &)> build) {
  progress(what);
  return dtcc::runPasses(module, options, build);
}

void Driver::warnOfMemory(exec::ProgramOp program) {
  int64_t ranks = spmd::toMesh(module.lookupSymbol<spmd::MeshOp>(program.getMeshAttr())).ranks();
  double needed = 0, memory = machineMemory() / double(ranks);
  for (auto arena : program.getOps<exec::ArenaOp>())
    needed += arena.getHost() ? 0 : double(arena.getBytes());
  if (isForGpus())
    memory = options.deviceMemory;
  if (needed > memory)
    llvm::WithColor::warning(messageStream(), "dtcc")
        << "the plan needs " << cost::formatBytes(needed) << " of memory a rank, and "
        << (isForGpus() ? "a device of --cluster=" + options.cluster : "this machine") << " has "
        << cost::formatBytes(memory)
        << (isForGpus() ? std::string() : " for each of " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"))
        << ": the program is going to refuse to run " << (isForGpus() ? "there" : "here") << '\n';
}

/// Tells about host memory that the program locks: whether it is there, or that the cluster does not say.
void Driver::tellOfHost(exec::ProgramOp program) {
  double bytes = 0;
  for (auto arena : program.getOps<exec::ArenaOp>())
    bytes += arena.getHost() ? double(arena.getBytes()) : 0;
  std::string of = " of its host's memory, and ";
  if (bytes > options.hostMemory && options.hostMemory > 0)
    llvm::WithColor::warning(messageStream(), "dtcc")
        << "a rank needs " << cost::formatBytes(bytes) << of << "a device of --cluster=" << options.cluster << " has "
        << cost::formatBytes(options.hostMemory) << " of that: the program is going to refuse to run there\n";
  else if (bytes > 0 && options.hostMemory <= 0)
    llvm::WithColor::note(messageStream(), "dtcc")
        << "a rank locks " << cost::formatBytes(bytes) << of << "--cluster=" << options.cluster
        << " does not say how much there is\n";
  else if (bytes == 0 && isForGpus() && plan::parseOffload(options.offload).value_or(plan::Offload()).any())
    llvm::WithColor::note(messageStream(), "dtcc")
        << "--offload=" << options.offload << " moves nothing: "
        << (options.offload == "activations" ? "nothing that the plan leaves to hosts waits long enough\n"
                                             : "the optimizer keeps nothing beside parameters that the step reads\n");
}

LogicalResult Driver::emitKernels() {
  progress("optimize and emit");
  if (options.emit == "ptx") {
    auto oldest = createGpuTarget(gpuArchitectures(options).front());
    if (failed(oldest))
      return failure();
    FailureOr<std::string> text = emitPtx(module, **oldest);
    return failed(text) ? failure() : files.writeText([&](raw_ostream &stream) { stream << *text; });
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      isForGpus() ? translateGpuKernels(module, context) : translateKernels(module, context, exec::buildKernelLowering);
  return code ? files.writeText([&](raw_ostream &stream) { stream << *code; }) : failure();
}

LogicalResult Driver::priceCommands(exec::ProgramOp program, ImageOptions &image) {
  spmd::Mesh mesh = spmd::toMesh(module.lookupSymbol<spmd::MeshOp>(program.getMeshAttr()));
  FailureOr<ProgramMachine> found = machineOf(options, mesh.ranks());
  if (failed(found))
    return failure();
  image.machine = found->name;
  return runPasses("forecast",
                   [&](OpPassManager &manager) { manager.addPass(exec::createPriceCommandsFor(found->machine)); });
}

LogicalResult Driver::emitCode() {
  auto programs = llvm::to_vector(module.getOps<exec::ProgramOp>());
  bool weights = hasWeights(module);
  std::string weightsPath = files.target() + kWeightsSuffix.str();
  ImageOptions imageOptions;
  imageOptions.model = llvm::sys::path::stem(options.input).str();
  auto plan = module->getAttrOfType<StringAttr>("spmd.plan");
  imageOptions.plan = plan ? plan.str() : "{}";
  imageOptions.labelShift = labelShift(module);
  imageOptions.cpu = isForGpus() ? "" : processor->getTargetCPU().str();
  imageOptions.memory = targetOf(options).memory;
  imageOptions.tf32 = options.tf32;
  imageOptions.devicePeak = options.devicePeak;
  if (failed(priceCommands(programs.front(), imageOptions)))
    return failure();
  imageOptions.weights = weights ? llvm::sys::path::filename(weightsPath).str() : "";
  progress("lower kernels");
  llvm::LLVMContext context;
  // In the image are the kernels of GPUs, beside it those of processors.
  auto code = std::make_unique<llvm::Module>("dtcc", context);
  if (isForGpus()) {
    FailureOr<std::vector<GpuModule>> modules = makeGpuModules(module, options, files);
    if (failed(modules))
      return failure();
    imageOptions.gpuModules = std::move(*modules);
  } else if (!(code = translateKernels(module, context, exec::buildKernelLowering))) {
    return failure();
  }
  progress("image");
  FailureOr<Image> image = buildImage(programs, module, imageOptions);
  if (failed(image))
    return failure();
  warnOfMemory(programs.front());
  tellOfHost(programs.front());
  addProgram(*code, *image);
  progress("optimize and emit");
  if (failed(writeObject(*code, *processor, files.part("model.o"))))
    return failure();
  if (weights) {
    progress("weights");
    if (failed(writeWeights(module, files.part("weights"))))
      return failure();
  }
  progress("link");
  if (failed(linkProgram(files, "model.o", runtimeLibrary(argv0), "program", targetOf(options).device)))
    return failure();
  SmallVector<std::pair<StringRef, std::string>> parts;
  if (weights)
    parts.push_back({"weights", weightsPath});
  parts.push_back({"program", files.target()});
  if (failed(files.commit(parts)))
    return failure();
  if (auto by = module->getAttrOfType<StringAttr>("dtcc.label_shift_by"))
    module.emitRemark("with --tokens, the label of position t is token t")
        << (imageOptions.labelShift ? " + " + std::to_string(imageOptions.labelShift) : "") << ": the model "
        << (imageOptions.labelShift ? "compares position t with label t"
                                    : "itself compares position t with label t + 1")
        << ", " << by.getValue();
  return success();
}

/// From the model to the program of a rank, by way of a plan.
LogicalResult Driver::distribute() {
  auto finish = [&](LogicalResult result) {
    finished = true;
    return result;
  };
  if (module.lookupSymbol("loss")) {
    if (failed(applyTrainingOptions(module, options)) ||
        failed(runPasses("graph", [&](OpPassManager &manager) { buildGraphPipeline(manager, options); })))
      return failure();
  } else if (!module.lookupSymbol("step")) {
    return module.emitError("holds no @loss to train, no spmd.program and no exec.program; a forward graph needs "
                            "--loss=KIND:key=value,...");
  }
  decideLabelShift(module);
  if (options.emit == "graph")
    return finish(emitModule());
  std::optional<StepCheck> check;
  if (module.getOps<spmd::MeshOp>().empty()) {
    if (options.verify)
      check.emplace(module);
    progress("plan");
    FailureOr<MadePlan> made = makePlan(module, options);
    if (failed(made))
      return failure();
    const plan::Plan &plan = made->plan;
    if (options.emit == "plan")
      return finish(files.writeText([&](raw_ostream &stream) { stream << plan.toJson() << '\n'; }));
    // The plan was lowered to know its memory: that is the program.
    if (made->lowered && !check && options.emit != "spmd" && options.emit != "onnx") {
      module.getBodyRegion().takeBody(made->lowered->getBodyRegion());
      module->setAttrs(made->lowered->getOperation()->getAttrDictionary());
      return success();
    }
    // The placement alone: the tool writes it beside the nodes of the model.
    if (options.emit == "onnx")
      return finish(spmd::applyPlan(module, plan));
    // Activations that are not kept are recomputed by clones, which the plan places like their originals.
    if (failed(graph::recompute(module.lookupSymbol<func::FuncOp>("step"), plan)) ||
        failed(spmd::applyPlan(module, plan)))
      return failure();
  }
  if (failed(runPasses("distribute", [&](OpPassManager &manager) { buildSpmdPipeline(manager, options); })))
    return failure();
  if (!check)
    return success();
  progress("verify");
  std::string report;
  llvm::raw_string_ostream stream(report);
  LogicalResult equal = check->run(module, kVerifySteps, stream);
  messageStream() << report;
  return equal;
}

LogicalResult Driver::run() {
  if (options.verify && (level() != Level::Graph || !module.getOps<spmd::MeshOp>().empty()))
    return module.emitError("--verify needs a model or a step on whole tensors: this module is partitioned already");
  // Before the long work: the processor may be unknown.
  if (options.emit == "program" || options.emit == "llvm") {
    auto found = createTarget(isForGpus() ? "generic" : options.cpu);
    if (failed(found))
      return failure();
    processor = std::move(*found);
  }
  if (level() == Level::Graph && failed(distribute()))
    return failure();
  if (finished || options.emit == "spmd")
    return finished ? success() : emitModule();
  if (level() == Level::Spmd &&
      failed(runPasses("exec", [&](OpPassManager &manager) { buildExecPipeline(manager, options); })))
    return failure();
  if (options.emit == "exec")
    return emitModule();
  if (failed(runPasses("generate kernels", [&](OpPassManager &manager) { buildCodePipeline(manager, options); })))
    return failure();
  LogicalResult result = options.emit == "program" ? emitCode() : emitKernels();
  progress("");
  return result;
}
} // namespace

LogicalResult dtcc::compileModule(ModuleOp module, const Options &options, OutputFiles &files, const char *argv0) {
  return Driver(module, options, files, argv0).run();
}
