//===- ModelWeights.cpp - Where the model's tensors start ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ModelWeights.h"

#include "runtime/abi/OwnWeights.h"
#include "runtime/checkpoint/Weights.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace fs = std::filesystem;

namespace dtcc::rt {

ModelWeights::ModelWeights(const Image &image, const std::string &path, bool starts) : model(image) {
  for (size_t i = 0; i < model.tensors().size(); ++i)
    if (model.tensors()[i].state)
      indices.emplace(model.tensors()[i].name, i);
  const std::string &chosen = path.empty() ? model.weights() : path;
  std::error_code error;
  if (!starts && path.empty() && !chosen.empty() && !fs::exists(chosen, error)) {
    lines.push_back(chosen + ": the weights that the program started from are gone; --save cannot copy from them");
  } else if (!chosen.empty()) {
    source.emplace(chosen);
    matchCheckpoint(starts);
  }
  openStored(image, starts);
}

void ModelWeights::matchCheckpoint(bool starts) {
  std::vector<WantedTensor> wanted;
  for (const ModelTensor &tensor : model.tensors()) {
    WantedTensor each;
    each.names.push_back(tensor.name);
    each.names.insert(each.names.end(), tensor.aliases.begin(), tensor.aliases.end());
    each.shape = tensor.shape;
    each.isFloat = tensor.state ? isFloatType(tensor.state->dtype) : tensor.type.find('F') != std::string::npos;
    each.required = tensor.state && tensor.state->role == DTCC_STATE_PARAMETER;
    each.takesIntegers = tensor.state && !each.required;
    wanted.push_back(std::move(each));
  }
  std::map<std::string, HeldTensor> held;
  for (const auto &[name, tensor] : source->tensors())
    held.emplace(name, HeldTensor{tensor.entry->dtype, tensor.entry->shape});
  match = matchWeights(wanted, held);
  for (const std::string &quoted : match.surplus)
    rest.push_back(quoted.substr(1, quoted.size() - 2));
  if (!starts)
    return;
  if (std::string problems = problemsOf(match, model.missingAllowed()); !problems.empty())
    fail(source->path(), " does not hold the model: ", problems);
  checkTies();
  for (const std::string &line : notesOf(match))
    lines.push_back(source->path() + ": " + line);
}

/// A checkpoint may hold one tensor under each of its names. One whose names hold different tensors is another model's;
/// the ends of large ones tell.
void ModelWeights::checkTies() const {
  constexpr uint64_t looked = 1 << 16;
  for (size_t i = 0; i < model.tensors().size(); ++i) {
    if (match.names[i].empty())
      continue;
    const auto &[file, entry] = source->find(match.names[i]);
    for (const std::string &alias : model.tensors()[i].aliases) {
      auto other = source->tensors().find(nameInCheckpoint(alias));
      if (other == source->tensors().end() || other->second.entry == entry)
        continue;
      const auto &[otherFile, otherEntry] = other->second;
      uint64_t bytes = std::min(looked, entry->bytes);
      const std::byte *a = file->data(*entry), *b = otherFile->data(*otherEntry);
      if (otherEntry->dtype != entry->dtype || otherEntry->bytes != entry->bytes || std::memcmp(a, b, bytes) != 0 ||
          std::memcmp(a + entry->bytes - bytes, b + entry->bytes - bytes, bytes) != 0)
        fail(source->path(), " does not hold the model: '", match.names[i], "' and '", other->first,
             "' are one parameter of the model, and differ");
    }
  }
}

std::string ModelWeights::nameInCheckpoint(const std::string &name) const {
  return !source || source->tensors().count(name) ? name : match.spelled(name);
}

/// Opens what the compiler stored, if something that no checkpoint has is in it.
void ModelWeights::openStored(const Image &image, bool starts) {
  bool needed = false, wanted = false;
  for (size_t i = 0; i < model.tensors().size(); ++i) {
    const ModelTensor &tensor = model.tensors()[i];
    if (matched(i))
      continue;
    needed |= starts && tensor.state && tensor.state->init == DTCC_INIT_FILE;
    wanted |= tensor.stored || (tensor.state && isFrozenHalf(*tensor.state));
  }
  for (const dtcc_state &state : image.states())
    needed |= starts && state.role == DTCC_STATE_SLOT && state.init == DTCC_INIT_FILE;
  if (!needed && !wanted)
    return;
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  std::string name(image.string(image.header().weights));
  fs::path named = program.parent_path() / name, usual = program.string() + ".weights";
  if (name == kOwnWeights) {
    // The running program is asked for, whatever file bears its name by now.
    MappedFile file("/proc/self/exe", program.string());
    std::string_view bytes(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
    std::optional<std::string_view> own = findOwnWeights(bytes);
    uint64_t begin = own ? static_cast<uint64_t>(own->data() - bytes.data()) : 0;
    if (own)
      stored.emplace(std::move(file), begin, begin + own->size());
    else if (needed)
      fail("the initial weights are missing: ", program.string(),
           " was compiled with them inside, and does not end with them (cut short by a copy, or stripped?); copy or "
           "compile it again, or let --weights name a file or folder");
  } else if (!name.empty() && fs::exists(named, error))
    stored.emplace(named.string());
  else if (fs::exists(usual, error))
    stored.emplace(usual.string());
  else if (needed)
    fail("the initial weights are missing: ", name.empty() ? usual.string() : named.string(),
         " must stand beside the program, or --weights name a file or folder");
}

const SourceTensor *ModelWeights::matched(size_t i) const {
  if (!source || match.names[i].empty())
    return nullptr;
  return &source->find(match.names[i]);
}

std::optional<SourceTensor> ModelWeights::valueOf(size_t i) const {
  if (const SourceTensor *tensor = matched(i))
    return *tensor;
  if (stored)
    if (const SafetensorsEntry *entry = stored->find(model.tensors()[i].name))
      return SourceTensor{&*stored, entry};
  return std::nullopt;
}

bool ModelWeights::load(const Rank &rank, const dtcc_state &state) const {
  std::string name(rank.image.string(state.name));
  // Slots of the optimizer are in no checkpoint of a model; a training graph may give them values of its own.
  auto found = state.role == DTCC_STATE_SLOT ? indices.end() : indices.find(name);
  if (found != indices.end())
    if (const SourceTensor *tensor = matched(found->second)) {
      loadWholeTensor(*tensor->file, match.names[found->second], rank, state);
      return true;
    }
  if (state.init != DTCC_INIT_FILE)
    return false;
  if (!stored)
    fail("state '", name, "' starts from a file, and none is given");
  loadWholeTensor(*stored, name, rank, state);
  return true;
}

} // namespace dtcc::rt
