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
#include "compiler/planning/LowerPlan.h"
#include "compiler/planning/MakePlan.h"
#include "compiler/training/LabelShift.h"
#include "compiler/training/SavedTensors.h"
#include "compiler/training/Training.h"
#include "compiler/training/Weights.h"
#include "compiler/training/WeightsOption.h"
#include "dialects/exec/Exec.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/exec/MachinePass.h"
#include "passes/exec/codegen/KernelGenerator.h"
#include "passes/graph/Recompute.h"
#include "passes/spmd/layout/ApplyPlan.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "planner/parallelism/Offload.h"
#include "runtime/abi/OwnWeights.h"
#include "runtime/abi/console/AmountText.h"
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
  Driver(ModuleOp module, const Options &options, OutputFiles &files, ProgramParts &parts)
      : module(module), options(options), files(files), parts(parts) {}
  LogicalResult run();

private:
  /// The furthest state that a module has reached; the driver goes on from it.
  enum class Holds { Nothing, Model, Step, Layouts, Program, Commands };
  Holds holds();
  /// A part of the way from a model to a program. It runs if the module holds what it begins with.
  struct Step {
    Holds first, last;
    LogicalResult (Driver::*run)();
    /// The --emit that ends behind it; empty: none does.
    StringRef emits;
  };
  static const Step kSteps[];
  LogicalResult train();
  LogicalResult shiftLabels();
  LogicalResult plan();
  LogicalResult recompute();
  LogicalResult addEvaluation();
  LogicalResult applyPlan();
  LogicalResult distribute();
  LogicalResult verify();
  LogicalResult lower();
  LogicalResult generateKernels();

  LogicalResult runPasses(StringRef what, llvm::function_ref<void(OpPassManager &)> build);
  LogicalResult emit();
  LogicalResult emitCode();
  /// Prices the commands, by which `--info` of the program forecasts its step.
  LogicalResult priceCommands(exec::ProgramOp program, ImageOptions &image);
  /// The kernels as text: IR of LLVM, or PTX.
  LogicalResult emitKernels();
  bool isForGpus() const { return targetOf(options).memory == DTCC_MEMORY_DEVICE; }
  /// Plans that were given are compiled though they need more memory than there is.
  void warnOfMemory(exec::ProgramOp program);
  void tellOfHost(exec::ProgramOp program);
  /// Says which token --tokens takes as a label. Without -v, only a guess is worth a line.
  void tellOfLabels();
  /// Says what begins, and what the last part took.
  void progress(StringRef what);

  ModuleOp module;
  const Options &options;
  OutputFiles &files;
  ProgramParts &parts;
  /// The processor that computes; of a program for GPUs any that runs its main.
  std::unique_ptr<llvm::TargetMachine> processor;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now(), last = began;
  std::string current;
  std::optional<Status> status;
  /// The plan of the step, once it is made; what --verify compares with.
  std::optional<MadePlan> made;
  std::optional<StepCheck> check;
};

/// Prints the time of a part of the way, if that is asked for.
static void tellTime(const Options &options, StringRef part, std::chrono::steady_clock::duration time) {
  if (options.progress || options.verbose)
    messageStream() << llvm::formatv("{0,-28} {1,6:f2} s\n", part, std::chrono::duration<double>(time).count());
}

void Driver::progress(StringRef what) {
  auto now = std::chrono::steady_clock::now();
  if (!current.empty())
    tellTime(options, current, now - last);
  last = now;
  current = what.str();
  if (what.empty())
    status.reset();
  else
    status.emplace(what);
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
        << "the plan needs " << formatBytes(needed) << " of memory a rank, and "
        << (isForGpus() ? "a device of --cluster=" + options.cluster : "this machine") << " has " << formatBytes(memory)
        << (isForGpus() ? std::string() : " for each of " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"))
        << ": the program will refuse to run " << (isForGpus() ? "there" : "here") << '\n';
}

/// Tells about host memory that the program locks: whether it is there, or that the cluster does not say.
void Driver::tellOfHost(exec::ProgramOp program) {
  double bytes = 0;
  for (auto arena : program.getOps<exec::ArenaOp>())
    bytes += arena.getHost() ? double(arena.getBytes()) : 0;
  if (bytes > options.hostMemory && options.hostMemory > 0)
    llvm::WithColor::warning(messageStream(), "dtcc")
        << "a rank needs " << formatBytes(bytes) << " of host memory, but a device of --cluster=" << options.cluster
        << " has " << formatBytes(options.hostMemory) << ": the program will refuse to run there\n";
  else if (bytes > 0 && options.hostMemory <= 0)
    llvm::WithColor::note(messageStream(), "dtcc")
        << "a rank locks " << formatBytes(bytes) << " of host memory, and --cluster=" << options.cluster
        << " does not say how much a host has\n";
  else if (bytes == 0 && isForGpus() && plan::parseOffload(options.offload).value_or(plan::Offload()).any())
    llvm::WithColor::note(messageStream(), "dtcc")
        << "--offload=" << options.offload << " moves nothing: "
        << (options.offload == "activations" ? "no activation stays unused for long enough\n"
                                             : "the optimizer has no moments, and the step reads the parameters\n");
}

void Driver::tellOfLabels() {
  auto reason = module->getAttrOfType<StringAttr>("dtcc.label_shift_by");
  if (reason && (options.verbose || reason.getValue() == kLabelShiftIsAGuess))
    module.emitRemark("--tokens labels each token with ")
        << (labelShift(module) ? "the next one" : "itself, because the model shifts its labels") << ", "
        << reason.getValue();
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

/// The file of weights beside the program.
static std::string weightsPath(const OutputFiles &files) { return files.target() + kWeightsSuffix.str(); }

static bool areWeightsInside(const Options &options) { return options.weightsIn == "program"; }

/// The plan that the module has; none in front of its partition.
static std::optional<plan::Plan> heldPlan(ModuleOp module) {
  spmd::PlanAttr plan = spmd::planOf(module);
  if (!plan)
    return std::nullopt;
  return spmd::toPlan(plan, spmd::toMesh(module.lookupSymbol<spmd::MeshOp>(plan.getMesh())));
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
  int64_t ranks = spmd::toMesh(module.lookupSymbol<spmd::MeshOp>(programs.front().getMeshAttr())).ranks();
  ImageOptions imageOptions;
  imageOptions.model = llvm::sys::path::stem(options.input).str();
  const std::optional<plan::Plan> plan = heldPlan(module);
  imageOptions.plan = plan ? plan->toJson(/*indent=*/0) : "{}";
  imageOptions.gradients = std::string(toString(plan ? plan->gradients : plan::GradientType::F32));
  imageOptions.precision = options.precision;
  imageOptions.labelShift = labelShift(module);
  imageOptions.cpu = isForGpus() ? "" : processor->getTargetCPU().str();
  imageOptions.memory = targetOf(options).memory;
  imageOptions.tf32 = options.tf32;
  imageOptions.devicePeak = options.devicePeak;
  if (failed(priceCommands(programs.front(), imageOptions)))
    return failure();
  if (weights)
    imageOptions.weights =
        areWeightsInside(options) ? kOwnWeights : llvm::sys::path::filename(weightsPath(files)).str();
  imageOptions.tensors = tensorsText(module, options);
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
  addWorld(*code, *image, ranks);
  progress("optimize and emit");
  std::string object = "ranks-" + std::to_string(ranks) + ".o";
  if (failed(writeObject(*code, *processor, files.part(object))))
    return failure();
  parts.objects.push_back(object);
  // All worlds start from the same values.
  if (weights && !parts.hasWeights) {
    progress("weights");
    if (failed(writeWeights(module, files.part("weights"))))
      return failure();
    parts.hasWeights = true;
  }
  tellOfLabels();
  return success();
}

LogicalResult Driver::train() {
  if (failed(applyTrainingOptions(module, options)))
    return failure();
  return runPasses("graph", [&](OpPassManager &manager) { buildGraphPipeline(manager, options); });
}

LogicalResult Driver::shiftLabels() {
  if (failed(decideLabelShift(module)))
    return failure();
  if (options.emit == "program")
    tellOfSeenLabels(module);
  return success();
}

LogicalResult Driver::plan() {
  if (options.verify)
    check.emplace(module);
  progress("plan");
  FailureOr<MadePlan> found = makePlan(module, options);
  if (failed(found))
    return failure();
  made.emplace(std::move(*found));
  // The plan was lowered to know its memory: that is the program, unless an earlier form of it is wanted.
  if (made->lowered && !check && options.emit != "plan" && options.emit != "onnx" && options.emit != "spmd") {
    module.getBodyRegion().takeBody(made->lowered->getBodyRegion());
    module->setAttrs(made->lowered->getOperation()->getAttrDictionary());
  }
  return success();
}

/// Activations that are not kept are recomputed by clones, which the plan places like their originals. An annotated
/// model has no nodes for them.
LogicalResult Driver::recompute() {
  return options.emit == "onnx" ? success() : graph::recompute(module.lookupSymbol<func::FuncOp>("step"), made->plan);
}

/// Adds the forward pass of evaluations. The text of `--emit=onnx` and `--emit=spmd` shows the training step alone.
LogicalResult Driver::addEvaluation() {
  if (options.emit == "onnx" || options.emit == "spmd")
    return success();
  dtcc::addEvaluation(module.lookupSymbol<func::FuncOp>("step"), options, made->plan);
  if (check)
    check->addEvaluation(options, made->plan);
  return success();
}

LogicalResult Driver::applyPlan() { return spmd::applyPlan(module, made->plan, targetOf(options).padding); }

LogicalResult Driver::distribute() {
  return runPasses("distribute", [&](OpPassManager &manager) { buildSpmdPipeline(manager, options); });
}

LogicalResult Driver::verify() {
  if (!check)
    return success();
  progress("verify");
  std::string report;
  llvm::raw_string_ostream stream(report);
  LogicalResult equal = check->run(module, kVerifySteps, stream);
  messageStream() << report;
  return equal;
}

LogicalResult Driver::lower() {
  return runPasses("exec", [&](OpPassManager &manager) { buildExecPipeline(manager, options); });
}

LogicalResult Driver::generateKernels() {
  return runPasses("generate kernels", [&](OpPassManager &manager) { buildCodePipeline(manager, options); });
}

const Driver::Step Driver::kSteps[] = {
    {Holds::Model, Holds::Model, &Driver::train, ""},
    {Holds::Step, Holds::Layouts, &Driver::shiftLabels, "graph"},
    {Holds::Step, Holds::Step, &Driver::plan, "plan"},
    {Holds::Step, Holds::Step, &Driver::recompute, ""},
    {Holds::Step, Holds::Step, &Driver::addEvaluation, ""},
    {Holds::Step, Holds::Step, &Driver::applyPlan, "onnx"},
    {Holds::Layouts, Holds::Layouts, &Driver::distribute, ""},
    {Holds::Program, Holds::Program, &Driver::verify, "spmd"},
    {Holds::Program, Holds::Program, &Driver::lower, "exec"},
    {Holds::Commands, Holds::Commands, &Driver::generateKernels, ""},
};

Driver::Holds Driver::holds() {
  if (!module.getOps<exec::ProgramOp>().empty())
    return Holds::Commands;
  if (!module.getOps<spmd::ProgramOp>().empty())
    return Holds::Program;
  if (module.lookupSymbol("loss"))
    return Holds::Model;
  if (!module.lookupSymbol("step"))
    return Holds::Nothing;
  return module.getOps<spmd::MeshOp>().empty() ? Holds::Step : Holds::Layouts;
}

/// Writes what --emit names, which the module holds by now.
LogicalResult Driver::emit() {
  if (options.emit == "plan" && !made)
    return module.emitError("--emit=plan needs a model or a step on whole tensors: this module is partitioned already");
  if (options.emit == "plan")
    return files.writeText([&](raw_ostream &stream) { stream << made->plan.toJson() << '\n'; });
  // The tool writes the placement beside the nodes of the model.
  if (options.emit == "onnx")
    return success();
  return files.writeText([&](raw_ostream &stream) { module->print(stream, OpPrintingFlags().enableDebugInfo(false)); });
}

LogicalResult Driver::run() {
  if (holds() == Holds::Nothing)
    return module.emitError("the model has no loss to train: attach one to its outputs, as "
                            "--loss=cross_entropy:logits=logits,labels=labels");
  if (options.verify && holds() > Holds::Step)
    return module.emitError("--verify needs a model or a step on whole tensors: this module is partitioned already");
  if (!options.worlds.empty() && holds() > Holds::Step)
    return module.emitError("--worlds needs a model or a step on whole tensors: this module is partitioned already");
  // Commands that were written by hand are checked as those that dtcc makes are.
  if (holds() == Holds::Commands && failed(runPasses("check", buildCheckPipeline)))
    return failure();
  if (failed(applyWeights(module, options)))
    return failure();
  // Before the long work: the processor may be unknown.
  if (options.emit == "program" || options.emit == "llvm") {
    auto found = createTarget(isForGpus() ? "generic" : options.cpu);
    if (failed(found))
      return failure();
    processor = std::move(*found);
  }
  for (const Step &step : kSteps) {
    Holds now = holds();
    if (step.first <= now && now <= step.last && failed((this->*step.run)()))
      return failure();
    if (!step.emits.empty() && step.emits == options.emit)
      return emit();
  }
  LogicalResult result = options.emit == "program" ? emitCode() : emitKernels();
  progress("");
  return result;
}
} // namespace

LogicalResult dtcc::compileModule(ModuleOp module, const Options &options, OutputFiles &files, ProgramParts &parts) {
  return Driver(module, options, files, parts).run();
}

LogicalResult dtcc::linkParts(const ProgramParts &parts, const Options &options, OutputFiles &files,
                              const char *argv0) {
  Status status("link");
  auto began = std::chrono::steady_clock::now();
  if (failed(linkProgram(files, parts.objects, runtimeLibrary(argv0), "program", targetOf(options).device)))
    return failure();
  tellTime(options, "link", std::chrono::steady_clock::now() - began);
  SmallVector<std::pair<StringRef, std::string>> places;
  if (parts.hasWeights && !areWeightsInside(options))
    places.push_back({"weights", weightsPath(files)});
  else if (parts.hasWeights && failed(appendWeights(files.part("weights"), files.part("program"))))
    return failure();
  places.push_back({"program", files.target()});
  return files.commit(places);
}
