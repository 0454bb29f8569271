//===- Manifest.cpp - The manifest of a checkpoint ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Manifest.h"

#include "runtime/checkpoint/ParseJson.h"
#include "runtime/core/ContentHash.h"
#include "runtime/core/Elements.h"
#include "runtime/core/Error.h"
#include "runtime/core/MappedFile.h"
#include "runtime/image/StateValues.h"

#include <algorithm>
#include <charconv>

using Json = nlohmann::ordered_json;

namespace dtcc::rt {
namespace {

constexpr int formatVersion = 2;
constexpr int64_t mostElements = int64_t(1) << 56;
/// A position from which a run can go on for as long without an overflow.
constexpr int64_t mostSamples = int64_t(1) << 56;

Json axesJson(const dtcc_axes &axes) {
  Json list = Json::array();
  for (int i = 0; i < axes.count; ++i)
    list.push_back(axes.ids[i]);
  return list;
}

Json linesJson(const std::string &text) {
  Json list = Json::array();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    list.push_back(text.substr(at, end - at));
    at = end + 1;
  }
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
  int64_t integer(const Json &object, const char *name, int64_t least = 0, int64_t most = INT64_MAX) const {
    const Json &value = field(object, name);
    bool fits = value.is_number_integer() &&
                (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(most));
    if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
      bad(std::string("the field '") + name + "' must be an integer of at least " + std::to_string(least) +
          (most < INT64_MAX ? " and at most " + std::to_string(most) : "") + ", got: " + shortText(value));
    return value.get<int64_t>();
  }
  std::string string(const Json &object, const char *name) const {
    const Json &value = field(object, name);
    if (!value.is_string())
      bad(std::string("the field '") + name + "' must be a string, got: " + shortText(value));
    return value.get<std::string>();
  }
  uint64_t hash(const Json &object, const char *name) const {
    std::string text = string(object, name);
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + text.size())
      bad(std::string("the field '") + name + "' must be a checksum of 16 digits, got: " + text.substr(0, 100));
    return value;
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
    // Each size is bounded, too: one beside a size of 0 would pass the bound of the product.
    dtcc_dim row{reader.integer(dim, "size"), reader.integer(dim, "padded", 0, mostElements),
                 reader.axes(dim, "axes", mesh)};
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
    state.layout.bucketLength = reader.integer(bucket, "length", 0, mostElements);
    state.layout.bucketOffset = reader.integer(bucket, "offset", 0, mostElements);
    if (state.layout.bucketLength % mesh.extent(state.layout.flat) != 0 ||
        state.layout.bucketOffset > state.layout.bucketLength - block)
      reader.bad("a state must lie inside its bucket, got: " + shortText(bucket));
  }
  return state;
}

/// Finds the digits of a manifest's own checksum, its last field; npos if there are none.
size_t checksumPlace(std::string_view text) {
  constexpr std::string_view field = "\"checksum\": \"";
  size_t at = text.rfind(field);
  return at == std::string_view::npos || text.size() - at < field.size() + hashTextLength ? std::string_view::npos
                                                                                          : at + field.size();
}

SavedFile readFileRow(const Reader &reader, const Json &value, bool summarized) {
  SavedFile file;
  const Json *name = &value;
  if (summarized)
    name = &reader.field(value, "name");
  if (!name->is_string() || name->get<std::string>().find('/') != std::string::npos)
    reader.bad("a file must be a name in the checkpoint's folder, got: " + shortText(*name));
  file.name = name->get<std::string>();
  if (summarized)
    file.summary = {static_cast<uint64_t>(reader.integer(value, "bytes")), reader.hash(value, "header")};
  return file;
}

RunIdentity readIdentity(const Reader &reader, const Json &json) {
  RunIdentity identity;
  if (json.contains("optimizer"))
    identity.optimizer = reader.string(json, "optimizer");
  if (json.contains("settings"))
    for (const auto &[name, value] : reader.field(json, "settings").items())
      identity.settings[name] = reader.string(json["settings"], name.c_str());
  for (const Json &row : reader.field(json, "data"))
    identity.data.push_back({reader.string(row, "input"), reader.string(row, "file"),
                             static_cast<uint64_t>(reader.integer(row, "bytes")), reader.string(row, "hash")});
  return identity;
}

} // namespace

std::string manifestText(const Image &image, const RunPosition &position, const RunIdentity &identity,
                         const std::vector<SavedFile> &files) {
  Json json;
  json["format"] = "dtcc-checkpoint";
  json["version"] = formatVersion;
  json["model"] = std::string(image.string(image.header().model));
  json["step"] = position.step;
  json["examples"] = position.samples;
  json["seed"] = position.seed;
  if (position.shuffle)
    json["shuffle"] = *position.shuffle;
  if (position.best)
    json["best_loss"] = *position.best;
  if (position.epochShift != 0)
    json["epoch_shift"] = position.epochShift;
  if (position.skipped > 0)
    json["skipped"] = position.skipped;
  if (!position.gradNorms.empty())
    json["grad_norms"] = position.gradNorms;
  if (!position.choices.empty())
    json["choices"] = linesJson(position.choices);
  for (const dtcc_axis &axis : image.axes())
    json["mesh"].push_back({{"name", std::string(image.string(axis.name))},
                            {"size", axis.size},
                            {"kind", axis.kind == DTCC_AXIS_TIME ? "time" : "rank"}});
  if (!identity.optimizer.empty())
    json["optimizer"] = identity.optimizer;
  if (!identity.settings.empty())
    json["settings"] = identity.settings;
  json["data"] = Json::array();
  for (const DataIdentity &each : identity.data)
    json["data"].push_back({{"input", each.input}, {"file", each.name}, {"bytes", each.bytes}, {"hash", each.hash}});
  if (!image.string(image.header().plan).empty())
    json["plan"] = std::string(image.string(image.header().plan));
  json["files"] = Json::array();
  for (const SavedFile &file : files)
    json["files"].push_back(
        {{"name", file.name}, {"bytes", file.summary->bytes}, {"header", hashText(file.summary->headerHash)}});
  if (image.header().stage_axis != DTCC_NONE)
    json["stage_axis"] = image.header().stage_axis;
  for (const dtcc_state &state : image.states()) {
    if (image.isCopy(state))
      continue;
    Json row;
    row["dtype"] = dtypeName(valueTypeOf(state));
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
  json["checksum"] = hashText(0);
  return sealManifest(json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string sealManifest(std::string text) {
  size_t at = checksumPlace(text);
  if (at == std::string::npos)
    return text;
  text.replace(at, hashTextLength, hashText(0));
  return text.replace(at, hashTextLength, hashText(contentHash(text)));
}

Manifest readManifest(const std::string &path) {
  MappedFile file(path);
  return parseManifest({reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()}, path);
}

/// Reads the fields that say where a run stands.
static RunPosition readPosition(const Reader &reader, const Json &json) {
  RunPosition position;
  position.step = reader.integer(json, "step", 0, mostSamples);
  position.samples = reader.integer(json, "examples", 0, mostSamples);
  if (json.contains("epoch_shift"))
    position.epochShift = reader.integer(json, "epoch_shift", -mostSamples, position.step);
  if (json.contains("skipped"))
    position.skipped = reader.integer(json, "skipped", 0, position.step);
  if (json.contains("grad_norms"))
    for (const Json &norm : json["grad_norms"]) {
      if (!norm.is_number())
        reader.bad("the field 'grad_norms' must hold numbers, got: " + shortText(norm));
      position.gradNorms.push_back(norm.get<float>());
    }
  if (json.contains("choices"))
    for (const Json &line : json["choices"]) {
      if (!line.is_string())
        reader.bad("the field 'choices' must hold lines of text, got: " + shortText(line));
      position.choices += line.get<std::string>() + '\n';
    }
  const Json &seed = reader.field(json, "seed");
  if (!seed.is_number_unsigned())
    reader.bad("the field 'seed' must be an unsigned integer, got: " + shortText(seed));
  position.seed = seed.get<uint64_t>();
  if (json.contains("shuffle") && json["shuffle"].is_number_unsigned())
    position.shuffle = json["shuffle"].get<uint64_t>();
  if (json.contains("best_loss") && json["best_loss"].is_number())
    position.best = json["best_loss"].get<double>();
  return position;
}

static void readMesh(const Reader &reader, const Json &axes, Mesh &mesh) {
  int64_t cells = 1;
  for (const Json &axis : axes) {
    int64_t size = reader.integer(axis, "size", 1);
    if (size > (int64_t(1) << 31) / cells || mesh.axes.size() >= 250)
      reader.bad("the mesh is too large");
    cells *= size;
    mesh.axes.push_back({size, reader.string(axis, "kind") == "time"});
  }
}

/// Reads the number of the mesh axis whose coordinate is a rank's stage; -1 if there is none.
static int readStageAxis(const Reader &reader, const Json &json, const Mesh &mesh) {
  if (!json.contains("stage_axis"))
    return -1;
  int64_t axis = reader.integer(json, "stage_axis");
  if (axis >= static_cast<int64_t>(mesh.axes.size()) || mesh.axes[static_cast<size_t>(axis)].time)
    reader.bad("the field 'stage_axis' must name a rank axis of the mesh, got: " + std::to_string(axis));
  return static_cast<int>(axis);
}

Manifest parseManifest(std::string_view text, const std::string &path) {
  Reader reader(path);
  if (isNestedTooDeep(text))
    reader.bad("values must lie at most 64 deep");
  Json json = parseJson<Json>(text);
  if (!json.is_object() || reader.string(json, "format") != "dtcc-checkpoint")
    reader.bad("not the manifest of a checkpoint");
  const int64_t version = reader.integer(json, "version");
  if (version < 1 || version > formatVersion)
    reader.bad("the format's version must be 1 to " + std::to_string(formatVersion) +
               ", got: " + shortText(json["version"]));
  const bool summarized = version > 1; // version 1 has no checksums
  if (summarized && (checksumPlace(text) == std::string::npos || sealManifest(std::string(text)) != text))
    reader.bad("the manifest is not as it was written");
  Manifest manifest;
  manifest.model = reader.string(json, "model");
  if (summarized)
    manifest.identity = readIdentity(reader, json);
  manifest.position = readPosition(reader, json);
  if (json.contains("mesh"))
    readMesh(reader, json["mesh"], manifest.mesh);
  for (const Json &file : reader.field(json, "files"))
    manifest.files.push_back(readFileRow(reader, file, summarized));
  if (static_cast<int64_t>(manifest.files.size()) != manifest.mesh.ranks())
    reader.bad("a file for each of " + std::to_string(manifest.mesh.ranks()) +
               " ranks is needed, got: " + std::to_string(manifest.files.size()));
  const int stageAxis = readStageAxis(reader, json, manifest.mesh);
  if (json.contains("states"))
    for (const auto &[name, value] : json["states"].items())
      manifest.states.emplace(name, readState(reader, value, manifest.mesh, stageAxis));
  return manifest;
}

} // namespace dtcc::rt
