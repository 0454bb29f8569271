//===- Trace.cpp - What ran when, for Perfetto ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Trace.h"

#include <nlohmann/json.hpp>

namespace dtcc::rt {

std::string Trace::json(const Image &image, int64_t rank, Clock::time_point origin) const {
  auto microseconds = [](Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); };
  std::string text =
      nlohmann::json{
          {"ph", "M"}, {"name", "process_name"}, {"pid", rank}, {"args", {{"name", "rank " + std::to_string(rank)}}}}
          .dump();
  for (const Event &event : events) {
    const dtcc_command &command = image.commands()[event.command];
    nlohmann::json row{{"ph", "X"},
                       {"name", std::string(image.string(command.name))},
                       {"pid", rank},
                       {"tid", command.stream},
                       {"ts", microseconds(event.begin - origin)},
                       {"dur", microseconds(event.end - event.begin)},
                       {"args",
                        {{"step", event.step},
                         {"slot", event.slot},
                         {"command", event.command},
                         {"flops", command.flops},
                         {"bytes", command.bytes}}}};
    text += ",\n" + row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return text;
}

} // namespace dtcc::rt
