//===- PlanFile.cpp - The plan of --plan, completed
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Works on the fields of the JSON object, so that whatever a plan may say can be left out
// or held; planner/plan reads the result and checks what the fields hold.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/PlanFile.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/planning/PlanSearch.h"
#include "dialects/graph/Graph.h"
#include "dialects/interfaces/ParseJson.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace dtcc;
namespace json = llvm::json;

namespace {

class PlanFile {
public:
  PlanFile(ModuleOp module, const Options &options, const PlanRequest &request)
      : module(module), options(options), request(request), search(request) {}
  FailureOr<plan::Plan> plan();

private:
  LogicalResult wrong(const Twine &message) {
    errorStream() << options.plan << ": " << message << '\n';
    return failure();
  }
  LogicalResult read();
  /// Reads the plan that `value` is; failure after one message.
  FailureOr<plan::Plan> parse(const json::Value &value);
  LogicalResult requestMesh();
  /// A field that is true or false: as the options say, else as the file does.
  void requestFlag(llvm::StringRef field, std::optional<bool> given, std::optional<bool> &searched);
  void requestScalars();
  LogicalResult complete();
  /// Every rank or time axis of the mesh of the file, by name.
  llvm::MapVector<StringRef, int64_t> axes(bool time);
  /// Whether all axes that the ops name split something under `mesh`.
  bool servesOps(const spmd::Mesh &mesh);
  void overrideMicrobatches();

  ModuleOp module;
  const Options &options;
  const PlanRequest &request;
  /// Request to the search: that of the options, and the fields that the file gives.
  PlanRequest search;
  json::Object fields;
  /// The mesh of the file, empty if it has none.
  spmd::Mesh mesh;
};

LogicalResult PlanFile::read() {
  auto buffer = llvm::MemoryBuffer::getFile(options.plan, /*IsText=*/true);
  if (!buffer)
    return wrong("cannot read the plan: " + buffer.getError().message());
  llvm::Expected<json::Value> value = parseJson((*buffer)->getBuffer());
  if (!value)
    return wrong(llvm::toString(value.takeError()));
  json::Object *object = value->getAsObject();
  // The fields that the search reads are checked first. In a file of another version no field can be trusted.
  json::Object asked{{"mesh", json::Array()}, {"batch_axes", json::Array()}};
  if (object)
    for (StringRef name : {"version", "mesh", "zero", "recompute", "gradients"})
      if (const json::Value *field = object->get(name))
        asked[name] = *field;
  FailureOr<plan::Plan> checked = parse(object ? json::Value(std::move(asked)) : *value);
  if (failed(checked))
    return failure();
  mesh = std::move(checked->mesh);
  fields = std::move(*object);
  return success();
}

FailureOr<plan::Plan> PlanFile::parse(const json::Value &value) {
  llvm::Expected<plan::Plan> plan = plan::parsePlan(llvm::formatv("{0}", value).str(), options.plan);
  if (plan)
    return std::move(*plan);
  errorStream() << llvm::toString(plan.takeError()) << '\n';
  return failure();
}

llvm::MapVector<StringRef, int64_t> PlanFile::axes(bool time) {
  llvm::MapVector<StringRef, int64_t> result;
  if (const json::Array *mesh = fields.getArray("mesh"))
    for (const json::Value &axis : *mesh)
      if ((axis.getAsObject()->getString("kind") == "time") == time)
        result[*axis.getAsObject()->getString("name")] = *axis.getAsObject()->getInteger("size");
  return result;
}

/// Holds the mesh of the file; a --mesh beside it must say the same.
LogicalResult PlanFile::requestMesh() {
  if (!fields.get("mesh"))
    return success();
  plan::MeshSizes given = request.mesh;
  search.mesh = plan::meshSizesOf(mesh);
  for (const plan::MeshSizeRow &axis : plan::kMeshSizes) {
    plan::MeshSizes planned;
    planned.*axis.size = (search.mesh.*axis.size).value_or(1);
    planned.groups = search.mesh.groups;
    bool groupsDiffer = axis.name == "dp" && given.groups > 1 && given.groups != planned.groups;
    if (given.*axis.size && (given.*axis.size != planned.*axis.size || groupsDiffer))
      return wrong(
          llvm::formatv("the plan must agree with --mesh={0}, got: {1}; give one of them", given.str(), planned.str()));
  }
  return success();
}

void PlanFile::requestFlag(StringRef field, std::optional<bool> given, std::optional<bool> &searched) {
  if (given)
    fields[field] = *given;
  if (auto on = fields.getBoolean(field)) {
    searched = *on;
    // Plans say it where it is so.
    if (!*on)
      fields.erase(field);
  }
}

void PlanFile::requestScalars() {
  if (request.zero)
    fields["zero"] = *request.zero;
  else if (auto zero = fields.getInteger("zero"))
    search.zero = int(*zero);
  if (request.recompute)
    fields["recompute"] = StringRef(plan::toString(*request.recompute));
  else if (auto text = fields.getString("recompute"))
    search.recompute = plan::parseRecompute(*text);
  if (request.offload) {
    fields.erase("offload");
    if (request.offload->any())
      fields["offload"] = request.offload->str();
    if (llvm::json::Array *ops = fields.getArray("ops"); ops && !request.offload->activations)
      for (llvm::json::Value &op : *ops)
        if (llvm::json::Object *entry = op.getAsObject())
          entry->erase("on_host");
  } else if (auto text = fields.getString("offload")) {
    search.offload = plan::parseOffload(*text);
  }
  if (request.gradients)
    fields["gradients"] = StringRef(plan::toString(*request.gradients));
  else if (auto text = fields.getString("gradients"))
    search.gradients = plan::parseGradientType(*text);
  // Plans say it where it is not f32.
  if (fields.getString("gradients") == StringRef(plan::toString(plan::GradientType::F32)))
    fields.erase("gradients");
  requestFlag("sequence_parallel", request.sequenceParallel, search.sequenceParallel);
  requestFlag("stationary_weights", request.stationaryWeights, search.stationaryWeights);
  if (options.cpOrder != "auto")
    fields["sequence_order"] = options.cpOrder;
  overrideMicrobatches();
}

void PlanFile::overrideMicrobatches() {
  auto time = axes(/*time=*/true);
  if (!request.microbatches) {
    if (!time.empty())
      search.microbatches = time.front().second;
    return;
  }
  json::Array *mesh = fields.getArray("mesh");
  if (!mesh)
    return;
  if (!time.empty()) {
    (*mesh->front().getAsObject())["size"] = *request.microbatches;
    return;
  }
  mesh->insert(mesh->begin(), json::Object{{"name", "mb"}, {"size", *request.microbatches}, {"kind", "time"}});
  if (json::Array *batch = fields.getArray("batch_axes"))
    batch->insert(batch->begin(), "mb");
}

bool PlanFile::servesOps(const spmd::Mesh &mesh) {
  const json::Array *ops = fields.getArray("ops");
  if (!ops)
    return true;
  auto serves = [&](const json::Value &list) {
    const json::Array *names = list.getAsArray();
    return !names || llvm::all_of(*names, [&](const json::Value &name) {
      const spmd::MeshAxis *axis = mesh.find(name.getAsString().value_or("").str());
      return axis && axis->size > 1;
    });
  };
  return llvm::all_of(*ops, [&](const json::Value &op) {
    const json::Object *object = op.getAsObject();
    const json::Object *factors = object ? object->getObject("factors") : nullptr;
    return !factors || llvm::all_of(*factors, [&](const auto &factor) { return serves(factor.second); });
  });
}

/// Searches what is absent, and lays what is given over the best plan found.
LogicalResult PlanFile::complete() {
  for (auto [name, size] : axes(/*time=*/false))
    if (!plan::isSearchedAxis(name))
      return wrong("a plan whose mesh has an axis \"" + name +
                   "\" must have batch_axes and ops too: the search knows the axes " + plan::meshAxisNames());
  FailureOr<SearchResult> result = searchBest(module, options, search);
  if (failed(result))
    return failure();
  size_t found = 0, count = result->shapes.size();
  while (found < count && !servesOps(result->plan(found).mesh))
    ++found;
  if (found == count && search.mesh == plan::MeshSizes())
    return wrong("no mesh that the search proposes has all axes that ops name: give the mesh too, or --mesh");
  // The user's mesh is taken as it is: axes of size 1 split nothing, others are found out below.
  llvm::Expected<json::Value> all = json::parse(result->plan(found == count ? 0 : found).toJson());
  assert(all && "plans are written as JSON");
  json::Object merged = std::move(*all->getAsObject());
  // The axes of the file in their order, and those that the file does not name.
  if (const json::Array *given = fields.getArray("mesh")) {
    json::Array mesh = *given;
    llvm::StringSet<> names;
    for (const json::Value &axis : mesh)
      names.insert(*axis.getAsObject()->getString("name"));
    for (json::Value &axis : *merged.getArray("mesh"))
      if (json::Object &object = *axis.getAsObject(); !names.contains(*object.getString("name")))
        mesh.insert(object.getString("kind") == "time" ? mesh.begin() : mesh.end(), std::move(axis));
    fields["mesh"] = std::move(mesh);
  }
  for (auto &[name, value] : fields)
    merged[name] = std::move(value);
  fields = std::move(merged);
  return success();
}

FailureOr<plan::Plan> PlanFile::plan() {
  if (failed(read()) || failed(requestMesh()))
    return failure();
  requestScalars();
  SmallVector<std::string> given;
  for (const auto &[name, value] : fields)
    given.push_back(name.str());
  bool whole = fields.get("mesh") && fields.get("batch_axes") && fields.get("ops");
  if (!request.pins.empty())
    for (StringRef name : {"ops", "states"})
      if (fields.get(name))
        return wrong("--pin=" + request.pins.front() + " and the \"" + name +
                     "\" of the plan both give layouts: give one of them");
  if (!whole && failed(complete()))
    return failure();
  FailureOr<plan::Plan> plan = parse(json::Value(json::Object(fields)));
  if (failed(plan))
    return failure();
  if (options.moeDispatch != "auto")
    for (plan::OpPlan &op : plan->ops)
      if (op.op == graph::ExpertsOp::getOperationName()) {
        op.dispatch = options.moeDispatch == "alltoall";
        // Gathered rows have no bound.
        if (!*op.dispatch)
          op.capacity.reset();
      }
  if (options.moeCapacity >= 1)
    for (plan::OpPlan &op : plan->ops)
      if (op.op == graph::ExpertsOp::getOperationName()) {
        op.dispatch = true;
        op.capacity = options.moeCapacity;
      }
  // The plan is written again, and a field of the file that is missing then was misspelt.
  llvm::Expected<json::Value> understood = json::parse(plan->toJson());
  assert(understood && "plans are written as JSON");
  for (const std::string &name : given)
    if (!understood->getAsObject()->get(name))
      return wrong("a plan has no field \"" + name + "\"");
  return plan;
}
} // namespace

FailureOr<plan::Plan> dtcc::readPlanFile(ModuleOp module, const Options &options, const PlanRequest &request) {
  return PlanFile(module, options, request).plan();
}
