//===- Validation.cpp - Forecasts against measured runs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/validation/Validation.h"
#include <algorithm>
#include <cmath>
#include <sstream>

namespace dtcc::cost {

double ScoredRun::error() const { return 100 * std::log(seconds / run.seconds); }
double ScoredRun::memoryError() const { return 100 * std::log(memoryGib / run.memoryGib); }

Errors errorsOf(const std::vector<double> &values) {
  std::vector<double> sizes;
  for (double value : values)
    sizes.push_back(std::abs(value));
  return {values.size(), quantile(sizes, 0.5), quantile(sizes, 0.9), quantile(values, 0.5)};
}

bool Validation::add(RunTable table, std::string &error) {
  for (size_t row = 0; row < table.rows(); ++row) {
    std::optional<MeasuredRun> run = readRun(table, row, error);
    if (!run)
      return false;
    runs.push_back({tables.size(), row, std::move(*run)});
  }
  tables.push_back(std::move(table));
  return true;
}

bool Validation::addGroups(const RunTable &table, std::string &error) {
  for (size_t row = 0; row < table.rows(); ++row) {
    PlanGroup group;
    std::istringstream ids{std::string(table.cell(row, "ids"))};
    for (std::string id; ids >> id;)
      group.ids.push_back(id);
    if (group.ids.empty()) {
      error = table.location(row) + ": a group of plans must name its rows in the column ids";
      return false;
    }
    group.source = group.ids[0].substr(0, group.ids[0].rfind('-'));
    groups.push_back(std::move(group));
  }
  return true;
}

void Validation::price(ScoredRun &scored, const Constants &constants, const Calibration &calibration) {
  if (!scored.run.scope.empty())
    return;
  scored.seconds = priceStep(scored.run.problem(), constants, calibration).total();
  scored.memoryGib = scored.run.memory().total() / 0x1p30;
  scored.fits = scored.run.fits();
}

void Validation::price(const Constants &constants, const Calibration &calibration) {
  for (ScoredRun &run : runs)
    price(run, constants, calibration);
}

void Validation::priceOnly(const Constants &constants, const std::set<std::string> &sources) {
  for (ScoredRun &run : runs)
    if (sources.count(run.run.source))
      price(run, constants, {});
}

std::vector<FitRow> Validation::fitRows(const std::set<std::string> &without) const {
  // A sweep of a thousand plans of six models tells little more by all of its rows.
  constexpr size_t kMost = 270;
  std::map<std::string, std::vector<const ScoredRun *>> bySource;
  for (const ScoredRun &run : runs)
    if (run.isTimed() && !without.count(run.run.source))
      bySource[run.run.source].push_back(&run);
  std::vector<FitRow> rows;
  for (const auto &[source, members] : bySource) {
    size_t step = (members.size() + kMost - 1) / kMost;
    for (size_t i = 0; i < members.size(); i += step) {
      const MeasuredRun &run = members[i]->run;
      std::string model = std::to_string(run.model.layers) + "x" + std::to_string(run.model.hidden);
      rows.push_back({run.problem(), run.seconds, source + " " + run.device.name, model});
    }
  }
  return rows;
}

void Validation::calibrateOne(const std::string &source, const Constants &constants, size_t count) {
  std::vector<FitRow> rows;
  std::set<std::string> devices;
  for (ScoredRun &run : runs) {
    if (run.run.source != source || !run.isTimed() || rows.size() >= count)
      continue;
    std::string model = std::to_string(run.run.model.layers) + "x" + std::to_string(run.run.model.hidden);
    rows.push_back({run.run.problem(), run.run.seconds, source, model});
    devices.insert(run.run.device.name);
    run.run.scope = "used to calibrate";
  }
  Calibration same = fitCalibration(rows, constants), other = onOtherDevices(same);
  for (ScoredRun &run : runs)
    if (run.run.source == source)
      price(run, constants, devices.count(run.run.device.name) ? same : other);
}

void Validation::calibrate(const Constants &constants, size_t count) {
  price(constants);
  for (const std::string &source : sources())
    calibrateOne(source, constants, count);
}

void Validation::priceLeftOut(const Constants &start, size_t count) {
  FitOptions few;
  few.rounds = 4;
  std::map<std::string, Constants> fitted;
  for (const std::string &source : sources())
    fitted[source] = fitConstants(fitRows({source}), start, few);
  for (const auto &[source, constants] : fitted)
    if (count > 0)
      calibrateOne(source, constants, count);
    else
      priceOnly(constants, {source});
}

std::set<std::string> Validation::sources() const {
  std::set<std::string> names;
  for (const ScoredRun &run : runs)
    if (run.isTimed() || run.hasMemory())
      names.insert(run.run.source);
  return names;
}

Errors Validation::errors(const std::set<std::string> &sources, std::optional<size_t> table) const {
  std::vector<double> values;
  for (const ScoredRun &run : runs)
    if (run.isTimed() && sources.count(run.run.source) && run.table == table.value_or(run.table))
      values.push_back(run.error());
  return errorsOf(values);
}

Errors Validation::memoryErrors(const std::set<std::string> &sources) const {
  std::vector<double> values;
  for (const ScoredRun &run : runs)
    if (run.hasMemory() && sources.count(run.run.source))
      values.push_back(run.memoryError());
  return errorsOf(values);
}

std::map<std::string, Errors> Validation::errorsApart() const {
  std::map<std::string, std::vector<double>> values;
  for (const ScoredRun &run : runs)
    if (run.run.scope.empty() && !run.run.apart.empty() && run.run.seconds > 0)
      for (const std::string &name : {run.run.apart, run.run.apart + ", " + run.run.source})
        values[name].push_back(run.error());
  std::map<std::string, Errors> errors;
  for (const auto &[name, each] : values)
    errors[name] = errorsOf(each);
  return errors;
}

std::map<std::string, Regret> Validation::regrets() const {
  std::map<std::string, const ScoredRun *> byId;
  for (const ScoredRun &run : runs)
    if (run.isTimed())
      byId[run.run.id] = &run;
  std::map<std::string, Regret> result;
  for (const PlanGroup &group : groups) {
    const ScoredRun *chosen = nullptr, *best = nullptr;
    size_t members = 0;
    for (const std::string &id : group.ids) {
      auto found = byId.find(id);
      if (found == byId.end())
        continue;
      ++members;
      if (!chosen || found->second->seconds < chosen->seconds)
        chosen = found->second;
      if (!best || found->second->run.seconds < best->run.seconds)
        best = found->second;
    }
    if (members < 2)
      continue;
    Regret &regret = result[group.source];
    double loss = 100 * (chosen->run.seconds / best->run.seconds - 1);
    regret.mean = (regret.mean * double(regret.groups) + loss) / double(regret.groups + 1);
    regret.worst = std::max(regret.worst, loss);
    ++regret.groups;
  }
  return result;
}

std::map<std::string, size_t> Validation::outOfScope() const {
  std::map<std::string, size_t> reasons;
  for (const ScoredRun &run : runs)
    if (!run.run.scope.empty())
      ++reasons[run.run.scope];
  return reasons;
}

const std::set<std::string> &firstHalf() {
  static const std::set<std::string> half = {"vtrain", "vtrain1n", "dgxc", "mosaic", "meg"};
  return half;
}

} // namespace dtcc::cost
