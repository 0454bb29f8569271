//===- Forecast.cpp - The forecast of a step, on null devices -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Forecast.h"

#include "runtime/abi/console/AmountText.h"
#include "runtime/core/Error.h"
#include "runtime/core/FormatText.h"
#include "runtime/device/NullDevice.h"
#include "runtime/launch/Executor.h"
#include "runtime/launch/Metrics.h"

namespace dtcc::rt {

/// A rank of each stage, by the number of the stage.
static std::vector<int64_t> ranksOfStages(const Image &image) {
  std::vector<int64_t> coordinates(image.axes().size()), ranks;
  uint32_t axis = image.header().stage_axis;
  for (size_t stage = 0; stage < image.stages().size(); ++stage) {
    if (axis != DTCC_NONE)
      coordinates[axis] = static_cast<int64_t>(stage);
    ranks.push_back(image.mesh().rankAt(coordinates));
  }
  return ranks;
}

/// "dp+tp"
static std::string axesText(const Image &image, const dtcc_axes &axes) {
  std::string text;
  for (int i = 0; i < axes.count; ++i)
    text += (i > 0 ? "+" : "") + std::string(image.string(image.axes()[axes.ids[i]].name));
  return text;
}

std::optional<Forecast> Forecast::of(const Image &image) {
  if (image.string(image.header().machine).empty())
    return std::nullopt;
  std::vector<int64_t> ranks = ranksOfStages(image);
  StepClock::Tables tables{image.commands().data(), image.waits().data(), image.attributes().data(),
                           image.communicators().data()};
  // Ranks of a processor run their streams in turn, unless a run is asked for a second thread.
  StepClock clock(tables, ranks.size(), /*overlaps=*/image.isForGpus());
  ThreadTeam team(1);
  for (size_t stage = 0; stage < ranks.size(); ++stage) {
    Rank rank(image, ranks[stage], team, image.training().seed);
    NullDevice device({rank, {}}, clock, stage);
    Executor executor(rank, device);
    executor.bind();
    executor.begin();
    executor.runStep([](int64_t) {});
  }
  if (!clock.run())
    fail("damaged program: its step never ends: a message is waited for that no stage sends");
  return Forecast(image, std::move(clock));
}

std::string Forecast::text() const {
  const dtcc_training &training = image.training();
  bool tokens = training.tokens > 0;
  std::string text =
      "forecast " + formatSeconds(seconds()) + " a step on " + std::string(image.string(image.header().machine)) +
      formatText(": %.0f %s/s", static_cast<double>(tokens ? training.tokens : training.batch) / seconds(),
                 tokens ? "tokens" : "samples");
  if (double peak = image.header().peak_flops; peak > 0)
    text += formatText(" (%.1f %% of peak)",
                       100 * stepFlops(image) * static_cast<double>(image.mesh().ranks()) / seconds() / peak);
  StepClock::Parts parts = this->parts();
  std::vector<std::pair<std::string, double>> rows{{"kernels", parts.compute}};
  for (const auto &[communicator, seconds] : parts.collectives) {
    // Parameters may have a communicator of their own over the same axes.
    std::string name = "collectives over " + axesText(image, image.communicators()[communicator].axes);
    auto same = std::ranges::find(rows, name, &std::pair<std::string, double>::first);
    (same != rows.end() ? *same : rows.emplace_back(name, 0.0)).second += seconds;
  }
  rows.insert(rows.end(), {{"messages between stages", parts.messages}, {"waits for other stages", parts.waits}});
  text += "\n";
  for (const auto &[name, part] : rows)
    if (part >= 1e-3 * seconds())
      text += formatText("%9s%10s %3.0f %%  ", "", formatSeconds(part).c_str(), 100 * part / seconds()) + name + "\n";
  return text;
}

std::string Forecast::trace() const {
  std::string text = "[";
  std::vector<int64_t> ranks = ranksOfStages(image);
  auto at = [](double seconds) {
    return Trace::Clock::time_point(
        std::chrono::duration_cast<Trace::Clock::duration>(std::chrono::duration<double>(seconds)));
  };
  for (size_t stage = 0; stage < ranks.size(); ++stage) {
    const std::vector<StepClock::Span> &spans = clock.spans(stage);
    Trace trace(StepWindow{}, spans.size());
    for (const StepClock::Span &span : spans)
      trace.add({span.command, span.slot, /*step=*/1, at(span.begin), at(span.end)});
    text += (stage > 0 ? ",\n" : "") + trace.json(image, ranks[stage], {});
  }
  return text + "]\n";
}

} // namespace dtcc::rt
