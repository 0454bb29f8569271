//===- HubConfig.cpp - The sizes of a transformer in its config.json
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys and defaults are those of the configuration classes of transformers 5.
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/arguments/HubConfig.h"
#include "dialects/interfaces/ParseJson.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <memory>

using namespace dtcc;
using llvm::StringRef;

namespace {
/// Facts about a family that its configuration does not say.
struct Family {
  StringRef name;
  /// Three matrices in the feed-forward part; the embedding is the head unless tie_word_embeddings says otherwise.
  bool gated, tied;
};
constexpr Family kFamilies[] = {
    {"deepseek_v2", true, false}, {"deepseek_v3", true, false}, {"gemma", true, true},  {"gemma2", true, true},
    {"gemma3_text", true, true},  {"glm4", true, false},        {"gpt2", false, true},  {"gpt_neox", false, false},
    {"gpt_oss", true, false},     {"granite", true, false},     {"llama", true, false}, {"mistral", true, false},
    {"mixtral", true, false},     {"olmo2", true, false},       {"opt", false, true},   {"phi", false, false},
    {"phi3", true, false},        {"qwen2", true, false},       {"qwen3", true, false}, {"qwen3_moe", true, false},
    {"smollm3", true, true},      {"starcoder2", false, true}};

/// A size, and the keys that hold it in one family or another: the first that is there counts.
struct Key {
  double cost::Transformer::*size;
  std::vector<StringRef> names;
  bool needed;
};

/// More positions than this are what a model can take, not what it is trained with.
constexpr double kMostPositions = 8192;

class Reader {
public:
  Reader(StringRef path, const llvm::json::Object &config) : path(path), config(config) {}
  llvm::Expected<cost::Transformer> read();

private:
  llvm::Error readSizes();
  llvm::Error readExperts();
  /// The number under the first of these keys; nothing if none is there, or holds null.
  llvm::Expected<std::optional<double>> find(llvm::ArrayRef<StringRef> names) const;

  StringRef path;
  const llvm::json::Object &config;
  cost::Transformer model;
};
} // namespace

llvm::Expected<std::optional<double>> Reader::find(llvm::ArrayRef<StringRef> names) const {
  for (StringRef name : names) {
    const llvm::json::Value *value = config.get(name);
    if (!value || value->getAsNull())
      continue;
    std::optional<int64_t> number = value->getAsInteger();
    if (!number || *number < 0 || *number > int64_t(1) << 40)
      return llvm::createStringError(path + ": " + name +
                                     " must be a whole number, got: " + llvm::formatv("{0}", *value).str());
    return double(*number);
  }
  return std::nullopt;
}

llvm::Error Reader::readSizes() {
  using cost::Transformer;
  const Key keys[] = {{&Transformer::layers, {"num_hidden_layers", "n_layer"}, true},
                      {&Transformer::hidden, {"hidden_size", "n_embd"}, true},
                      {&Transformer::heads, {"num_attention_heads", "n_head"}, true},
                      {&Transformer::vocabulary, {"vocab_size"}, true},
                      {&Transformer::sequence, {"max_position_embeddings", "n_positions"}, true},
                      {&Transformer::kvHeads, {"num_key_value_heads"}, false},
                      {&Transformer::ffn, {"intermediate_size", "n_inner", "ffn_dim"}, false},
                      // Columns of values; in latent attention head_dim has those of positions alone.
                      {&Transformer::headColumns, {"v_head_dim", "head_dim"}, false},
                      {&Transformer::queryRank, {"q_lora_rank"}, false},
                      {&Transformer::latentRank, {"kv_lora_rank"}, false}};
  for (const Key &key : keys) {
    llvm::Expected<std::optional<double>> size = find(key.names);
    if (!size)
      return size.takeError();
    if (key.needed && (!*size || **size < 1))
      return llvm::createStringError(path + " must have " + llvm::join(key.names, " or "));
    model.*key.size = size->value_or(0);
  }
  if (model.kvHeads == 0)
    model.kvHeads = model.heads;
  if (model.ffn == 0)
    model.ffn = 4 * model.hidden;
  return llvm::Error::success();
}

llvm::Error Reader::readExperts() {
  llvm::Expected<std::optional<double>> experts = find({"num_local_experts", "n_routed_experts", "num_experts"}),
                                        chosen = find({"num_experts_per_tok"}),
                                        columns = find({"moe_intermediate_size"}), shared = find({"n_shared_experts"}),
                                        leading = find({"first_k_dense_replace"}),
                                        every = find({"decoder_sparse_step", "moe_layer_freq"});
  llvm::Error error = llvm::Error::success();
  for (llvm::Expected<std::optional<double>> *each : {&experts, &chosen, &columns, &shared, &leading, &every})
    error = llvm::joinErrors(std::move(error), each->takeError());
  if (error || !*experts)
    return error;
  if (!*chosen || **chosen < 1 || **chosen > **experts)
    return llvm::createStringError(path + ": num_experts_per_tok must be 1 to the " + llvm::Twine(int64_t(**experts)) +
                                   " experts");
  model.experts = **experts;
  model.chosen = **chosen;
  model.expertFfn = columns->value_or(model.ffn);
  model.sharedFfn = shared->value_or(0) * model.expertFfn;
  model.leadingDense = leading->value_or(0);
  model.expertEvery = std::max(1.0, every->value_or(1));
  return llvm::Error::success();
}

llvm::Expected<cost::Transformer> Reader::read() {
  StringRef name = config.getString("model_type").value_or("");
  const Family *family = llvm::find_if(kFamilies, [&](const Family &each) { return each.name == name; });
  if (family == std::end(kFamilies)) {
    std::string names =
        llvm::join(llvm::map_range(kFamilies, [](const Family &each) { return each.name.str(); }), ", ");
    return llvm::createStringError(path + ": model_type must be one of " + names +
                                   ", got: " + (name.empty() ? "none" : name) +
                                   "; layers=N,hidden=N,heads=N,.. gives the sizes of another");
  }
  model.gated = family->gated;
  model.tied = config.getBoolean("tie_word_embeddings").value_or(family->tied);
  if (llvm::Error error = readSizes())
    return std::move(error);
  if (llvm::Error error = readExperts())
    return std::move(error);
  return model;
}

/// The path in front of the first comma.
static StringRef pathOf(StringRef text) { return text.split(',').first; }

bool dtcc::isHubConfig(StringRef text) {
  StringRef path = pathOf(text);
  return path.ends_with(".json") || (!path.empty() && !path.contains('=') && llvm::sys::fs::is_directory(path));
}

llvm::Expected<cost::Transformer> dtcc::readHubConfig(StringRef text) {
  auto [given, sizes] = text.split(',');
  llvm::SmallString<128> path(given);
  if (llvm::sys::fs::is_directory(path))
    llvm::sys::path::append(path, "config.json");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path.str() + ": cannot read: " + buffer.getError().message());
  llvm::Expected<llvm::json::Value> value = parseJson((*buffer)->getBuffer());
  if (!value)
    return llvm::createStringError(path.str() + ": " + llvm::toString(value.takeError()));
  const llvm::json::Object *config = value->getAsObject();
  if (!config)
    return llvm::createStringError(path.str() + ": a configuration must be a JSON object");
  llvm::Expected<cost::Transformer> model = Reader(path, *config).read();
  if (!model)
    return model;
  bool isLong = model->sequence > kMostPositions;
  if (isLong)
    model->sequence = 0;
  std::string error;
  std::optional<cost::Transformer> result = cost::replaceSizes(*model, sizes.str(), error);
  if (!result)
    return llvm::createStringError(error);
  if (result->sequence < 1)
    return llvm::createStringError("--transformer must say the tokens of a sample, because the model takes more than " +
                                   llvm::Twine(int64_t(kMostPositions)) + " positions: --transformer=" + given +
                                   ",sequence=8192");
  return *result;
}
