//===- TargetOption.cpp - What a program is compiled for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/options/TargetOption.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/options/ClusterOption.h"
#include "compiler/options/CompileTarget.h"
#include "compiler/options/PlanOption.h"
#include "compiler/options/PlanRequest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace dtcc;

/// The oldest architecture of a generation of NVIDIA's; 0: programs are not for it. What older code there is runs on
/// all that came later.
static unsigned architectureOf(cost::Architecture generation) {
  switch (generation) {
  case cost::Architecture::Ampere:
    return 80;
  case cost::Architecture::Ada:
    return 89;
  case cost::Architecture::Hopper:
    return 90;
  case cost::Architecture::Blackwell:
  case cost::Architecture::GraceBlackwell:
  case cost::Architecture::BlackwellUltra:
    return 100;
  case cost::Architecture::Volta: // no bf16
  case cost::Architecture::CDNA:
  case cost::Architecture::Cpu:
    return 0;
  }
  llvm_unreachable("all generations are listed");
}

/// Takes a cluster of as many H100s as the mesh or the plan asks for.
static LogicalResult assumeCluster(Options &options) {
  FailureOr<PlanRequest> request = resolvePlanRequest(options);
  if (failed(request))
    return failure();
  int64_t ranks = request->mesh.product();
  if (std::optional<int64_t> planned = ranksOfPlanFile(options.plan))
    ranks = std::max(ranks, *planned);
  options.cluster = std::to_string(ranks) + "xh100";
  return success();
}

static LogicalResult resolveArchitectures(const cost::Device &device, Options &options) {
  unsigned number = architectureOf(device.architecture);
  if (options.gpuArch.empty() && !number)
    return wrong("--cluster=" + options.cluster + " must be of NVIDIA GPUs from sm_80 on to be compiled for, got: " +
                 device.name + "; --target=cpu compiles its plan for ranks of this machine");
  options.assemble = !options.gpuArch.empty();
  if (options.gpuArch.empty())
    options.gpuArch = "sm_" + std::to_string(number);
  for (StringRef architecture : llvm::split(options.gpuArch, ','))
    if (failed(createGpuTarget(architecture)))
      return failure();
  return success();
}

/// In products of what is computed in. With their factors rounded to ten bits, GPUs multiply f32 half as fast as halves
/// (data sheets of A100, H100 and B200).
static double peakOf(const cost::Device &device, const Options &options) {
  double halves = device.peak(cost::Width::B16);
  if (options.precision != "f32")
    return halves;
  return options.tf32 ? halves / 2 : device.peak(cost::Width::F32);
}

LogicalResult dtcc::resolveTarget(Options &options) {
  bool makesCode = options.emit == "program" || options.emit == "llvm" || options.emit == "ptx";
  if (options.target.empty() && options.emit == "ptx")
    options.target = "cuda";
  if (options.target == "cuda" && options.cluster == "cpu" && failed(assumeCluster(options)))
    return failure();
  FailureOr<std::optional<cost::Device>> gpu = resolveCluster(options);
  if (failed(gpu))
    return failure();
  if (*gpu)
    options.deviceMemory = (*gpu)->memoryBytes;
  bool cuda = options.target == "cuda";
  if (cuda && *gpu)
    options.devicePeak = peakOf(**gpu, options);
  if (cuda && !*gpu)
    return wrong("--target=cuda must have a --cluster of GPUs, got: " + options.cluster);
  if (!cuda && options.emit == "ptx")
    return wrong("--emit=ptx must have --target=cuda, got: " + options.target);
  if (cuda && !options.cpu.empty())
    return wrong("--mcpu is for programs that compute on processors, got: " + options.cpu +
                 " for --target=cuda, whose kernels --gpu-arch is for");
  if (!cuda && !options.gpuArch.empty())
    return wrong("--gpu-arch is for programs that compute on GPUs, got: " + options.gpuArch +
                 " for --target=cpu, whose kernels --mcpu is for");
  if (!cuda && options.tf32)
    return wrong("--tf32 is for programs that compute on GPUs");
  if (cuda && (makesCode || !options.gpuArch.empty()))
    return resolveArchitectures(**gpu, options);
  return success();
}
