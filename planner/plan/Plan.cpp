//===- Plan.cpp - Where a training step runs, as a plain value
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/plan/Plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>

namespace dtcc::plan {

const OpPlan *Plan::findOp(int64_t origin) const {
  for (const OpPlan &op : ops)
    if (op.origin == origin)
      return &op;
  return nullptr;
}

const StatePlan *Plan::findState(llvm::StringRef name) const {
  for (const StatePlan &state : states)
    if (state.name == name)
      return &state;
  return nullptr;
}

Axes Plan::withoutUnitAxes(const Axes &axes) const {
  Axes result;
  for (const std::string &axis : axes)
    if (mesh.find(axis)->size > 1)
      result.push_back(axis);
  return result;
}

Axes Plan::axesOf(const OpPlan *entry, int64_t factor) const {
  if (!entry)
    return {};
  auto given = entry->factors.find(factor);
  return given == entry->factors.end() ? Axes() : withoutUnitAxes(given->second);
}

int64_t PipelinePlan::stageOf(int64_t origin) const {
  return std::upper_bound(cuts.begin(), cuts.end(), origin) - cuts.begin();
}

std::string Plan::whyNoProgram() const {
  bool mixed = pipeline && std::any_of(pipeline->devices.begin(), pipeline->devices.end(),
                                       [&](const std::string &kind) { return kind != pipeline->devices.front(); });
  return mixed ? "its stages are on devices of several kinds, which programs do not support yet" : "";
}

/// Limits of a plan, so that a file of a few bytes asks for no more than anybody has.
static constexpr size_t kMostAxes = 32;
static constexpr int64_t kMostRanks = int64_t(1) << 31, kMostOrigin = kMostRanks - 1;

template <typename... Args> static llvm::Error fail(const char *format, Args... args) {
  return llvm::createStringError(std::errc::invalid_argument, format, args...);
}

llvm::Error Plan::check() const {
  if (mesh.axes.size() > kMostAxes)
    return fail("a mesh must have at most %zu axes, got: %zu", kMostAxes, mesh.axes.size());
  int64_t product = 1;
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    const spmd::MeshAxis &axis = mesh.axes[i];
    if (axis.size < 1)
      return fail("mesh axis size must be at least 1, got: %lld for \"%s\"", static_cast<long long>(axis.size),
                  axis.name.c_str());
    if (mesh.find(axis.name) != &axis)
      return fail("mesh axes must have different names, got twice: \"%s\"", axis.name.c_str());
    if (axis.time && i != 0)
      return fail("the time axis must stand first in the mesh, got: \"%s\"", axis.name.c_str());
    // As programs number ranks and micro-batches.
    if (axis.size > kMostRanks / product)
      return fail("the sizes of the mesh axes must multiply to at most 2^31, got: %lld for \"%s\"",
                  static_cast<long long>(axis.size), axis.name.c_str());
    product *= axis.size;
  }
  auto known = [&](const Axes &axes, const std::string &where, bool timeAllowed) -> llvm::Error {
    std::string why = mesh.whyNotAxes(axes, where, timeAllowed);
    return why.empty() ? llvm::Error::success() : fail("%s", why.c_str());
  };
  if (zero < 0 || zero > 3)
    return fail("zero must be 0, 1, 2 or 3, got: %lld", static_cast<long long>(zero));
  if (llvm::Error error = known(batchAxes, "batch_axes", true))
    return error;
  if (llvm::Error error = known(sequenceAxes, "sequence_axes", false))
    return error;
  for (const std::string &axis : sequenceAxes)
    if (spmd::contains(batchAxes, axis))
      return fail("sequence_axes must name other axes than batch_axes, got: \"%s\"", axis.c_str());
  if (llvm::Error error = known(flatAxes, "flat_axes", false))
    return error;
  llvm::SmallSet<int64_t, 8> origins;
  for (size_t i = 0; i < ops.size(); ++i) {
    std::string where = "ops[" + std::to_string(i) + "]";
    if (ops[i].origin < 0 || ops[i].origin > kMostOrigin)
      return fail("%s must have an origin from 0 to 2^31 - 1, got: %lld", where.c_str(),
                  static_cast<long long>(ops[i].origin));
    if (!origins.insert(ops[i].origin).second)
      return fail("%s must place another op, origin %lld is placed twice", where.c_str(),
                  static_cast<long long>(ops[i].origin));
    Axes all = ops[i].partial.value_or(Axes());
    for (const auto &[factor, axes] : ops[i].factors)
      all.insert(all.end(), axes.begin(), axes.end());
    if (llvm::Error error = known(all, where, true))
      return error;
    if (ops[i].onHost && !offload.activations)
      return fail("%s is offloaded (on_host), so offload must be activations or all, got: %s", where.c_str(),
                  offload.str().c_str());
  }
  llvm::StringSet<> names;
  for (size_t i = 0; i < states.size(); ++i) {
    std::string where = "states[" + std::to_string(i) + "]";
    if (!names.insert(states[i].name).second)
      return fail("%s must place another state, \"%s\" is placed twice", where.c_str(), states[i].name.c_str());
    if (states[i].zero && (*states[i].zero < 0 || *states[i].zero > 3))
      return fail("%s zero must be 0, 1, 2 or 3, got: %lld", where.c_str(), static_cast<long long>(*states[i].zero));
    Axes all;
    for (const Axes &axes : states[i].layout.value_or(std::vector<Axes>()))
      all.insert(all.end(), axes.begin(), axes.end());
    if (llvm::Error error = known(all, where, false))
      return error;
  }
  return pipeline ? checkPipeline() : llvm::Error::success();
}

llvm::Expected<Schedule> PipelinePlan::scheduleOn(const Mesh &mesh) const {
  int64_t ranks = mesh.product({axis});
  Schedule result = actions;
  if (!schedule.empty()) {
    llvm::Expected<Schedule> made = makeSchedule(schedule, ranks, mesh.slots());
    if (!made)
      return made.takeError();
    result = std::move(*made);
  }
  if (static_cast<int64_t>(result.ranks.size()) != ranks)
    return fail("the schedule must have a line for each of the %lld ranks of axis \"%s\", got: %lld",
                static_cast<long long>(ranks), axis.c_str(), static_cast<long long>(result.ranks.size()));
  if (result.stages() != stages())
    return fail("the schedule must be of the %lld stages of the plan, got: %lld", static_cast<long long>(stages()),
                static_cast<long long>(result.stages()));
  if (llvm::Error error = result.check(stages(), mesh.slots()))
    return std::move(error);
  return result;
}

llvm::Error Plan::checkPipeline() const {
  const std::string &axis = pipeline->axis;
  if (!mesh.find(axis) || mesh.isTime(axis))
    return fail("pipeline axis must be a rank axis of the mesh, got: \"%s\"", axis.c_str());
  auto uses = [&](const Axes &axes) { return spmd::contains(axes, axis); };
  bool used = uses(batchAxes) || uses(flatAxes);
  for (const OpPlan &op : ops) {
    used |= uses(op.partial.value_or(Axes()));
    for (const auto &[factor, axes] : op.factors)
      used |= uses(axes);
  }
  for (const StatePlan &state : states)
    for (const Axes &axes : state.layout.value_or(std::vector<Axes>()))
      used |= uses(axes);
  if (used)
    return fail("nothing can be split over the axis of the pipeline, got: \"%s\"", axis.c_str());
  for (size_t i = 0; i < pipeline->cuts.size(); ++i)
    if (pipeline->cuts[i] < (i ? pipeline->cuts[i - 1] + 1 : 1))
      return fail("pipeline cuts must ascend from 1, got: %lld", static_cast<long long>(pipeline->cuts[i]));
  if (!pipeline->devices.empty() && int64_t(pipeline->devices.size()) != mesh.product({axis}))
    return fail("pipeline devices must be as many as the %lld ranks of axis \"%s\", got: %zu",
                static_cast<long long>(mesh.product({axis})), axis.c_str(), pipeline->devices.size());
  llvm::Expected<Schedule> actions = schedule();
  return actions ? llvm::Error::success() : actions.takeError();
}

} // namespace dtcc::plan
