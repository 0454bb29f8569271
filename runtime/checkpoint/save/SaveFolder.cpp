//===- SaveFolder.cpp - A folder as Hugging Face's tools read it -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shards are written under temporary names; when all are whole they are renamed, the index
// last. A folder that held a model keeps it until then.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SharedOutput.h"
#include "runtime/checkpoint/WholeFile.h"
#include "runtime/checkpoint/save/AdapterTensors.h"
#include "runtime/checkpoint/save/Save.h"
#include "runtime/core/Error.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

constexpr const char *indexName = "model.safetensors.index.json", *wholeName = "model.safetensors";

/// All that the user's module has, under the checkpoint's names where there is one: the copy of config.json goes with
/// these.
std::vector<SavedTensor> tensorsOf(const ModelWeights &weights, SaveType type) {
  std::vector<SavedTensor> all;
  const auto &model = weights.table().tensors();
  for (size_t i = 0; i < model.size(); ++i) {
    std::optional<SavedTensor> tensor = savedTensor(weights, i, weights.nameInCheckpoint(model[i].name), type);
    if (!tensor)
      continue;
    all.push_back(*tensor);
    for (const std::string &alias : model[i].aliases) {
      tensor->name = weights.nameInCheckpoint(alias);
      all.push_back(*tensor);
    }
  }
  // Without the model's module nothing says whether its file lists all tensors. The exporter may have left out the
  // others of the checkpoint, so they are saved too.
  if (const WeightsSource *source = weights.checkpoint(); source && !weights.table().isComplete())
    for (const std::string &name : weights.surplus())
      all.push_back(savedTensor(name, source->find(name)));
  return all;
}

std::vector<std::vector<SavedTensor>> shardsOf(std::vector<SavedTensor> tensors, uint64_t most) {
  std::vector<std::vector<SavedTensor>> shards(1);
  uint64_t bytes = 0;
  for (SavedTensor &tensor : tensors) {
    if (!shards.back().empty() && bytes + tensor.bytes > most) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += tensor.bytes;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

std::string shardName(size_t number, size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number + 1, count);
  return count == 1 ? wholeName : name;
}

/// config.json, the tokenizer's files and their like: small text that lies beside weights.
void copySmallFiles(const fs::path &from, const fs::path &to) {
  constexpr uintmax_t most = 64 << 20;
  const std::set<std::string> kinds = {".json", ".txt", ".model", ".jinja"};
  std::error_code error;
  for (fs::directory_iterator entry(from, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!entry->is_regular_file(error) || !kinds.count(entry->path().extension().string()) ||
        name.find(".index.json") != std::string::npos || entry->file_size(error) > most)
      continue;
    fs::copy_file(entry->path(), to / name, fs::copy_options::overwrite_existing, error);
    if (error)
      failWith(Status::Write, "cannot write ", (to / name).string(), ": ", error.message());
  }
}

/// Shards of a model that lay here before and that nothing names any more.
void removeFormer(const fs::path &folder, const std::set<std::string> &kept) {
  std::error_code error;
  std::vector<fs::path> former;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    size_t number = 0, count = 0;
    int length = 0;
    bool shard = std::sscanf(name.c_str(), "model-%5zu-of-%5zu.safetensors%n", &number, &count, &length) == 2 &&
                 static_cast<size_t>(length) == name.size();
    if ((shard || name == wholeName || name == indexName) && !kept.count(name))
      former.push_back(entry->path());
  }
  for (const fs::path &path : former)
    fs::remove(path, error);
}

} // namespace

void saveFolder(const SaveOptions &options, const Rank &rank, const ModelWeights &weights) {
  fs::path folder(options.path);
  const SavedForm *form = adapterForm(options, weights);
  // Adapters alone lie in one file of their own name, which may stand beside a model.
  bool alone = form && !options.merged;
  std::vector<std::vector<SavedTensor>> shards =
      shardsOf(form ? tensorsOfForm(*form, weights, options.type) : tensorsOf(weights, options.type),
               alone ? UINT64_MAX : options.shardBytes);
  auto nameOf = [&](size_t i) { return alone ? "adapter_model.safetensors" : shardName(i, shards.size()); };
  if (rank.abi.rank == 0) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      failWith(Status::Write, "cannot create ", folder.string(), ": ", error.message());
  }
  waitForAll(rank);
  for (size_t i = 0; i < shards.size(); ++i)
    writeSafetensors((folder / nameOf(i)).string(), shards[i], rank, /*rename=*/false);
  if (rank.abi.rank != 0)
    return;
  std::set<std::string> kept;
  nlohmann::ordered_json index;
  uint64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string name = nameOf(i), path = (folder / name).string();
    renameDurably(path + ".tmp", path);
    kept.insert(name);
    for (const SavedTensor &tensor : shards[i]) {
      total += tensor.bytes;
      index["weight_map"][tensor.name] = name;
    }
  }
  if (shards.size() > 1) {
    index["metadata"]["total_size"] = total;
    writeWhole((folder / indexName).string(), index.dump(2) + "\n");
    kept.insert(indexName);
  }
  if (const WeightsSource *source = weights.checkpoint(); source && !source->folder().empty() && !alone)
    copySmallFiles(source->folder(), folder);
  if (form)
    for (const auto &[name, text] : form->files)
      writeWhole((folder / name).string(), text + "\n");
  if (!alone)
    removeFormer(folder, kept);
}

} // namespace dtcc::rt
