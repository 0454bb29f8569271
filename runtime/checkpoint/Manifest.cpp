//===- Manifest.cpp - The manifest of a checkpoint ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Manifest.h"

#include "runtime/checkpoint/ParseJson.h"
#include "runtime/core/Elements.h"
#include "runtime/core/Error.h"
#include "runtime/core/MappedFile.h"

#include <algorithm>

using Json = nlohmann::ordered_json;

namespace dtcc::rt {
namespace {

constexpr int formatVersion = 1;
constexpr int64_t mostElements = int64_t(1) << 56;

Json axesJson(const dtcc_axes &axes) {
  Json list = Json::array();
  for (int i = 0; i < axes.count; ++i)
    list.push_back(axes.ids[i]);
  return list;
}

/// Reads with one message for whatever is missing or of the wrong type.
class Reader {
public:
  explicit Reader(const std::string &path) : path(path) {}

  [[noreturn]] void bad(const std::string &what) const { fail(path, ": ", what); }
  const Json &field(const Json &object, const char *name) const {
    auto found = object.is_object() ? object.find(name) : object.end();
    if (found == object.end())
      bad(std::string("the field '") + name + "' is missing");
    return *found;
  }
  int64_t integer(const Json &object, const char *name, int64_t least = 0) const {
    const Json &value = field(object, name);
    if (!value.is_number_integer() || value.get<int64_t>() < least)
      bad(std::string("the field '") + name + "' must be an integer of at least " + std::to_string(least) +
          ", got: " + shortText(value));
    return value.get<int64_t>();
  }
  std::string string(const Json &object, const char *name) const {
    const Json &value = field(object, name);
    if (!value.is_string())
      bad(std::string("the field '") + name + "' must be a string, got: " + shortText(value));
    return value.get<std::string>();
  }
  dtcc_axes axes(const Json &object, const char *name, const Mesh &mesh) const {
    const Json &list = field(object, name);
    dtcc_axes result{};
    if (!list.is_array() || list.size() > DTCC_MAX_AXES)
      bad(std::string("the field '") + name + "' must be a list of at most 7 axes");
    for (const Json &id : list) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= mesh.axes.size() || mesh.axes[id.get<size_t>()].time)
        bad(std::string("the field '") + name + "' must name rank axes of the mesh, got: " + shortText(id));
      for (int i = 0; i < result.count; ++i)
        if (result.ids[i] == id.get<unsigned>())
          bad(std::string("the field '") + name + "' must name an axis once, got twice: " + shortText(id));
      result.ids[result.count++] = static_cast<uint8_t>(id.get<unsigned>());
    }
    return result;
  }

private:
  const std::string &path;
};

uint32_t dtypeOf(const Reader &reader, const std::string &name) {
  for (uint32_t type = DTCC_F32; type <= DTCC_BOOL; ++type)
    if (name == dtypeName(type))
      return type;
  reader.bad("unknown element type '" + name + "'");
}

SavedState readState(const Reader &reader, const Json &value, const Mesh &mesh, int stageAxis) {
  SavedState state;
  state.layout.stageAxis = stageAxis;
  if (stageAxis >= 0)
    state.layout.stage = reader.integer(value, "stage");
  state.dtype = dtypeOf(reader, reader.string(value, "dtype"));
  const Json &dims = reader.field(value, "dims");
  if (!dims.is_array() || dims.size() > DTCC_MAX_RANK)
    reader.bad("the field 'dims' must be a list of at most 16 dimensions");
  int64_t whole = 1, block = 1;
  for (const Json &dim : dims) {
    dtcc_dim row{reader.integer(dim, "size"), reader.integer(dim, "padded"), reader.axes(dim, "axes", mesh)};
    if (row.padded < row.size || row.padded % mesh.extent(row.axes) != 0)
      reader.bad("a padded size must be at least the size and a multiple of its shards, got: " + shortText(dim));
    if (row.padded > 0 && whole > mostElements / row.padded)
      reader.bad("padded sizes must multiply to at most 2^56, got: " + shortText(dims));
    whole *= row.padded;
    block *= row.padded / mesh.extent(row.axes);
    state.layout.dims.push_back(row);
  }
  if (value.contains("bucket")) {
    const Json &bucket = value["bucket"];
    state.layout.shared = true;
    state.layout.flat = reader.axes(bucket, "flat", mesh);
    state.layout.bucketLength = reader.integer(bucket, "length");
    state.layout.bucketOffset = reader.integer(bucket, "offset");
    if (state.layout.bucketLength % mesh.extent(state.layout.flat) != 0 ||
        state.layout.bucketOffset > state.layout.bucketLength - block)
      reader.bad("a state must lie inside its bucket, got: " + shortText(bucket));
  }
  return state;
}

} // namespace

std::string manifestText(const Image &image, const RunPosition &position, const std::vector<std::string> &files) {
  Json json;
  json["format"] = "dtcc-checkpoint";
  json["version"] = formatVersion;
  json["model"] = std::string(image.string(image.header().model));
  json["step"] = position.step;
  json["examples"] = position.examples;
  json["seed"] = position.seed;
  if (position.shuffle)
    json["shuffle"] = *position.shuffle;
  for (const dtcc_axis &axis : image.axes())
    json["mesh"].push_back({{"name", std::string(image.string(axis.name))},
                            {"size", axis.size},
                            {"kind", axis.kind == DTCC_AXIS_TIME ? "time" : "rank"}});
  json["files"] = files;
  if (image.header().stage_axis != DTCC_NONE)
    json["stage_axis"] = image.header().stage_axis;
  for (const dtcc_state &state : image.states()) {
    if (image.isCopy(state))
      continue;
    Json row;
    row["dtype"] = dtypeName(state.dtype);
    row["dims"] = Json::array();
    for (uint32_t d = 0; d < state.rank; ++d)
      row["dims"].push_back(
          {{"size", state.dims[d].size}, {"padded", state.dims[d].padded}, {"axes", axesJson(state.dims[d].axes)}});
    StateLayout layout = layoutOf(image, state);
    if (layout.shared)
      row["bucket"] = {
          {"flat", axesJson(layout.flat)}, {"length", layout.bucketLength}, {"offset", layout.bucketOffset}};
    if (layout.stageAxis >= 0)
      row["stage"] = layout.stage;
    json["states"][std::string(image.string(state.name))] = row;
  }
  return json.dump(1) + "\n";
}

Manifest readManifest(const std::string &path) {
  MappedFile file(path);
  Reader reader(path);
  std::string_view text(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  if (isNestedTooDeep(text))
    reader.bad("values must lie at most 64 deep");
  Json json = parseJson<Json>(text);
  if (!json.is_object() || reader.string(json, "format") != "dtcc-checkpoint")
    reader.bad("not the manifest of a checkpoint");
  if (reader.integer(json, "version") != formatVersion)
    reader.bad("the format's version must be " + std::to_string(formatVersion) +
               ", got: " + shortText(json["version"]));
  Manifest manifest;
  manifest.position.step = reader.integer(json, "step");
  manifest.position.examples = reader.integer(json, "examples");
  const Json &seed = reader.field(json, "seed");
  if (!seed.is_number_unsigned())
    reader.bad("the field 'seed' must be an unsigned integer, got: " + shortText(seed));
  manifest.position.seed = seed.get<uint64_t>();
  if (json.contains("shuffle") && json["shuffle"].is_number_unsigned())
    manifest.position.shuffle = json["shuffle"].get<uint64_t>();
  int64_t cells = 1;
  if (json.contains("mesh"))
    for (const Json &axis : json["mesh"]) {
      int64_t size = reader.integer(axis, "size", 1);
      if (size > (int64_t(1) << 31) / cells || manifest.mesh.axes.size() >= 250)
        reader.bad("the mesh is too large");
      cells *= size;
      manifest.mesh.axes.push_back({size, reader.string(axis, "kind") == "time"});
    }
  const Json &files = reader.field(json, "files");
  for (const Json &name : files) {
    if (!name.is_string() || name.get<std::string>().find('/') != std::string::npos)
      reader.bad("a file must be a name in the checkpoint's folder, got: " + shortText(name));
    manifest.files.push_back(name.get<std::string>());
  }
  if (static_cast<int64_t>(manifest.files.size()) != manifest.mesh.ranks())
    reader.bad("a file for each of " + std::to_string(manifest.mesh.ranks()) +
               " ranks is needed, got: " + std::to_string(manifest.files.size()));
  int stageAxis = -1;
  if (json.contains("stage_axis")) {
    int64_t axis = reader.integer(json, "stage_axis");
    if (axis >= static_cast<int64_t>(manifest.mesh.axes.size()) || manifest.mesh.axes[static_cast<size_t>(axis)].time)
      reader.bad("the field 'stage_axis' must name a rank axis of the mesh, got: " + std::to_string(axis));
    stageAxis = static_cast<int>(axis);
  }
  if (json.contains("states"))
    for (const auto &[name, value] : json["states"].items())
      manifest.states.emplace(name, readState(reader, value, manifest.mesh, stageAxis));
  return manifest;
}

} // namespace dtcc::rt
