//===- WeightHeaders.cpp - What a checkpoint holds -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/WeightHeaders.h"
#include "runtime/abi/WeightFiles.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <optional>

using namespace llvm;
using namespace dtcc;

/// Largest header, in bytes: the limit of the format.
static constexpr uint64_t kLongestHeader = 100'000'000;

static Error bad(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// The header of a safetensors file as JSON, and how many bytes of data follow it.
static Expected<std::pair<json::Object, uint64_t>> readHeader(StringRef path) {
  auto invalid = [&](const Twine &why) { return bad(path + " is not a valid safetensors file: " + why); };
  uint64_t size = 0;
  if (std::error_code code = sys::fs::file_size(path, size))
    return bad("cannot read " + path + ": " + code.message());
  auto start = MemoryBuffer::getFileSlice(path, std::min<uint64_t>(size, 8), 0);
  if (!start)
    return bad("cannot read " + path + ": " + start.getError().message());
  if (size < 8)
    return invalid("it has " + Twine(size) + " bytes, needs at least 8");
  uint64_t length = support::endian::read64le((*start)->getBufferStart());
  if (length > kLongestHeader || length > size - 8)
    return invalid("its header of " + Twine(length) + " bytes does not fit the file of " + Twine(size));
  auto text = MemoryBuffer::getFileSlice(path, length, 8);
  if (!text)
    return bad("cannot read " + path + ": " + text.getError().message());
  Expected<json::Value> parsed = json::parse((*text)->getBuffer());
  if (!parsed) {
    consumeError(parsed.takeError());
    return invalid("its header is not JSON");
  }
  json::Object *header = parsed->getAsObject();
  if (!header)
    return invalid("its header is not a JSON object");
  return std::pair(std::move(*header), size - 8 - length);
}

static Error addTensors(StringRef path, std::map<std::string, HeldTensor> &tensors) {
  auto header = readHeader(path);
  if (!header)
    return header.takeError();
  for (const auto &[key, value] : header->first) {
    if (key == "__metadata__")
      continue;
    StringRef name = key;
    auto invalid = [&, name](const Twine &why) {
      return bad(path + " is not a valid safetensors file: tensor '" + name + "' " + why);
    };
    const json::Object *entry = value.getAsObject();
    std::optional<StringRef> type = entry ? entry->getString("dtype") : std::nullopt;
    const json::Array *shape = entry ? entry->getArray("shape") : nullptr;
    const json::Array *offsets = entry ? entry->getArray("data_offsets") : nullptr;
    if (!type || !shape || !offsets || offsets->size() != 2)
      return invalid("lacks a dtype, a shape or two data_offsets");
    HeldTensor tensor{type->str(), {}};
    for (const json::Value &size : *shape) {
      std::optional<int64_t> number = size.getAsInteger();
      if (!number || *number < 0)
        return invalid("has an impossible shape");
      tensor.shape.push_back(*number);
    }
    std::optional<int64_t> begin = (*offsets)[0].getAsInteger(), end = (*offsets)[1].getAsInteger();
    if (!begin || !end || *begin < 0 || *end < *begin || uint64_t(*end) > header->second)
      return invalid("lies beyond the file's " + Twine(header->second) + " bytes of data (a truncated file?)");
    tensors[name.str()] = std::move(tensor);
  }
  return Error::success();
}

/// Adds the tensors of all shards that the index names.
static Error addShards(StringRef index, std::map<std::string, HeldTensor> &tensors) {
  auto buffer = MemoryBuffer::getFile(index);
  if (!buffer)
    return bad("cannot read " + index + ": " + buffer.getError().message());
  Expected<json::Value> parsed = json::parse((*buffer)->getBuffer());
  const json::Object *root = parsed ? parsed->getAsObject() : nullptr;
  const json::Object *map = root ? root->getObject("weight_map") : nullptr;
  if (!parsed)
    consumeError(parsed.takeError());
  if (!map)
    return bad(index + " is no index of shards: it must be a JSON object with a 'weight_map'");
  std::map<std::string, std::map<std::string, HeldTensor>> shards;
  for (const auto &[name, value] : *map) {
    std::optional<StringRef> shard = value.getAsString();
    if (!shard || shard->contains('/'))
      return bad(index + ": the shard of '" + StringRef(name) + "' must be the name of a file beside it");
    auto [held, isNew] = shards.try_emplace(shard->str());
    if (isNew) {
      SmallString<256> path(sys::path::parent_path(index));
      sys::path::append(path, *shard);
      if (!sys::fs::exists(path))
        return bad(index + " names the shard " + *shard + ", which is missing: the download may not be complete");
      if (Error error = addTensors(path, held->second))
        return error;
    }
    auto tensor = held->second.find(StringRef(name).str());
    if (tensor == held->second.end())
      return bad(index + " says that " + *shard + " holds the tensor '" + StringRef(name) + "', which it does not");
    tensors.insert(*tensor);
  }
  return Error::success();
}

Expected<std::map<std::string, HeldTensor>> dtcc::readWeightHeaders(StringRef path) {
  WeightFiles files = findWeightFiles(path.str());
  if (!files.problem.empty())
    return bad(files.problem);
  std::map<std::string, HeldTensor> tensors;
  Error error = files.index.empty() ? addTensors(files.file, tensors) : addShards(files.index, tensors);
  if (error)
    return std::move(error);
  return tensors;
}
