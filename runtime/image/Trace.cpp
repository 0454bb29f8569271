//===- Trace.cpp - What ran when, for Perfetto ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Trace.h"

#include <nlohmann/json.hpp>

#include <map>

namespace dtcc::rt {
namespace {

/// Number of the thread that shows steps and passes; streams have theirs.
constexpr int kStepThread = 1000;

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
  /// Adds a time to the stretch `key`, which ends the one before.
  void add(const std::string &key, Trace::Clock::time_point begin, Trace::Clock::time_point end) {
    if (rows.empty() || rows.back().name != key)
      rows.push_back({key, begin, end});
    rows.back().end = std::max(rows.back().end, end);
  }
  std::string json(int64_t rank, Trace::Clock::time_point origin) const {
    std::string text;
    for (const Row &row : rows)
      text += ",\n" + line({{"ph", "X"},
                            {"name", row.name},
                            {"cat", "step"},
                            {"pid", rank},
                            {"tid", kStepThread},
                            {"ts", microseconds(row.begin - origin)},
                            {"dur", microseconds(row.end - row.begin)}});
    return text;
  }

private:
  struct Row {
    std::string name;
    Trace::Clock::time_point begin, end;
  };
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

std::string Trace::json(const Image &image, int64_t rank, Clock::time_point origin) const {
  std::string text = nameRow("process_name", rank, 0, "rank " + std::to_string(rank));
  std::map<uint32_t, bool> streams; /* whether all commands of a stream communicate */
  Stretches steps, passes;
  for (const Event &event : events) {
    const dtcc_command &command = image.commands()[event.command];
    streams.try_emplace(command.stream, true).first->second &= isCommunication(command);
    std::string module(image.string(command.module)), op = opName(image, command);
    text += ",\n" + line({{"ph", "X"},
                          {"name", module.empty() ? op : module + ": " + op},
                          {"cat", isCommunication(command) ? "communication" : passName(command)},
                          {"pid", rank},
                          {"tid", command.stream},
                          {"ts", microseconds(event.begin - origin)},
                          {"dur", microseconds(event.end - event.begin)},
                          {"args",
                           {{"module", module},
                            {"name", std::string(image.string(command.name))},
                            {"pass", passName(command)},
                            {"step", event.step},
                            {"slot", event.slot},
                            {"command", event.command},
                            {"flops", command.flops},
                            {"bytes", command.bytes}}}});
    std::string step = "step " + std::to_string(event.step);
    steps.add(step, event.begin, event.end);
    std::string batch = command.pass != DTCC_UPDATE && image.mesh().slots() > 1
                            ? ", micro-batch " + std::to_string(event.slot)
                            : std::string();
    passes.add(passName(command) + batch + " of " + step, event.begin, event.end);
  }
  for (auto [stream, communicates] : streams)
    text += ",\n" + nameRow("thread_name", rank, stream, communicates ? "communication" : "compute");
  if (!events.empty())
    text += ",\n" + nameRow("thread_name", rank, kStepThread, "steps");
  return text + steps.json(rank, origin) + passes.json(rank, origin);
}

} // namespace dtcc::rt
