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
#include "llvm/Support/WithColor.h"
#include <memory>
#include <mutex>

using namespace dtcc;
using llvm::StringRef;

namespace {
/// Facts that a configuration does not say, and the families (model_type) for which they hold.
struct FamilyFacts {
  /// Three matrices in the feed-forward part; the embedding is the head unless tie_word_embeddings says otherwise.
  bool gated, tied;
  /// Experts that all tokens go through, unless the configuration says how many.
  double shared;
  StringRef families;

  llvm::SmallVector<StringRef> names() const {
    llvm::SmallVector<StringRef> split;
    families.split(split, ' ');
    return split;
  }
};

constexpr FamilyFacts kFamilies[] = {
    {/*gated=*/true, /*tied=*/false, 0,
     "cwm deepseek_v2 deepseek_v3 dots1 exaone4 flex_olmo glm glm4 glm4_moe gpt_oss granite granitemoe helium "
     "hyperclovax internlm3 iquestcoder kimi_k2 llama mellum minimax_m2 ministral3 mistral mixtral olmo olmo2 olmo3 "
     "olmoe phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_moe seed_oss solar_open stablelm"},
    {/*gated=*/true, /*tied=*/true, 0,
     "cohere cohere2 cohere2_moe ernie4_5 ernie4_5_moe gemma gemma2 gemma3_text granite_swa smollm3 vaultgemma"},
    {/*gated=*/true, /*tied=*/false, 1, "llama4_text"},
    {/*gated=*/false, /*tied=*/false, 0, "apertus arcee codegen gpt_neox gptj jais2 nanochat persimmon phi"},
    {/*gated=*/false, /*tied=*/true, 0, "biogpt gpt2 gpt_bigcode opt starcoder2"}};

/// Null if the family is none of these.
const FamilyFacts *factsOf(StringRef family) {
  const FamilyFacts *found =
      llvm::find_if(kFamilies, [&](const FamilyFacts &facts) { return llvm::is_contained(facts.names(), family); });
  return found == std::end(kFamilies) ? nullptr : found;
}

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
  llvm::Error readExperts(double sharedOfFamily);
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
                      {&Transformer::ffn, {"intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim"}, false},
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

llvm::Error Reader::readExperts(double sharedOfFamily) {
  llvm::Expected<std::optional<double>> experts = find({"num_local_experts", "n_routed_experts", "num_experts",
                                                        "moe_num_experts"}),
                                        chosen = find({"num_experts_per_tok", "moe_k"}),
                                        columns = find({"moe_intermediate_size", "intermediate_size"}),
                                        shared =
                                            find({"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"}),
                                        sharedColumns = find({"shared_expert_intermediate_size"}),
                                        leading = find({"first_k_dense_replace", "moe_layer_start_index"}),
                                        every = find({"decoder_sparse_step", "moe_layer_freq", "moe_layer_interval",
                                                      "interleave_moe_layer_step"});
  llvm::Error error = llvm::Error::success();
  for (llvm::Expected<std::optional<double>> *each :
       {&experts, &chosen, &columns, &shared, &sharedColumns, &leading, &every})
    error = llvm::joinErrors(std::move(error), each->takeError());
  if (error || !*experts)
    return error;
  if (!*chosen || **chosen < 1 || **chosen > **experts)
    return llvm::createStringError(path + ": num_experts_per_tok must be 1 to the " + llvm::Twine(int64_t(**experts)) +
                                   " experts");
  if (const llvm::json::Array *dense = config.getArray("mlp_only_layers"); dense && !dense->empty())
    return llvm::createStringError(path +
                                   ": mlp_only_layers must be empty; layers=N,hidden=N,heads=N,.., with "
                                   "leading-dense=N, gives the sizes of a model whose first layers have no experts");
  model.experts = **experts;
  model.chosen = **chosen;
  model.expertFfn = columns->value_or(model.ffn);
  model.sharedFfn = sharedColumns->value_or(shared->value_or(sharedOfFamily) * model.expertFfn);
  model.leadingDense = leading->value_or(0);
  model.expertEvery = std::max(1.0, every->value_or(1));
  return llvm::Error::success();
}

llvm::Expected<cost::Transformer> Reader::read() {
  StringRef name = config.getString("model_type").value_or("");
  const FamilyFacts *facts = factsOf(name);
  if (!facts) {
    llvm::SmallVector<StringRef> names;
    for (const FamilyFacts &each : kFamilies)
      names.append(each.names());
    llvm::sort(names);
    return llvm::createStringError(path + ": model_type must be one of " + llvm::join(names, ", ") +
                                   ", got: " + (name.empty() ? "none" : name) +
                                   "; layers=N,hidden=N,heads=N,.. gives the sizes of another");
  }
  model.gated = facts->gated;
  model.tied = config.getBoolean("tie_word_embeddings").value_or(facts->tied);
  if (llvm::Error error = readSizes())
    return std::move(error);
  if (llvm::Error error = readExperts(facts->shared))
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
  // A model of text and images has the configuration of its decoder inside its own.
  if (const llvm::json::Object *text = config->getObject("text_config")) {
    // Commands that compare clusters read the one --transformer for each of them.
    static std::once_flag told;
    std::call_once(told, [&] {
      llvm::WithColor::note(llvm::errs(), "dtcc-plan")
          << path << ": the decoder of text_config is taken, without what else the model has\n";
    });
    config = text;
  }
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
