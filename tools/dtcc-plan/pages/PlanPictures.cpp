//===- PlanPictures.cpp - Plans as pictures
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/pages/PlanPictures.h"
#include "runtime/abi/console/AmountText.h"
#include "tools/dtcc-plan/pages/Axis.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <map>

using namespace dtcc;
using llvm::formatv;
using llvm::StringRef;

namespace {
constexpr double kWidth = 1000, kLeft = 132, kRight = 80;
/// Largest number of rows, columns and events that a picture shows; the rest is counted.
constexpr int64_t kMostRows = 32, kMostColumns = 128;
constexpr size_t kMostEvents = 6000;
} // namespace

static std::string plural(int64_t count, StringRef noun) {
  return (llvm::Twine(count) + " " + noun + (count == 1 ? "" : "s")).str();
}

Svg dtcc::drawMesh(const plan::Parallelism &shape, int64_t domain) {
  int64_t copy = shape.tp * shape.cp, columns = shape.dp * copy, shownRows = std::min(shape.pp, kMostRows);
  int64_t shown = std::min(columns, kMostColumns);
  bool cut = shown < columns || shownRows < shape.pp;
  double cell = std::min(22.0, (kWidth - kLeft - kRight) / double(shown)), size = std::max(cell - 1.5, 1.0);
  double top = 22, height = std::clamp(cell, 13.0, 22.0);
  Svg svg(kWidth, top + double(shownRows) * (height + 4) + (cut ? 22 : 8),
          "ranks of the mesh " + shape.str() + " in nodes of " + std::to_string(domain));
  std::vector<std::pair<StringRef, StringRef>> drawn = {{"copy", "a copy of the model"}};
  if (shape.dp > 1)
    drawn.push_back({"next", "the next one"});
  svg.legend(kLeft, 12, drawn);
  for (int64_t row = 0; row < shownRows; ++row) {
    double y = top + double(row) * (height + 4);
    svg.text(kLeft - 8, y + height * 0.7, shape.pp > 1 ? "stage " + std::to_string(row) : "ranks", Svg::Anchor::End);
    for (int64_t column = 0; column < shown; ++column) {
      int64_t rank = row * columns + column, inside = column % copy;
      std::string title = formatv("rank {0}, node {1}: dp {2}, cp {3}, tp {4}, pp {5}", rank, rank / domain,
                                  column / copy, inside / shape.tp, inside % shape.tp, row)
                              .str();
      svg.rect(kLeft + double(column) * cell, y, size, height - 1.5, column / copy % 2 ? "next" : "copy", title);
    }
    // Frames of nodes, as far as the row shows them.
    for (int64_t column = 0; column < shown;) {
      int64_t rank = row * columns + column, end = std::min(shown, column + domain - rank % domain);
      svg.rect(kLeft + double(column) * cell - 1, y - 1, double(end - column) * cell, height + 0.5, "box");
      column = end;
    }
    if (shown < columns)
      svg.text(kLeft + double(shown) * cell + 4, y + height * 0.7, "+" + std::to_string(columns - shown),
               Svg::Anchor::Start, "soft");
  }
  if (cut)
    svg.text(kLeft, top + double(shownRows) * (height + 4) + 14,
             formatv("{0} of {1} shown", plural(shown * shownRows, "rank"), columns * shape.pp).str(),
             Svg::Anchor::Start, "soft");
  return svg;
}

Svg dtcc::drawPlacement(const plan::PlanReport &plan) {
  int64_t rows = std::min<int64_t>(int64_t(plan.stages.size()), kMostRows);
  size_t blocks = 0, most = 1;
  for (const plan::StageReport &stage : plan.stages) {
    blocks += stage.blocks;
    most = std::max(most, stage.blocks);
  }
  double top = 22, height = 18, cell = (kWidth - kLeft - kRight) / double(most);
  Svg svg(kWidth, top + double(rows) * (height + 4) + 4, "which blocks each stage has");
  std::vector<std::pair<StringRef, StringRef>> drawn = {{"activation", "a layer whose activations are kept"}};
  if (plan.recomputed() > 0)
    drawn.push_back({"again", "computed again (how many, not which)"});
  drawn.push_back({"parameter", "embedding, head"});
  svg.legend(kLeft, 12, drawn);
  for (int64_t row = 0; row < rows; ++row) {
    const plan::StageReport &stage = plan.stages[row];
    double y = top + double(row) * (height + 4);
    svg.text(kLeft - 8, y + 13, "stage " + std::to_string(row), Svg::Anchor::End);
    for (size_t i = 0; i < stage.blocks; ++i) {
      size_t block = stage.firstBlock + i, first = stage.firstBlock == 0 ? 1 : 0;
      bool end = block == 0 || block + 1 == blocks, again = !end && i - first < stage.recomputed;
      svg.rect(kLeft + double(i) * cell, y, std::max(cell - 1, 0.5), height,
               end     ? "parameter"
               : again ? "again"
                       : "activation",
               end ? (block == 0 ? "embedding" : "head") : "layer " + std::to_string(block - 1));
    }
    svg.text(kLeft + double(stage.blocks) * cell + 6, y + 13, plural(int64_t(stage.blocks), "block"),
             Svg::Anchor::Start, "soft");
  }
  return svg;
}

Svg dtcc::drawBars(llvm::ArrayRef<Bar> bars, StringRef what, const BarScale &unit, double limit) {
  auto write = unit.write;
  auto sum = [](const Bar &bar) {
    double all = 0;
    for (const BarPiece &piece : bar.pieces)
      all += piece.value;
    return all;
  };
  double most = 0, top = 22, height = 18;
  for (const Bar &bar : bars)
    most = std::max(most, sum(bar));
  // A nearly empty device is not drawn against its limit.
  bool limited = limit > 0 && most > limit / 4;
  if (limited)
    most = std::max(most, limit);
  double scale = most > 0 ? (kWidth - kLeft - kRight) / most : 0;
  double bottom = top + double(bars.size()) * (height + 4);
  Svg svg(kWidth, bottom + Axis::kHeight, what);
  // The names of pieces that some bar has.
  std::vector<std::pair<StringRef, StringRef>> names;
  for (const Bar &bar : bars)
    for (const BarPiece &piece : bar.pieces)
      if (piece.value > 0 && llvm::none_of(names, [&](auto &known) { return known.second == piece.name; }))
        names.push_back({piece.style, piece.name});
  svg.legend(kLeft, 12, names);
  Axis(unit.name, unit.units, most).drawBelow(svg, kLeft, kWidth - kLeft - kRight, top - 2, bottom);
  for (size_t row = 0; row < bars.size(); ++row) {
    double y = top + double(row) * (height + 4), x = kLeft;
    svg.text(kLeft - 8, y + 13, bars[row].label, Svg::Anchor::End);
    for (const BarPiece &piece : bars[row].pieces) {
      double width = piece.value * scale;
      if (width >= 0.2)
        svg.rect(x, y, width, height, piece.style + " edge", piece.name + ": " + write(piece.value));
      x += width;
    }
    svg.text(x + 6, y + 13, write(sum(bars[row])), Svg::Anchor::Start, "soft");
  }
  if (limited) {
    svg.line(kLeft + limit * scale, top - 4, kLeft + limit * scale, bottom, "limit");
    svg.text(kLeft + limit * scale, bottom + 28, "limit: " + write(limit), Svg::Anchor::End);
  }
  return svg;
}

static Bar barOf(std::string label, const plan::MemoryParts &memory) {
  static constexpr const char *styles[] = {"parameter", "gradient", "optimizer", "activation", "work", "buffers"};
  Bar bar{std::move(label), {}};
  for (const auto &[part, style] : llvm::zip(memoryParts(), styles))
    bar.pieces.push_back({style, part.name.str(), memory.*part.bytes});
  return bar;
}

Svg dtcc::drawMemory(const plan::PlanReport &plan, double limit) {
  std::vector<Bar> bars;
  for (const plan::StageReport &stage : plan.stages) {
    if (int64_t(bars.size()) == kMostRows)
      break;
    plan::MemoryParts memory = stage.memory;
    memory.communicators = plan.memory.communicators; // of a device, whatever its stage
    bars.push_back(barOf(plan.stages.size() > 1 ? "stage " + std::to_string(bars.size()) : "a device", memory));
  }
  if (bars.empty())
    bars.push_back(barOf("a device", plan.memory));
  return drawBars(bars, "memory of a device by stage", {"memory of a device", kByteUnits, formatBytes}, limit);
}

/// When a rank holds how many sets of activations: (seconds, sets), a step at each change. A pass may be several
/// events; a set is held from the first of the forward pass to the last of the backward pass.
static std::vector<std::pair<double, int64_t>> setsOverTime(const cost::StepTimeline &timeline, int64_t rank) {
  std::map<std::pair<int64_t, int64_t>, std::pair<double, double>> held;
  for (const cost::TimelineEvent &event : timeline.events)
    if (event.rank == rank && event.stream == cost::TimelineStream::Compute && event.microbatch >= 0) {
      auto [at, isNew] = held.insert({{event.stage, event.microbatch}, {event.start, event.end}});
      at->second = {std::min(at->second.first, event.start), std::max(at->second.second, event.end)};
    }
  std::map<double, int64_t> changes;
  for (const auto &[set, span] : held) {
    ++changes[span.first];
    --changes[span.second];
  }
  std::vector<std::pair<double, int64_t>> result = {{0, 0}};
  for (auto [time, change] : changes)
    result.push_back({time, result.back().second + change});
  return result;
}

Svg dtcc::drawMemoryOverTime(const plan::PlanReport &plan, const cost::StepTimeline &timeline, double limit) {
  double top = 40, height = 150, width = kWidth - kLeft - kRight;
  Svg svg(kWidth, top + height + Axis::kHeight, "memory of the devices of three stages over a step");
  int64_t last = timeline.ranks - 1;
  std::vector<int64_t> ranks = {0};
  if (last > 1)
    ranks.push_back(timeline.ranks / 2);
  if (last > 0)
    ranks.push_back(last);
  double most = std::max(plan.memory.total(), 1.0);
  bool limited = limit > 0 && most > limit / 4;
  if (limited)
    most = std::max(most, limit);
  auto place = [&](double seconds, double bytes) {
    return std::pair(kLeft + seconds / timeline.seconds * width, top + height * (1 - bytes / most));
  };
  static constexpr StringRef lines[] = {"l1", "l2", "l3"};
  std::vector<std::string> names;
  for (int64_t rank : ranks)
    names.push_back(timeline.ranks > 1 ? "stage " + std::to_string(rank) : "a device");
  std::vector<std::pair<StringRef, StringRef>> legend;
  for (size_t i = 0; i < ranks.size(); ++i)
    legend.push_back({lines[i], names[i]});
  svg.legend(kLeft, 12, legend);
  Axis bytes("memory of a device", kByteUnits, most);
  svg.text(kLeft, 30, bytes.title(), Svg::Anchor::Start, "soft");
  bytes.drawLeft(svg, kLeft, width, top, top + height);
  Axis("time in the step", kSecondUnits, timeline.seconds).drawBelow(svg, kLeft, width, top, top + height);
  for (size_t i = 0; i < ranks.size(); ++i) {
    const plan::MemoryParts &memory =
        size_t(ranks[i]) < plan.stages.size() ? plan.stages[ranks[i]].memory : plan.memory;
    std::vector<std::pair<double, int64_t>> sets = setsOverTime(timeline, ranks[i]);
    int64_t peak = 1;
    for (auto [time, count] : sets)
      peak = std::max(peak, count);
    double rest = memory.total() - memory.activations;
    std::vector<std::pair<double, double>> points;
    double before = rest;
    for (auto [time, count] : sets) {
      points.push_back(place(time, before));
      before = rest + memory.activations * double(count) / double(peak);
      points.push_back(place(time, before));
    }
    points.push_back(place(timeline.seconds, before));
    svg.path(points, lines[i]);
  }
  if (limited) {
    double y = place(0, limit).second;
    svg.line(kLeft, y, kLeft + width, y, "limit");
    svg.text(kLeft + width + 4, y + 4, "limit");
    svg.text(kLeft + width + 4, y + 17, formatBytes(limit));
  }
  return svg;
}

static StringRef styleOf(cost::TimelineWork work) {
  static constexpr StringRef styles[] = {"compute",    "backward",   "backward",   "weight",    "message", "message",
                                         "collective", "collective", "collective", "optimizer", "host"};
  return styles[static_cast<int>(work)];
}

/// Events of a timeline that fit on a page: if there are too many, only computation, on ranks spread over all.
static std::vector<const cost::TimelineEvent *> eventsToDraw(const cost::StepTimeline &timeline,
                                                             std::vector<int64_t> &ranks) {
  std::vector<size_t> counts(timeline.ranks);
  bool all = timeline.events.size() <= kMostEvents;
  for (const cost::TimelineEvent &event : timeline.events)
    counts[event.rank] += all || event.stream == cost::TimelineStream::Compute;
  size_t most = std::max<size_t>(*std::max_element(counts.begin(), counts.end()), 1);
  int64_t rows = std::clamp<int64_t>(int64_t(kMostEvents / most), 1, std::min(timeline.ranks, kMostRows));
  for (int64_t row = 0; row < rows; ++row)
    ranks.push_back(rows == 1 ? 0 : row * (timeline.ranks - 1) / (rows - 1));
  std::vector<const cost::TimelineEvent *> events;
  for (const cost::TimelineEvent &event : timeline.events)
    if ((all || event.stream == cost::TimelineStream::Compute) && llvm::is_contained(ranks, event.rank))
      events.push_back(&event);
  return events;
}

Svg dtcc::drawTimeline(const cost::StepTimeline &timeline, int64_t each) {
  std::vector<int64_t> ranks;
  std::vector<const cost::TimelineEvent *> events = eventsToDraw(timeline, ranks);
  double top = 22, height = 18, thin = 4, step = height + 3 * thin + 4, width = kWidth - kLeft - kRight;
  double bottom = top + double(ranks.size()) * step;
  Svg svg(kWidth, bottom + Axis::kHeight + 14, "what each rank of the pipeline does in a step");
  std::vector<std::pair<StringRef, StringRef>> drawn;
  for (std::pair<StringRef, StringRef> kind : {std::pair<StringRef, StringRef>("compute", "forward"),
                                               {"backward", "backward"},
                                               {"weight", "weight gradients"},
                                               {"optimizer", "update"},
                                               {"collective", "collectives"},
                                               {"message", "messages"},
                                               {"host", "host"}})
    if (llvm::any_of(events, [&](const cost::TimelineEvent *event) { return styleOf(event->work) == kind.first; }))
      drawn.push_back(kind);
  svg.legend(kLeft, 12, drawn);
  Axis("time in the step", kSecondUnits, timeline.seconds).drawBelow(svg, kLeft, width, top - 2, bottom);
  for (size_t row = 0; row < ranks.size(); ++row) {
    int64_t first = ranks[row] * each;
    svg.text(kLeft - 8, top + double(row) * step + 13,
             each > 1 ? formatv("ranks {0} to {1}", first, first + each - 1).str() : "rank " + std::to_string(first),
             Svg::Anchor::End);
  }
  double scale = timeline.seconds > 0 ? width / timeline.seconds : 0;
  for (const cost::TimelineEvent *event : events) {
    double x = kLeft + event->start * scale, wide = (event->end - event->start) * scale;
    int64_t stream = int64_t(event->stream), row = llvm::find(ranks, event->rank) - ranks.begin();
    double y = top + double(row) * step + (stream ? height + 1 + double(stream - 1) * thin : 0);
    std::string title = event->name() + (event->stage >= 0 ? " of stage " + std::to_string(event->stage) : "") + ": " +
                        formatSeconds(event->start) + " to " + formatSeconds(event->end);
    svg.rect(x, y, wide, stream ? thin - 1 : height, styleOf(event->work).str() + (wide > 3 ? " edge" : ""), title);
    if (!stream && wide > 6.0 * double(event->name().size()))
      svg.text(x + wide / 2, y + 12, event->name(), Svg::Anchor::Middle, "in");
  }
  std::string left;
  if (int64_t(ranks.size()) < timeline.ranks)
    left = formatv("{0} of {1} rows are drawn", ranks.size(), timeline.ranks).str();
  if (events.size() < timeline.events.size())
    left += (left.empty() ? "" : "; ") + std::string("computation alone is drawn");
  svg.text(kLeft + width, bottom + 28, left, Svg::Anchor::End, "soft");
  return svg;
}

Svg dtcc::drawParts(llvm::ArrayRef<plan::PlanReport> plans) {
  std::vector<Bar> bars;
  for (const plan::PlanReport &plan : plans) {
    const cost::StepSeconds &parts = plan.parts;
    bars.push_back({"plan " + std::to_string(bars.size() + 1),
                    {{"compute", "compute", parts.compute - parts.recompute},
                     {"again", "computed again", parts.recompute},
                     {"collective", "tp and cp, exposed", parts.tensor},
                     {"gradient", "gradients and parameters, exposed", parts.data},
                     {"message", "sends, exposed", parts.stages},
                     {"idle", "bubble", parts.bubble},
                     {"host", "host", parts.host}}});
  }
  return drawBars(bars, "the time of a step of each plan by its parts",
                  {"time of a step", kSecondUnits, formatSeconds});
}
