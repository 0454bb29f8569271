//===- Metrics.cpp - What a run reports ----------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Metrics.h"

#include "runtime/abi/console/AmountText.h"
#include "runtime/core/Error.h"
#include "runtime/core/FormatText.h"
#include "runtime/launch/Executor.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;

namespace dtcc::rt {
namespace {

std::string timeText(double seconds) {
  auto whole = static_cast<long>(seconds + 0.5);
  return whole >= 3600 ? formatText("%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60)
                       : formatText("%ld:%02ld", whole / 60, whole % 60);
}

/// Removes the first line of a later step and all behind it, and a last line that was cut short: a run that was killed
/// may have come further than its newest checkpoint.
void keepStepsUpTo(const std::string &path, int64_t step) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return;
  std::ifstream file(path);
  uintmax_t kept = 0;
  const std::string begin = "{\"step\":";
  for (std::string line; std::getline(file, line) && !file.eof(); kept += line.size() + 1)
    if (line.rfind(begin, 0) == 0 && std::strtoll(line.c_str() + begin.size(), nullptr, 10) > step)
      break;
  if (kept == std::filesystem::file_size(path, error) || error)
    return;
  std::filesystem::resize_file(path, kept, error);
  if (error)
    failWith(Status::Write, "cannot write ", path, ": ", error.message());
}

} // namespace

double stepFlops(const Image &image) {
  // The ranks of a pipeline do different things: their average.
  double flops = 0;
  for (const dtcc_stage &stage : image.stages())
    for (const dtcc_action &action : rowsOf(dtcc_step_actions(&stage), image.actions())) {
      const dtcc_phase &phase = image.phases()[action.phase];
      for (uint32_t i = 0; i < phase.command_count; ++i)
        flops += image.commands()[phase.first_command + i].flops;
    }
  return flops / static_cast<double>(image.stages().size());
}

Metrics::Metrics(const Image &image, const std::string &path, std::optional<int64_t> resumedFrom)
    : image(image), path(path) {
  if (path.empty())
    return;
  if (resumedFrom)
    keepStepsUpTo(path, *resumedFrom);
  else
    std::ofstream(path, std::ios::trunc);
  file.open(path, std::ios::app); // rolling back shortens the file
  if (!file)
    failWith(Status::Write, "cannot write ", path, ": ", std::strerror(errno));
}

void Metrics::write(const std::string &line) {
  if (path.empty() || !failed.empty())
    return;
  file << line << std::endl; // each line is complete for who follows the file
  if (!file)
    failed = message("cannot write ", path, ": ", std::strerror(errno));
}

void Metrics::start(const RunFacts &facts) {
  run = facts;
  flops = stepFlops(image) * static_cast<double>(image.mesh().ranks());
  double peak = image.header().peak_flops;
  Json mesh = Json::object(), bytes = Json::object();
  for (const dtcc_axis &axis : image.axes())
    mesh[std::string(image.string(axis.name))] = axis.size;
  uint64_t largest = 0, withHost = 0;
  Json onHost = Json::object();
  for (size_t i = 0; i < facts.bytes.size(); ++i) {
    std::string name = "rank" + std::to_string(i);
    bytes[name] = facts.bytes[i];
    largest = std::max(largest, facts.bytes[i]);
    uint64_t moved = hostBytes(image, image.stageAt(image.mesh().coordinates(static_cast<int64_t>(i), 0)));
    onHost[name] = moved;
    withHost = std::max(withHost, moved);
  }
  std::cerr << "memory: " << formatBytes(static_cast<double>(largest)) << " a rank, "
            << (withHost > 0 ? formatBytes(static_cast<double>(withHost)) + " of its host's, " : "") << facts.threads
            << (facts.threads == 1 ? " thread" : " threads") << " a rank, " << image.mesh().ranks()
            << (image.mesh().ranks() == 1 ? " rank" : " ranks") << "\n";
  Json row{{"event", "start"},
           {"model", std::string(image.string(image.header().model))},
           {"ranks", image.mesh().ranks()},
           {"mesh", mesh},
           {"transport", facts.transport},
           {"threads", facts.threads},
           {"batch", image.training().batch},
           {"tokens", image.training().tokens},
           {"steps", facts.steps},
           {"first_step", facts.firstStep},
           {"seed", facts.seed},
           {"flops_per_step", flops},
           {"peak_flops_per_second", peak > 0 ? Json(peak) : Json()},
           {"bytes", bytes}};
  if (withHost > 0)
    row["host_bytes"] = onHost;
  write(row.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!failed.empty())
    throw Error(Status::Write, failed);
}

static std::string droppedText(int64_t rows) {
  return formatText("  %lld rows of experts dropped", static_cast<long long>(rows));
}

void Metrics::step(const StepFacts &facts) {
  bool tokens = image.training().tokens > 0;
  double items = static_cast<double>(tokens ? image.training().tokens : image.training().batch);
  double rate = items / facts.seconds;
  Json row{{"step", facts.step}, {"loss", facts.loss}};
  if (facts.hasGradNorm)
    row["grad_norm"] = facts.gradNorm;
  if (facts.hasLossScale)
    row["loss_scale"] = facts.lossScale;
  if (facts.hasLossScale || facts.skipped > 0)
    row["skipped"] = facts.skipped;
  if (facts.droppedRows > 0)
    row["dropped_rows"] = facts.droppedRows;
  row["lr"] = facts.lr;
  row["step_seconds"] = facts.seconds;
  row["data_seconds"] = facts.dataSeconds;
  for (double seconds : facts.rankSeconds)
    row["rank_seconds"].push_back(std::round(seconds * 1e7) / 1e7);
  row[tokens ? "tokens_per_second" : "samples_per_second"] = rate;
  double share = image.header().peak_flops > 0 ? flops / facts.seconds / image.header().peak_flops : 0;
  if (share > 0)
    row["peak_share"] = share;
  for (const auto &[name, norm] : facts.gradNorms)
    row["grad_norms"][name] = norm;
  write(row.dump(-1, ' ', false, Json::error_handler_t::replace));

  if (facts.step > run.firstStep)
    totalSeconds += facts.seconds;
  auto timed = static_cast<double>(facts.step - run.firstStep);
  double left = static_cast<double>(run.steps - facts.step) * (timed > 0 ? totalSeconds / timed : facts.seconds);
  std::string line = formatText("step %lld/%lld  loss %.6f  %.0f %s/s", static_cast<long long>(facts.step),
                                static_cast<long long>(run.steps), facts.loss, rate, tokens ? "tokens" : "samples");
  if (flops > 0)
    line += formatText("  %.1f GFLOP/s", flops / facts.seconds * 1e-9);
  if (share > 0)
    line += formatText(" (%.1f %% of peak)", share * 100);
  if (facts.droppedRows > 0)
    line += droppedText(facts.droppedRows);
  std::cout << line << "  left " << timeText(left) << std::endl;
}

void Metrics::evaluation(const EvaluationFacts &facts) {
  Json row{{"step", facts.step}, {"eval_loss", facts.loss}};
  if (facts.accuracy)
    row["eval_accuracy"] = *facts.accuracy;
  row["eval_count"] = facts.lossCount;
  row["eval_batches"] = facts.batches;
  if (facts.droppedRows > 0)
    row["eval_dropped_rows"] = facts.droppedRows;
  row["eval_seconds"] = facts.seconds;
  row["best"] = facts.isBest;
  write(row.dump());
  // An evaluation alone has no steps.
  if (!facts.isAlone)
    std::cout << formatText("step %lld/%lld  ", static_cast<long long>(facts.step), static_cast<long long>(run.steps));
  std::cout << formatText("evaluation loss %.6f", facts.loss)
            << (facts.accuracy ? formatText("  accuracy %.2f %%", *facts.accuracy * 100) : std::string())
            << formatText("  of %lld %s, %.1f s", static_cast<long long>(facts.batches),
                          facts.batches == 1 ? "batch" : "batches", facts.seconds)
            << (facts.droppedRows > 0 ? droppedText(facts.droppedRows) : std::string())
            << (facts.isBest && !facts.isAlone ? "  best" : "") << std::endl;
}

void Metrics::straggler(int64_t step, const Straggler &slow, const std::string &host) {
  write(Json{{"event", "straggler"},
             {"at_step", step},
             {"rank", slow.rank},
             {"host", host},
             {"own_seconds", slow.seconds},
             {"median_seconds", slow.median}}
            .dump(-1, ' ', false, Json::error_handler_t::replace));
  std::cerr << message("warning: rank ", slow.rank, " (host ", printable(host), ") is slow: for ",
                       Stragglers::leastSteps, " steps it took ", formatText("%.1f", slow.seconds * 1e3),
                       " ms of its own each, and the median of the ranks is ", formatText("%.1f", slow.median * 1e3),
                       " ms\n")
            << std::flush;
}

void Metrics::rollBack(int64_t from, int64_t to) {
  if (!path.empty() && failed.empty())
    keepStepsUpTo(path, to);
  write(Json{{"event", "rollback"}, {"from_step", from}, {"to_step", to}}.dump());
}

void Metrics::end(int64_t steps, bool interrupted) {
  Json bytes = Json::object();
  for (size_t i = 0; i < run.bytes.size(); ++i)
    bytes["rank" + std::to_string(i)] = run.bytes[i];
  Json row{{"event", "end"}, {"steps", steps}};
  if (interrupted)
    row["interrupted"] = true;
  row["peak_bytes"] = bytes;
  write(row.dump());
}

} // namespace dtcc::rt
