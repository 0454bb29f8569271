//===- Info.cpp - What is inside a program -------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Info.h"

#include "runtime/abi/OwnWeights.h"
#include "runtime/abi/UpdateGroups.h"
#include "runtime/abi/console/AmountText.h"
#include "runtime/abi/console/WrappedText.h"
#include "runtime/core/Error.h"
#include "runtime/core/FormatText.h"
#include "runtime/data/ReadAhead.h"
#include "runtime/launch/Executor.h"
#include "runtime/launch/GpuOverhead.h"
#include "runtime/launch/Metrics.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

namespace dtcc::rt {

/// Says for which processor or GPU the kernels were generated.
static std::string codeText(const Image &image) {
  if (!image.isForGpus())
    return "cpu      " + std::string(image.string(image.header().cpu));
  std::string text = "gpu     ";
  for (const dtcc_gpu_module &module : image.gpuCode().modules)
    text += " sm_" + std::to_string(module.architecture) + (module.kind == DTCC_GPU_PTX ? " and later" : " assembled") +
            ",";
  text.pop_back();
  return text;
}

/// Says how much memory is needed besides the plan's.
static std::string besidesText(const GpuOverhead &overhead) {
  std::string text = "besides  up to " + formatBytes(static_cast<double>(overhead.total())) +
                     " a rank: driver and code " + formatBytes(static_cast<double>(overhead.context));
  const std::pair<const char *, int64_t> parts[] = {
      {"NCCL's groups", overhead.groups}, {"NCCL's messages", overhead.peers}, {"CUDA graph", overhead.graph}};
  for (auto [name, bytes] : parts)
    if (bytes > 0)
      text += std::string(", ") + name + " " + formatBytes(static_cast<double>(bytes));
  return text + "\n";
}

/// Describes the host memory of a stage: updates use state there, and copies use saved activations.
static std::string whatIsOnHost(const Image &image, const dtcc_stage &stage) {
  bool state = false, values = false;
  for (const dtcc_command &command : rowsOf(stage.commands, image.commands()))
    for (uint32_t view : image.operands(command))
      if (image.isOnHost(image.arenas()[image.views()[view].arena]))
        (command.kind == DTCC_COPY ? values : state) = true;
  return std::string(state ? "state that only updates use" : "") + (state && values ? ", " : "") +
         (values ? "saved activations" : "");
}

/// The number of bytes from the start of the arenas that the commands of some actions touch at most.
static uint64_t reachOf(const Image &image, std::span<const dtcc_action> actions) {
  uint64_t most = 0;
  for (const dtcc_action &action : actions) {
    const dtcc_phase &phase = image.phases()[action.phase];
    for (const dtcc_command &command : image.commands().subspan(phase.first_command, phase.command_count))
      for (uint32_t number : image.operands(command)) {
        const dtcc_view &view = image.views()[number];
        if (image.string(image.arenas()[view.arena].name) == "activations")
          most = std::max(most, endOf(image, view));
      }
  }
  return most;
}

/// Says what an evaluation is, and how much of the activations' memory is there for its sake, of the stage with most.
static std::string evaluationText(const Image &image) {
  uint64_t added = 0;
  for (const dtcc_stage &stage : image.stages()) {
    std::span<const dtcc_action> all = rowsOf(stage.actions, image.actions()),
                                 step = rowsOf(dtcc_step_actions(&stage), image.actions());
    std::span<const dtcc_action> evaluation = all.subspan(step.size());
    uint64_t own = reachOf(image, evaluation), others = reachOf(image, step);
    added = std::max(added, own - std::min(own, others));
  }
  uint32_t prediction = image.stages()[0].scalars[DTCC_SCALAR_PREDICTION];
  bool generates = prediction != DTCC_NONE && image.views()[prediction].rank > 0;
  std::string text =
      std::string("eval     the loss") + (prediction == DTCC_NONE || generates ? "" : " and accuracy") +
      " of other data (--eval-tokens), " +
      (added > 0 ? "for which " + formatBytes(static_cast<double>(added)) + " of the memory above is there"
                 : std::string("without more memory")) +
      "\n";
  if (generates)
    text +=
        "generate tokens behind a prompt (--generate), each by a forward pass over " +
        std::to_string(image.training().tokens / image.mesh().slots()) + " tokens; " +
        formatBytes(2.0 * static_cast<double>(elementCount(image.views()[prediction]) * dtcc_dtype_size(DTCC_F32))) +
        " of the memory above is for it\n";
  return text;
}

/// A table with a row for each group of options: what dtcc fixed in it, and the options of a run.
static std::string decisionsText(const std::vector<OptionGroup> &chosen) {
  constexpr size_t kFixed = 20, kChosen = 76, kWidth = 130;
  std::string text = formatText("%-*s%-*s%s\n", static_cast<int>(kFixed), "", static_cast<int>(kChosen - kFixed),
                                "fixed when compiled: dtcc changes it", "chosen when run: options of this program");
  auto row = [&](std::string_view title, std::string_view fixed, const std::vector<std::string> &names) {
    std::string line = "  " + std::string(title);
    if (!fixed.empty())
      line.resize(std::max(kFixed, line.size() + 2), ' ');
    line += fixed;
    if (!names.empty())
      line.resize(std::max(kChosen, line.size() + 2), ' ');
    text += wrappedText(line, names, ", ", kChosen, kWidth);
  };
  for (const FixedGroup &fixed : kFixedGroups) {
    auto same =
        std::find_if(chosen.begin(), chosen.end(), [&](const OptionGroup &g) { return g.title == fixed.title; });
    row(fixed.title, fixed.what, same == chosen.end() ? std::vector<std::string>() : same->names);
  }
  for (const OptionGroup &group : chosen)
    if (std::none_of(std::begin(kFixedGroups), std::end(kFixedGroups),
                     [&](const FixedGroup &fixed) { return fixed.title == group.title; }))
      row(group.title, "", group.names);
  return text;
}

/// Lists the groups of parameters that train with equal rate and decay; none where all are alike.
static std::string groupsText(const Image &image) {
  std::vector<UpdateGroup> groups =
      updateGroups(image.segments(), image.states(), [&](const dtcc_state &state) { return image.string(state.name); });
  std::string text;
  for (const UpdateGroup &group : groups)
    text += formatText("group    lr x %g, weight decay %g: ", group.lrScale, group.decay) +
            std::to_string(group.cells) + " in " + std::to_string(group.names.size()) +
            (group.names.size() == 1 ? " tensor, " : " tensors, ") + group.range() + "\n";
  return groups.size() > 1 ? text : "";
}

/// "0.0003 cosine to 3e-05, warm-up 500": how the learning rate goes in a run with these options.
static std::string rateText(const LearningRate &rate) {
  std::string text = message(rate.base, " ", LearningRate::scheduleNames[rate.schedule]);
  if (rate.schedule != LearningRate::Constant)
    text += message(rate.schedule == LearningRate::InverseSqrt ? " not below " : " to ", rate.least);
  if (rate.decaySteps > 0)
    text += message(" over ", rate.decaySteps, " steps");
  text += message(", warm-up ", rate.warmup);
  return rate.restart > 0 ? text + message(", anew behind step ", rate.restart) : text;
}

std::string infoText(const Image &image, const std::optional<Forecast> &forecast, const Options &options) {
  std::ostringstream out;
  const dtcc_training &training = image.training();
  out << "model    " << image.string(image.header().model) << "\n";
  out << "mesh    ";
  for (const dtcc_axis &axis : image.axes())
    out << " " << image.string(axis.name) << "=" << axis.size;
  out << (image.axes().empty() ? " one rank" : "") << " (" << image.mesh().ranks()
      << (image.mesh().ranks() == 1 ? " rank, " : " ranks, ") << image.mesh().slots()
      << (image.mesh().slots() == 1 ? " micro-batch)\n" : " micro-batches)\n");
  for (const dtcc_stage &stage : image.stages()) {
    out << "memory   " << formatBytes(static_cast<double>(arenaBytes(image, stage))) << " a rank";
    if (image.stages().size() > 1)
      out << " of " << image.string(stage.name);
    out << ":";
    for (const dtcc_arena &arena : rowsOf(stage.arenas, image.arenas()))
      if (!image.isOnHost(arena))
        out << " " << image.string(arena.name) << " " << formatBytes(static_cast<double>(arena.bytes));
    out << "\n";
    if (uint64_t bytes = hostBytes(image, stage))
      out << "host     " << formatBytes(static_cast<double>(bytes))
          << " of host memory a rank: " << whatIsOnHost(image, stage) << "\n";
    if (!image.isForGpus())
      continue;
    const SampleRoom room(image, stage);
    if (room.bytes > 0)
      out << "host     " << formatBytes(static_cast<double>(kSampleRooms * room.bytes))
          << " of locked host memory a rank: samples on their way to the GPU\n";
    if (room.bytesAhead() > 0)
      out << "ahead    " << formatBytes(static_cast<double>(room.bytesAhead()))
          << " of GPU memory a rank, if so much is free: samples that arrive before their step\n";
    out << besidesText(gpuOverhead(image, stage));
  }
  if (image.stages()[0].evaluation > 0)
    out << evaluationText(image);
  int64_t parameters = 0;
  for (const dtcc_state &state : image.states()) {
    int64_t count = image.isCopy(state) ? 0 : 1;
    for (uint32_t d = 0; d < state.rank; ++d)
      count *= state.dims[d].size;
    parameters += state.role == DTCC_STATE_PARAMETER ? count : 0;
  }
  out << "params   " << parameters << "\n" << groupsText(image);
  out << "work     " << stepFlops(image) * static_cast<double>(image.mesh().ranks()) * 1e-9 << " GFLOP a step, "
      << image.commands().size() << " commands\n";
  if (image.header().peak_flops > 0)
    out << "peak     " << formatText("%.0f GFLOP/s", image.header().peak_flops * 1e-9) << " of " << image.mesh().ranks()
        << (image.mesh().ranks() == 1 ? " device" : " devices") << "\n";
  if (forecast)
    out << forecast->text();
  out << "training batch " << training.batch << ", lr " << rateText(options.rate) << ", seed " << options.seed << "\n";
  out << codeText(image) << "\n";
  if (std::string_view weights = image.string(image.header().weights); !weights.empty())
    out << "weights  "
        << (weights == kOwnWeights ? "inside the program" : std::string(weights) + ", a file beside the program")
        << " (--weights starts from others)\n";
  std::set<std::string_view> inputs;
  for (const dtcc_input &input : image.inputs()) {
    if (!inputs.insert(image.string(input.name)).second)
      continue; // several stages read it
    out << "input    " << image.string(input.name) << " [";
    for (uint32_t d = 0; d < input.rank; ++d)
      out << (d ? ", " : "") << input.dims[d].size;
    out << "]" << (input.view == DTCC_NONE ? " (not read)" : "") << "\n";
  }
  out << decisionsText(options.choices);
  if (!image.string(image.header().plan).empty())
    out << "plan     " << image.string(image.header().plan) << "\n";
  return out.str();
}

} // namespace dtcc::rt
