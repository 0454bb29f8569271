//===- Summary.cpp - What a compilation has made
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc/Summary.h"
#include "planner/plan/Plan.h"
#include "runtime/abi/OwnWeights.h"
#include "runtime/abi/TokenInputs.h"
#include "runtime/abi/console/AmountText.h"
#include "tools/program/StepForecast.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace dtcc;
using llvm::formatv;

/// The options that hold `plan`, besides placements of single ops.
static std::string planText(const plan::Plan &plan) {
  std::string text = "--mesh=" + plan::parallelismOf(plan).meshText();
  if (plan.sequenceParallel)
    text += " --sequence-parallel=on";
  if (plan.stationaryWeights)
    text += " --stationary-weights=on";
  if (plan.zero > 0)
    text += " --zero=" + std::to_string(plan.zero);
  text += " --microbatches=" + std::to_string(plan.mesh.slots());
  if (plan.pipeline)
    text += " --schedule=" + (plan.pipeline->schedule.empty() ? "FILE.csv" : plan.pipeline->schedule);
  if (plan.recompute != plan::Recompute::None)
    text += " --recompute=" + std::string(plan::toString(plan.recompute));
  if (plan.offload.any())
    text += " --offload=" + plan.offload.str();
  if (plan.gradients != plan::GradientType::F32)
    text += " --gradients=" + std::string(plan::toString(plan.gradients));
  int64_t ranks = plan.mesh.ranks();
  return text + "  (" + std::to_string(ranks) + (ranks == 1 ? " rank)" : " ranks)");
}

/// The plan in a program. A program that was compiled from commands has none but its mesh.
static llvm::Expected<plan::Plan> planOf(llvm::StringRef path, const ProgramFile &program) {
  llvm::StringRef text = program.string(program.header().plan);
  if (text != "{}")
    return plan::parsePlan(text, path);
  plan::Plan plan;
  for (const dtcc_axis &axis : program.axes())
    plan.mesh.axes.push_back({program.string(axis.name).str(), axis.size, axis.kind == DTCC_AXIS_TIME});
  return plan;
}

/// Memory of the rank that needs most.
static std::string memoryText(const ProgramFile &program) {
  uint64_t device = 0, host = 0;
  for (const dtcc_stage &stage : program.stages()) {
    device = std::max(device, arenaBytes(program, stage));
    host = std::max(host, arenaBytes(program, stage, /*onHost=*/true));
  }
  std::string text = formatBytes(double(device)) + " a rank";
  return host > 0 ? text + ", and " + formatBytes(double(host)) + " of its host" : text;
}

static llvm::Expected<std::string> stepText(const ProgramFile &program) {
  llvm::StringRef machine = program.string(program.header().machine);
  if (machine.empty())
    return "no forecast: the machine is not known";
  llvm::Expected<StepClock> clock = forecastStep(program);
  if (!clock)
    return clock.takeError();
  const dtcc_training &training = program.header().training;
  double items = double(training.tokens > 0 ? training.tokens : training.batch);
  return formatv("{0} by forecast on {1}: {2} {3} a second", formatSeconds(clock->end()), machine,
                 formatAmount(items / clock->end()), training.tokens > 0 ? "tokens" : "samples")
      .str();
}

static std::string fileText(llvm::StringRef path) {
  uint64_t bytes = 0;
  llvm::sys::fs::file_size(path, bytes);
  return path.str() + " (" + formatBytes(double(bytes)) + ")";
}

/// A command that a shell finds: a file of this folder needs "./".
static std::string runText(llvm::StringRef path, const ProgramFile &program) {
  const std::vector<const dtcc_input *> found = tokenInputs(program.inputs());
  const dtcc_input *tokens = found.size() == 1 ? found[0] : nullptr;
  const bool fillsAll = tokens && llvm::all_of(program.inputs(), [&](const dtcc_input &each) {
                          return each.view == DTCC_NONE || isFilledByTokens(each, tokens);
                        });
  return (llvm::sys::path::has_parent_path(path) ? "" : "./") + path.str() +
         (fillsAll ? " --tokens=FILE" : " --data=FOLDER") + " --steps=100";
}

llvm::Error dtcc::printSummary(llvm::StringRef path, llvm::raw_ostream &stream) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  llvm::Expected<std::vector<ProgramFile>> worlds = ProgramFile::readWorlds(path, (*buffer)->getBuffer());
  if (!worlds)
    return worlds.takeError();
  std::string text;
  for (const ProgramFile &world : *worlds) {
    llvm::Expected<plan::Plan> plan = planOf(path, world);
    if (!plan)
      return plan.takeError();
    llvm::Expected<std::string> step = stepText(world);
    if (!step)
      return step.takeError();
    text += "plan    " + planText(*plan) + "\nmemory  " + memoryText(world) + "\nstep    " + *step + "\n";
  }
  const ProgramFile &program = worlds->front();
  llvm::StringRef weights = program.string(program.header().weights);
  llvm::SmallString<128> beside(llvm::sys::path::parent_path(path));
  llvm::sys::path::append(beside, weights);
  std::string start;
  if (auto own = findOwnWeights((*buffer)->getBuffer()); own && weights == llvm::StringRef(kOwnWeights))
    start = ", which holds " + formatBytes(double(own->size())) + " of weights";
  else if (llvm::sys::fs::is_regular_file(beside))
    start = ", " + fileText(beside);
  stream << text << "wrote   " << fileText(path) << start << "\nrun     " << runText(path, program) << '\n';
  return llvm::Error::success();
}
