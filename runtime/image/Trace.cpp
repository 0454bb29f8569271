//===- Trace.cpp - What ran when, for Perfetto ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace dtcc::rt {
namespace {

/// Numbers of the threads that show steps with their passes, and layers; streams have theirs.
constexpr int kStepThread = 1000, kLayerThread = 1001;

double microseconds(Trace::Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

std::string line(const nlohmann::json &row) {
  return row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string nameRow(const char *what, int64_t rank, int64_t thread, const std::string &name) {
  return line({{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", thread}, {"args", {{"name", name}}}});
}

/// Stretches of time that have a name, one after the other.
class Stretches {
public:
  Stretches(int thread, const char *category) : thread(thread), category(category) {}

  /// Adds a time to the stretch `key`, which ends the one before.
  void add(const std::string &key, Trace::Clock::time_point begin, Trace::Clock::time_point end) {
    if (isBroken || rows.empty() || rows.back().name != key)
      rows.push_back({key, begin, end});
    isBroken = false;
    rows.back().end = std::max(rows.back().end, end);
  }
  /// The next time begins a stretch of its own.
  void stop() { isBroken = true; }
  std::string json(int64_t rank, Trace::Clock::time_point origin) const {
    std::string text;
    for (const Row &row : rows)
      text += ",\n" + line({{"ph", "X"},
                            {"name", row.name},
                            {"cat", category},
                            {"pid", rank},
                            {"tid", thread},
                            {"ts", microseconds(row.begin - origin)},
                            {"dur", microseconds(row.end - row.begin)}});
    return text;
  }

private:
  struct Row {
    std::string name;
    Trace::Clock::time_point begin, end;
  };
  int thread;
  const char *category;
  bool isBroken = false;
  std::vector<Row> rows;
};

} // namespace

const char *passName(const dtcc_command &command) {
  static constexpr const char *names[] = {"forward", "backward", "update"};
  return names[command.pass];
}

std::string opName(const Image &image, const dtcc_command &command) {
  static constexpr const char *library[] = {
#define DTCC_LIBRARY_OP(NAME, MNEMONIC, DESCRIPTION) MNEMONIC,
#include "runtime/abi/LibraryOps.def"
  };
  if (command.kind == DTCC_LIBRARY)
    return library[command.op];
  return command.kind == DTCC_KERNEL ? "kernel" : std::string(image.string(command.name));
}

bool isCommunication(const dtcc_command &command) {
  return command.kind == DTCC_COLLECTIVE || command.kind == DTCC_SEND || command.kind == DTCC_RECEIVE;
}

std::vector<bool> evaluationCommands(const Image &image) {
  std::vector<bool> evaluates(image.commands().size());
  for (const dtcc_stage &stage : image.stages())
    for (const dtcc_action &action : rowsOf(stage.actions, image.actions()).subspan(dtcc_step_actions(&stage).count)) {
      const dtcc_phase &phase = image.phases()[action.phase];
      std::fill_n(evaluates.begin() + phase.first_command, phase.command_count, true);
    }
  return evaluates;
}

std::string_view layerOf(std::string_view module) {
  for (size_t begin = 0; begin < module.size();) {
    size_t end = std::min(module.find('.', begin), module.size());
    std::string_view part = module.substr(begin, end - begin);
    if (!part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); }))
      return module.substr(0, end);
    begin = end + 1;
  }
  return module.substr(0, module.find('.'));
}

void Trace::merge(const Trace &other) {
  events.insert(events.end(), other.events.begin(), other.events.end());
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::pair(a.begin, a.command) < std::pair(b.begin, b.command);
  });
  left += other.left;
}

std::string Trace::json(const Image &image, int64_t rank, Clock::time_point origin) const {
  std::string text = nameRow("process_name", rank, 0, "rank " + std::to_string(rank));
  std::map<uint32_t, bool> streams; /* whether all commands of a stream communicate */
  Stretches steps(kStepThread, "step"), passes(kStepThread, "step"), layers(kLayerThread, "layer");
  const std::vector<bool> evaluates = evaluationCommands(image);
  for (const Event &event : events) {
    const dtcc_command &command = image.commands()[event.command];
    streams.try_emplace(command.stream, true).first->second &= isCommunication(command);
    std::string module(image.string(command.module)), op = opName(image, command);
    const bool ofStep = !evaluates[event.command];
    const char *pass = ofStep ? passName(command) : "evaluation";
    text += ",\n" + line({{"ph", "X"},
                          {"name", module.empty() ? op : module + ": " + op},
                          {"cat", isCommunication(command) ? "communication" : pass},
                          {"pid", rank},
                          {"tid", command.stream},
                          {"ts", microseconds(event.begin - origin)},
                          {"dur", microseconds(event.end - event.begin)},
                          {"args",
                           {{"module", module},
                            {"name", std::string(image.string(command.name))},
                            {"pass", pass},
                            {"step", event.step},
                            {"slot", event.slot},
                            {"command", event.command},
                            {"flops", command.flops},
                            {"bytes", command.bytes}}}});
    std::string step = "step " + std::to_string(event.step);
    if (ofStep)
      steps.add(step, event.begin, event.end);
    // Side streams run beside the passes.
    if (command.stream != 0)
      continue;
    std::string batch = command.pass != DTCC_UPDATE && image.mesh().slots() > 1
                            ? ", micro-batch " + std::to_string(event.slot)
                            : std::string();
    passes.add(pass + batch + (ofStep ? " of " : " behind ") + step, event.begin, event.end);
    if (module.empty())
      layers.stop();
    else
      layers.add(std::string(layerOf(module)) + ", " + pass, event.begin, event.end);
  }
  for (auto [stream, communicates] : streams)
    text += ",\n" + nameRow("thread_name", rank, stream, communicates ? "communication" : "compute");
  if (!events.empty())
    text += ",\n" + nameRow("thread_name", rank, kStepThread, "steps");
  std::string ofLayers = layers.json(rank, origin);
  if (!ofLayers.empty())
    ofLayers += ",\n" + nameRow("thread_name", rank, kLayerThread, "layers");
  return text + steps.json(rank, origin) + passes.json(rank, origin) + ofLayers;
}

} // namespace dtcc::rt
