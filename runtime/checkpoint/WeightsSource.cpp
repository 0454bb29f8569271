//===- WeightsSource.cpp - The tensors of --weights ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/WeightsSource.h"

#include "runtime/abi/WeightFiles.h"
#include "runtime/core/Error.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;

namespace dtcc::rt {

WeightsSource::WeightsSource(const std::string &path) : name(path) {
  WeightFiles found = findWeightFiles(path);
  if (!found.problem.empty())
    fail(found.problem);
  if (!found.index.empty()) {
    readIndex(found.index);
    return;
  }
  files.emplace_back(found.file);
  for (const auto &[tensor, entry] : files[0].entries())
    table.emplace(tensor, SourceTensor{&files[0], &entry});
}

void WeightsSource::readIndex(const std::string &index) {
  std::map<std::string, std::string> shardOf; /* by tensor */
  {
    MappedFile file(index);
    const char *text = reinterpret_cast<const char *>(file.bytes().data());
    auto json = nlohmann::json::parse(text, text + file.bytes().size(), nullptr, /*allow_exceptions=*/false);
    auto map = json.is_object() ? json.find("weight_map") : json.end();
    if (!json.is_object() || map == json.end() || !map->is_object())
      fail(index, " is no index of shards: it must be a JSON object with a 'weight_map'");
    for (const auto &[tensor, shard] : map->items()) {
      if (!shard.is_string() || shard.get<std::string>().find('/') != std::string::npos)
        fail(index, ": the shard of '", tensor, "' must be the name of a file beside it, got: ", shard.dump());
      shardOf.emplace(tensor, shard.get<std::string>());
    }
  }
  std::map<std::string, size_t> numbers;
  for (const auto &[tensor, shard] : shardOf)
    numbers.emplace(shard, 0);
  // Pointers into the files are kept: they must not move.
  files.reserve(numbers.size());
  for (auto &[shard, number] : numbers) {
    fs::path path = fs::path(index).parent_path() / shard;
    std::error_code error;
    if (!fs::exists(path, error))
      fail(index, " names the shard ", shard, ", which is missing: the download may not be complete");
    number = files.size();
    files.emplace_back(path.string());
  }
  for (const auto &[tensor, shard] : shardOf) {
    const SafetensorsFile &file = files[numbers[shard]];
    const SafetensorsEntry *entry = file.find(tensor);
    if (!entry)
      fail(index, " says that ", shard, " holds the tensor '", tensor, "', which it does not");
    table.emplace(tensor, SourceTensor{&file, entry});
  }
}

const SourceTensor &WeightsSource::find(const std::string &tensor) const {
  auto found = table.find(tensor);
  if (found == table.end())
    fail(name, ": tensor '", tensor, "' is missing");
  return found->second;
}

std::string WeightsSource::folder() const {
  std::error_code error;
  return fs::is_directory(name, error) ? name : "";
}

} // namespace dtcc::rt
