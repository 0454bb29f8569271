//===- TraceSummary.cpp - Where the time of a step goes -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/TraceSummary.h"

#include "runtime/abi/console/AmountText.h"
#include "runtime/core/FormatText.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace dtcc::rt {
namespace {

/// Rows of a table; the rest is one more.
constexpr size_t kMostRows = 16;

struct Row {
  double seconds = 0, flops = 0, bound = 0;
  std::set<std::string> modules; /* that share the row */
};
using Rows = std::map<std::string, Row>;

/// A name with a count where several modules share it: "12 x blocks.*.up, forward".
std::string titleOf(const std::string &name, const Row &row) {
  return (row.modules.size() > 1 ? std::to_string(row.modules.size()) + " x " : "") + name;
}

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

bool isKnown(const RankPeak &peak) { return peak.flops > 0 && peak.bytes > 0; }

/// The least time of a command that computes.
double boundOf(const dtcc_command &command, const RankPeak &peak) {
  if (!isKnown(peak) || isCommunication(command))
    return 0;
  return std::max(command.flops / peak.flops, command.bytes / peak.bytes);
}

class Table {
public:
  Table(const RankPeak &peak, double steps, double total)
      : peak(peak.flops), isBounded(isKnown(peak)), steps(steps), total(total) {}

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
        rest.bound += sorted[i].second.bound;
      }
      std::string name = std::to_string(sorted.size() - kMostRows + 1) + " more";
      sorted.resize(kMostRows - 1);
      sorted.push_back({name, rest});
    }
    std::string text = formatText("  %-44s %10s %7s %12s%s%s\n", title, "a step", "share", "GFLOP/s",
                                  peak > 0 ? "   of peak" : "", isBounded ? "  of bound" : "");
    for (const auto &[name, row] : sorted)
      text += line(titleOf(name, row), row);
    return text;
  }

private:
  std::string line(const std::string &name, const Row &row) const {
    std::string text = formatText("  %-44.44s %10s %5.1f %%", name.c_str(), formatSeconds(row.seconds / steps).c_str(),
                                  100 * row.seconds / total);
    double rate = row.seconds > 0 ? row.flops / row.seconds : 0;
    const bool isShared = isBounded && row.bound > 0 && row.seconds > 0;
    if (rate > 0)
      text += formatText(" %12.1f", rate * 1e-9);
    else if (isShared)
      text += formatText(" %12s", "");
    if (rate > 0 && peak > 0)
      text += formatText(" %7.1f %%", 100 * rate / peak);
    else if (isShared)
      text += formatText(" %9s", "");
    if (isShared)
      text += formatText(" %7.1f %%", 100 * row.bound / row.seconds);
    return text + "\n";
  }

  double peak;
  bool isBounded;
  double steps, total;
};

} // namespace

std::string summaryText(const Image &image, const Trace &trace, const RankPeak &peak) {
  const std::vector<bool> evaluates = evaluationCommands(image);
  Rows modules, ops;
  std::set<int64_t> steps;
  double total = 0, computed = 0, bound = 0;
  for (const Trace::Event &event : trace.recorded()) {
    if (evaluates[event.command])
      continue;
    const dtcc_command &command = image.commands()[event.command];
    double seconds = std::chrono::duration<double>(event.end - event.begin).count();
    steps.insert(event.step);
    total += seconds;
    computed += isCommunication(command) ? 0 : seconds;
    bound += boundOf(command, peak);
    std::string module(image.string(command.module)), title = withoutNumbers(module);
    if (isCommunication(command))
      title += title.empty() ? "communication" : ": communication";
    else if (title.empty())
      title = "outside of modules";
    Row &ofModule = modules[title + ", " + passName(command)];
    ofModule.modules.insert(module);
    for (Row *row : {&ofModule, &ops[opName(image, command)]}) {
      row->seconds += seconds;
      row->flops += command.flops;
      row->bound += boundOf(command, peak);
    }
  }
  if (steps.empty() || total <= 0)
    return "";
  double count = static_cast<double>(steps.size());
  Table table(peak, count, total);
  std::string text =
      formatText("profile of rank 0: %s a step in commands, mean of %zu %s (%lld to %lld)\n",
                 formatSeconds(total / count).c_str(), steps.size(), steps.size() == 1 ? "step" : "steps",
                 static_cast<long long>(*steps.begin()), static_cast<long long>(*steps.rbegin()));
  if (peak.flops > 0)
    text += formatText("  peak: %.1f GFLOP/s, ", peak.flops * 1e-9) + peak.source + "\n";
  if (bound > 0)
    text +=
        formatText("  bound: %s a step, with each command at the peak or at %.1f GB/s of memory; computing took %.2f "
                   "times that\n",
                   formatSeconds(bound / count).c_str(), peak.bytes * 1e-9, computed / bound);
  if (trace.leftOut() > 0)
    text += formatText("  the trace is full: %zu later commands of the rank are not in it; --profile-steps=N:M chooses "
                       "the steps\n",
                       trace.leftOut());
  return text + table.text("module of the model", modules) + table.text("kind of command", ops);
}

} // namespace dtcc::rt
