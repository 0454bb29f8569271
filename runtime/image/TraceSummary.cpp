//===- TraceSummary.cpp - Where the time of a step goes -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/TraceSummary.h"

#include "runtime/core/AmountText.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace dtcc::rt {
namespace {

/// Rows of a table; the rest is one more.
constexpr size_t kMostRows = 16;

struct Row {
  double seconds = 0, flops = 0;
};
using Rows = std::map<std::string, Row>;

/// "blocks.*.up" of "blocks.11.up".
std::string withoutNumbers(std::string_view module) {
  std::string text;
  while (!module.empty()) {
    size_t end = std::min(module.find('.'), module.size());
    std::string_view part = module.substr(0, end);
    bool number = std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
    text += (text.empty() ? "" : ".") + std::string(number ? "*" : part);
    module.remove_prefix(std::min(end + 1, module.size()));
  }
  return text;
}

class Table {
public:
  Table(const Image &image, double steps, double total) : image(image), steps(steps), total(total) {}

  std::string text(const char *title, const Rows &rows) const {
    std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
      return std::pair(-a.second.seconds, a.first) < std::pair(-b.second.seconds, b.first);
    });
    if (sorted.size() > kMostRows) {
      Row rest;
      for (size_t i = kMostRows - 1; i < sorted.size(); ++i) {
        rest.seconds += sorted[i].second.seconds;
        rest.flops += sorted[i].second.flops;
      }
      std::string name = std::to_string(sorted.size() - kMostRows + 1) + " more";
      sorted.resize(kMostRows - 1);
      sorted.push_back({name, rest});
    }
    std::string text = formatText("  %-44s %10s %7s %12s%s\n", title, "a step", "share", "GFLOP/s",
                                  devicePeak() > 0 ? "   of peak" : "");
    for (const auto &[name, row] : sorted)
      text += line(name, row);
    return text;
  }

private:
  double devicePeak() const { return image.header().peak_flops / static_cast<double>(image.mesh().ranks()); }

  std::string line(const std::string &name, const Row &row) const {
    std::string text = formatText("  %-44.44s %10s %5.1f %%", name.c_str(), secondsText(row.seconds / steps).c_str(),
                                  100 * row.seconds / total);
    double rate = row.seconds > 0 ? row.flops / row.seconds : 0;
    if (rate > 0)
      text += formatText(" %12.1f", rate * 1e-9);
    if (rate > 0 && devicePeak() > 0)
      text += formatText(" %7.1f %%", 100 * rate / devicePeak());
    return text + "\n";
  }

  const Image &image;
  double steps, total;
};

} // namespace

std::string summaryText(const Image &image, const Trace &trace) {
  Rows modules, ops;
  std::set<int64_t> steps;
  double total = 0;
  for (const Trace::Event &event : trace.recorded()) {
    const dtcc_command &command = image.commands()[event.command];
    double seconds = std::chrono::duration<double>(event.end - event.begin).count();
    steps.insert(event.step);
    total += seconds;
    std::string module = withoutNumbers(image.string(command.module));
    if (module.empty())
      module = isCommunication(command) ? "communication" : "(of no module)";
    for (Row *row : {&modules[module + ", " + passName(command)], &ops[opName(image, command)]}) {
      row->seconds += seconds;
      row->flops += command.flops;
    }
  }
  if (steps.empty() || total <= 0)
    return "";
  double count = static_cast<double>(steps.size());
  Table table(image, count, total);
  return formatText("profile of rank 0: %s a step in commands, mean of %zu steps\n", secondsText(total / count).c_str(),
                    steps.size()) +
         table.text("module of the model", modules) + table.text("kind of command", ops);
}

} // namespace dtcc::rt
