//===- SaveOnnx.cpp - The trained model as an ONNX file ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/save/SaveOnnx.h"

#include "runtime/checkpoint/SharedOutput.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace dtcc::rt {
namespace {

/// The largest protobuf message, with room for the graph.
constexpr uint64_t mostInside = (uint64_t(1) << 31) - (uint64_t(64) << 20);
/// Alignment of each tensor in the file of external data, so that readers may map it.
constexpr uint64_t alignment = 64;

// Fields of ONNX's messages, as protobuf tags them: number << 3 | kind (0: integer, 2: bytes).
enum Tag : uint64_t {
  ModelGraph = 7 << 3 | 2,
  GraphInitializer = 5 << 3 | 2,
  TensorDims = 1 << 3,
  TensorType = 2 << 3,
  TensorName = 8 << 3 | 2,
  TensorRawData = 9 << 3 | 2,
  TensorExternalData = 13 << 3 | 2,
  TensorLocation = 14 << 3,
  EntryKey = 1 << 3 | 2,
  EntryValue = 2 << 3 | 2,
};

void addNumber(std::string &to, uint64_t value) {
  for (; value >= 128; value >>= 7)
    to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}
void addField(std::string &to, Tag tag, uint64_t value) {
  addNumber(to, tag);
  addNumber(to, value);
}
void addField(std::string &to, Tag tag, const std::string &bytes) {
  addField(to, tag, bytes.size());
  to += bytes;
}

/// ONNX's number of an element type.
uint64_t onnxType(const std::string &type) {
  static const std::map<std::string, uint64_t> numbers = {{"F32", 1},  {"U8", 2},   {"I8", 3},   {"U16", 4},
                                                          {"I16", 5},  {"I32", 6},  {"I64", 7},  {"BOOL", 9},
                                                          {"F16", 10}, {"F64", 11}, {"U32", 12}, {"BF16", 16}};
  auto found = numbers.find(type);
  if (found == numbers.end())
    fail("an ONNX file has no element type ", type);
  return found->second;
}

nlohmann::json tableOf(const Image &image) {
  auto json = nlohmann::json::parse(image.string(image.header().tensors), nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

std::string text(const nlohmann::json &row, const char *key) {
  auto found = row.is_object() ? row.find(key) : row.end();
  return row.is_object() && found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The initializers that the file lacks.
std::vector<SavedTensor> initializersOf(const Image &image, const ModelWeights &weights) {
  std::map<std::string, size_t> indices;
  const auto &model = weights.table().tensors();
  for (size_t i = 0; i < model.size(); ++i)
    indices.emplace(model[i].name, i);
  std::vector<SavedTensor> all;
  for (const auto &row : tableOf(image).value("onnx", nlohmann::json::array())) {
    std::string name = text(row, "name");
    auto found = indices.find(text(row, "tensor"));
    std::optional<SavedTensor> tensor;
    if (found != indices.end())
      tensor = savedInOwnType(weights, found->second, name);
    if (!tensor)
      fail("cannot save the model as ONNX: the value of '", name, "' is not known to this program");
    if (tensor->shape.size() == 2 && row.value("transposed", false)) {
      std::swap(tensor->shape[0], tensor->shape[1]);
      tensor->transposed = true;
    }
    all.push_back(std::move(*tensor));
  }
  return all;
}

/// TensorProto up to its data, which lies in it, or beside it at `offset` of a file.
std::string headOf(const SavedTensor &tensor, const std::string &beside, uint64_t offset) {
  std::string head;
  for (int64_t size : tensor.shape)
    addField(head, TensorDims, static_cast<uint64_t>(size));
  addField(head, TensorType, onnxType(tensor.type));
  addField(head, TensorName, tensor.name);
  if (beside.empty()) {
    addField(head, TensorRawData, tensor.bytes);
    return head;
  }
  for (const auto &[key, value] : {std::pair<std::string, std::string>("location", beside),
                                   {"offset", std::to_string(offset)},
                                   {"length", std::to_string(tensor.bytes)}}) {
    std::string entry;
    addField(entry, EntryKey, key);
    addField(entry, EntryValue, value);
    addField(head, TensorExternalData, entry);
  }
  addField(head, TensorLocation, 1);
  return head;
}

} // namespace

void checkOnnx(const SaveOptions &options, const Image &image) {
  if (image.onnxModel().empty()) {
    std::string why = text(tableOf(image), "onnx_problem");
    fail("--save=", options.path, ": ", why.empty() ? "the program was not compiled from an ONNX file" : why,
         "; save a .safetensors file or a folder instead");
  }
  if (options.type != SaveType::Model)
    fail("--save=", options.path, " has the types of the ONNX file that was compiled: leave --save-type out");
}

void saveOnnx(const SaveOptions &options, const Rank &rank, const ModelWeights &weights) {
  std::string_view parts = rank.image.onnxModel();
  uint64_t first = 0;
  std::memcpy(&first, parts.data(), sizeof first);
  std::string_view outer = parts.substr(sizeof first, first), graph = parts.substr(sizeof first + first);
  std::vector<SavedTensor> tensors = initializersOf(rank.image, weights);
  uint64_t total = 0;
  std::vector<uint64_t> offsets; /* of data beside the file */
  for (const SavedTensor &tensor : tensors) {
    offsets.push_back(total);
    total += (tensor.bytes + alignment - 1) / alignment * alignment;
  }
  bool beside = total > std::min(mostInside, options.shardBytes);
  std::string dataPath = options.path + ".data", dataName = std::filesystem::path(dataPath).filename().string();

  // The file is `heads` with each tensor's data behind its head.
  std::vector<std::string> heads;
  std::string last;
  uint64_t bytes = graph.size();
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string head = headOf(tensors[i], beside ? dataName : "", offsets[i]), field;
    addField(field, GraphInitializer, head.size() + (beside ? 0 : tensors[i].bytes));
    heads.push_back(field + head);
    bytes += heads.back().size() + (beside ? 0 : tensors[i].bytes);
  }
  std::string start(outer);
  addField(start, ModelGraph, bytes);
  start += graph;
  bytes += start.size() - graph.size();

  if (beside)
    writeTogether(dataPath, "", total, rank, [&](std::byte *to) {
      for (size_t i = 0; i < tensors.size(); ++i)
        writeCells(tensors[i], rank, to + offsets[i]);
    });
  writeTogether(options.path, start, bytes, rank, [&](std::byte *to) {
    to += start.size();
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (rank.abi.rank == 0)
        std::memcpy(to, heads[i].data(), heads[i].size());
      to += heads[i].size();
      if (beside)
        continue;
      writeCells(tensors[i], rank, to);
      to += tensors[i].bytes;
    }
  });
}

} // namespace dtcc::rt
