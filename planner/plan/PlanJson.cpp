//===- PlanJson.cpp - Plans as JSON
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/interfaces/ParseJson.h"
#include "planner/plan/Plan.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace json = llvm::json;

namespace dtcc::plan {

static void writePipeline(json::OStream &out, const PipelinePlan &pipeline) {
  out.attribute("axis", pipeline.axis);
  if (!pipeline.schedule.empty())
    out.attribute("schedule", pipeline.schedule);
  else
    out.attributeArray("schedule", [&] {
      for (const auto &rank : pipeline.actions.ranks)
        out.array([&] {
          for (const Action &action : rank)
            out.value(action.str());
        });
    });
  out.attributeArray("cuts", [&] {
    for (int64_t cut : pipeline.cuts)
      out.value(cut);
  });
  if (!pipeline.devices.empty())
    out.attributeArray("devices", [&] {
      for (const std::string &kind : pipeline.devices)
        out.value(kind);
    });
}

std::string Plan::toJson(unsigned indent) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, indent);
  auto axes = [&](const Axes &names) {
    for (const std::string &name : names)
      out.value(name);
  };
  out.object([&] {
    out.attribute("version", kVersion);
    out.attributeArray("mesh", [&] {
      for (const spmd::MeshAxis &axis : mesh.axes)
        out.object([&] {
          out.attribute("name", axis.name);
          out.attribute("size", axis.size);
          out.attribute("kind", axis.time ? "time" : "rank");
        });
    });
    out.attributeArray("batch_axes", [&] { axes(batchAxes); });
    if (!sequenceAxes.empty())
      out.attributeArray("sequence_axes", [&] { axes(sequenceAxes); });
    if (!sequenceAxes.empty() || sequenceOrder == SequenceOrder::ZigZag)
      out.attribute("sequence_order", sequenceOrder == SequenceOrder::ZigZag ? "zigzag" : "contiguous");
    if (sequenceParallel)
      out.attribute("sequence_parallel", true);
    if (stationaryWeights)
      out.attribute("stationary_weights", true);
    out.attribute("zero", zero);
    out.attributeArray("flat_axes", [&] { axes(flatAxes); });
    out.attribute("recompute", llvm::StringRef(toString(recompute)));
    if (offload.any())
      out.attribute("offload", offload.str());
    if (gradients != GradientType::F32)
      out.attribute("gradients", llvm::StringRef(toString(gradients)));
    if (pipeline)
      out.attributeObject("pipeline", [&] { writePipeline(out, *pipeline); });
    out.attributeArray("ops", [&] {
      for (const OpPlan &op : ops)
        out.object([&] {
          out.attribute("origin", op.origin);
          out.attribute("op", op.op);
          out.attributeObject("factors", [&] {
            for (const auto &[factor, names] : op.factors)
              out.attributeArray(std::to_string(factor), [&, &list = names] { axes(list); });
          });
          if (op.partial)
            out.attributeArray("partial", [&] { axes(*op.partial); });
          if (op.recompute)
            out.attribute("recompute", *op.recompute);
          if (op.ring)
            out.attribute("ring", true);
          if (op.dispatch)
            out.attribute("dispatch", *op.dispatch);
          if (op.capacity)
            out.attribute("capacity", *op.capacity);
          if (op.onHost)
            out.attribute("on_host", true);
        });
    });
    out.attributeArray("states", [&] {
      for (const StatePlan &state : states)
        out.object([&] {
          out.attribute("name", state.name);
          if (state.layout)
            out.attributeArray("layout", [&] {
              for (const Axes &names : *state.layout)
                out.array([&] { axes(names); });
            });
          if (state.zero)
            out.attribute("zero", *state.zero);
        });
    });
  });
  if (indent)
    stream << "\n";
  return text;
}

bool fromJSON(const json::Value &value, OpPlan &op, json::Path path) {
  json::ObjectMapper map(value, path);
  std::map<std::string, Axes> factors;
  if (!map || !map.map("origin", op.origin) || !map.map("op", op.op) || !map.mapOptional("factors", factors) ||
      !map.mapOptional("partial", op.partial) || !map.mapOptional("recompute", op.recompute) ||
      !map.mapOptional("ring", op.ring) || !map.mapOptional("dispatch", op.dispatch) ||
      !map.mapOptional("capacity", op.capacity) || !map.mapOptional("on_host", op.onHost))
    return false;
  if (op.capacity && !(*op.capacity >= 1 && std::isfinite(*op.capacity))) {
    path.field("capacity").report("expected a number of at least 1");
    return false;
  }
  for (const auto &[key, axes] : factors) {
    int64_t factor;
    if (llvm::StringRef(key).getAsInteger(10, factor) || factor < 0) {
      // The path keeps a reference to the key until the message is written: that of the value, which lives as long.
      const json::Object &given = *value.getAsObject()->getObject("factors");
      path.field("factors").field(given.find(key)->first).report("expected the index of a factor as key");
      return false;
    }
    op.factors[factor] = axes;
  }
  return true;
}

bool fromJSON(const json::Value &value, StatePlan &state, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", state.name) && map.mapOptional("layout", state.layout) &&
         map.mapOptional("zero", state.zero);
}

bool fromJSON(const json::Value &value, Recompute &recompute, json::Path path) {
  std::optional<Recompute> mode = parseRecompute(value.getAsString().value_or(""));
  if (!mode)
    path.report("expected \"none\", \"selective\" or \"full\"");
  recompute = mode.value_or(Recompute::None);
  return mode.has_value();
}

bool fromJSON(const json::Value &value, Offload &offload, json::Path path) {
  std::optional<Offload> read = parseOffload(value.getAsString().value_or(""));
  if (!read || !read->any())
    path.report("expected \"optimizer\", \"activations\" or \"all\"");
  offload = read.value_or(Offload());
  return read && read->any();
}

bool fromJSON(const json::Value &value, GradientType &type, json::Path path) {
  std::optional<GradientType> read = parseGradientType(value.getAsString().value_or(""));
  if (!read)
    path.report("expected \"f32\" or \"bf16\"");
  type = read.value_or(GradientType::F32);
  return read.has_value();
}

bool fromJSON(const json::Value &value, SequenceOrder &order, json::Path path) {
  llvm::StringRef text = value.getAsString().value_or("");
  if (text != "contiguous" && text != "zigzag") {
    path.report("expected \"contiguous\" or \"zigzag\"");
    return false;
  }
  order = text == "zigzag" ? SequenceOrder::ZigZag : SequenceOrder::Contiguous;
  return true;
}

static bool readAxis(const json::Value &value, spmd::MeshAxis &axis, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string kind;
  if (!map || !map.map("name", axis.name) || !map.map("size", axis.size) || !map.map("kind", kind))
    return false;
  if (kind != "rank" && kind != "time") {
    path.field("kind").report("expected \"rank\" or \"time\"");
    return false;
  }
  axis.time = kind == "time";
  return true;
}

bool fromJSON(const json::Value &value, PipelinePlan &pipeline, json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("axis", pipeline.axis) || !map.map("cuts", pipeline.cuts) ||
      !map.mapOptional("devices", pipeline.devices))
    return false;
  const json::Value *schedule = value.getAsObject()->get("schedule");
  if (schedule && schedule->kind() == json::Value::String) {
    pipeline.schedule = schedule->getAsString()->str();
    if (stagesPerRank(pipeline.schedule))
      return true;
  }
  std::vector<std::vector<std::string>> rows;
  pipeline.schedule.clear();
  if (!schedule || schedule->kind() == json::Value::String || !fromJSON(*schedule, rows, path.field("schedule"))) {
    if (!schedule || schedule->kind() == json::Value::String)
#define DTCC_SCHEDULE(NAME, MNEMONIC, ARGUMENT, ...) MNEMONIC ARGUMENT ", "
      path.field("schedule")
          .report("expected "
#include "planner/parallelism/Schedules.def"
                  "or lists of actions");
    return false;
  }
  std::string text;
  for (const auto &row : rows) {
    for (const std::string &cell : row)
      text += cell + ",";
    text += "\n";
  }
  llvm::Expected<Schedule> actions = parseScheduleCsv(text, "schedule");
  if (!actions) {
    llvm::consumeError(actions.takeError());
    path.field("schedule").report("expected a list of actions a rank, each a stage, one of F I W B, and a micro-batch");
    return false;
  }
  pipeline.actions = std::move(*actions);
  return true;
}

static bool readPlanValue(const json::Value &value, Plan &plan, json::Path path) {
  json::ObjectMapper map(value, path);
  int64_t version;
  if (!map || !map.map("version", version))
    return false;
  if (version != Plan::kVersion) {
    path.field("version").report("expected version 1");
    return false;
  }
  const json::Array *mesh = value.getAsObject()->getArray("mesh");
  if (!mesh) {
    path.field("mesh").report("expected array");
    return false;
  }
  for (size_t i = 0; i < mesh->size(); ++i)
    if (!readAxis((*mesh)[i], plan.mesh.axes.emplace_back(), path.field("mesh").index(i)))
      return false;
  return map.map("batch_axes", plan.batchAxes) && map.mapOptional("sequence_axes", plan.sequenceAxes) &&
         map.mapOptional("sequence_order", plan.sequenceOrder) &&
         map.mapOptional("sequence_parallel", plan.sequenceParallel) &&
         map.mapOptional("stationary_weights", plan.stationaryWeights) && map.mapOptional("zero", plan.zero) &&
         map.mapOptional("flat_axes", plan.flatAxes) && map.mapOptional("recompute", plan.recompute) &&
         map.mapOptional("offload", plan.offload) && map.mapOptional("gradients", plan.gradients) &&
         map.mapOptional("ops", plan.ops) && map.mapOptional("states", plan.states) &&
         map.mapOptional("pipeline", plan.pipeline);
}

llvm::Expected<Plan> parsePlan(llvm::StringRef text, llvm::StringRef file) {
  auto located = [&](llvm::Error error) {
    return llvm::createStringError(std::errc::invalid_argument, "%s: %s", file.str().c_str(),
                                   llvm::toString(std::move(error)).c_str());
  };
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return located(value.takeError());
  Plan plan;
  json::Path::Root root("plan");
  if (!readPlanValue(*value, plan, root))
    return located(root.getError());
  if (llvm::Error error = plan.check())
    return located(std::move(error));
  return plan;
}

llvm::Expected<Plan> readPlan(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "%s: cannot read the plan: %s", path.str().c_str(),
                                   buffer.getError().message().c_str());
  return parsePlan((*buffer)->getBuffer(), path);
}

} // namespace dtcc::plan
