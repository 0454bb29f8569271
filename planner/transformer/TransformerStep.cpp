//===- TransformerStep.cpp - A transformer as a step to price
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/transformer/Transformer.h"
#include "runtime/abi/console/NearestName.h"
#include <charconv>

namespace dtcc::cost {

StepProblem makeStepProblem(const Transformer &model, const Parallelism &plan, const RunSetting &run,
                            const Software &software, const Device &device, const Fabric &fabric) {
  StepProblem problem;
  problem.device = device;
  problem.fabric = fabric;
  problem.software = software;
  problem.parallel = plan;
  problem.layers = {makeBlock(model, plan, run), makeEmbedding(model, plan, run), makeHead(model, plan, run)};
  constexpr size_t dense = 3;
  if (model.experts > 0)
    problem.layers.push_back(makeBlock(model.dense(), plan, run));
  int64_t stages = plan.pp, layers = int64_t(model.layers), chunks = stages * plan.virtualStages;
  // If the layers do not divide by the chunks and two more layers would, the embedding and the head count
  // as one layer each.
  bool ends = layers % chunks != 0 && (layers + 2) % chunks == 0;
  for (int64_t s = 0, first = 0; s < stages; ++s) {
    int64_t count =
        ends ? (layers + 2) / stages - (s == 0) - (s == stages - 1) : layers / stages + (s < layers % stages);
    int64_t withExperts = 0;
    for (int64_t layer = first; layer < first + count; ++layer)
      withExperts += model.isExpertLayer(layer);
    first += count;
    int64_t same = model.experts > 0 ? withExperts : count;
    problem.stages.emplace_back();
    if (same > 0)
      problem.stages.back().push_back({0, double(same)});
    if (count > same)
      problem.stages.back().push_back({dense, double(count - same)});
  }
  problem.stages.front().push_back({1, 1});
  problem.stages.back().push_back({2, 1});
  problem.setLeavingBytes(boundaryBytes(model, plan, run, software.scatteredSends));
  return problem;
}

namespace {
struct Named {
  std::string_view name;
  Transformer model;
};
constexpr Named kModels[] = {
#define DTCC_TRANSFORMER(name, layers, hidden, heads, kvHeads, ffn, words, sequence, gated, tied, source)              \
  {name, {layers, hidden, heads, kvHeads, ffn, words, sequence, gated, tied}},
#define DTCC_EXPERT_TRANSFORMER(name, layers, hidden, heads, kvHeads, columns, ffn, words, sequence, experts, chosen,  \
                                expertFfn, sharedFfn, leading, every, queryRank, latentRank, source)                   \
  {name,                                                                                                               \
   {layers, hidden, heads, kvHeads, ffn, words, sequence, true, false, columns, experts, chosen, expertFfn, sharedFfn, \
    leading, every, queryRank, latentRank}},
#include "planner/transformer/Transformers.def"
};

struct Field {
  std::string_view name;
  double Transformer::*number;
  bool Transformer::*flag;
};
constexpr Field kFields[] = {
    {"layers", &Transformer::layers, nullptr},
    {"hidden", &Transformer::hidden, nullptr},
    {"heads", &Transformer::heads, nullptr},
    {"kv-heads", &Transformer::kvHeads, nullptr},
    {"ffn", &Transformer::ffn, nullptr},
    {"vocabulary", &Transformer::vocabulary, nullptr},
    {"sequence", &Transformer::sequence, nullptr},
    {"gated", nullptr, &Transformer::gated},
    {"tied", nullptr, &Transformer::tied},
    {"head-columns", &Transformer::headColumns, nullptr},
    {"experts", &Transformer::experts, nullptr},
    {"chosen", &Transformer::chosen, nullptr},
    {"expert-ffn", &Transformer::expertFfn, nullptr},
    {"shared-ffn", &Transformer::sharedFfn, nullptr},
    {"leading-dense", &Transformer::leadingDense, nullptr},
    {"expert-every", &Transformer::expertEvery, nullptr},
    {"query-rank", &Transformer::queryRank, nullptr},
    {"latent-rank", &Transformer::latentRank, nullptr},
};

bool setField(Transformer &model, std::string_view name, std::string_view text, std::string &error) {
  for (const Field &field : kFields) {
    if (field.name != name)
      continue;
    int64_t value = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || value < (field.number ? 1 : 0) ||
        value > (field.number ? int64_t(1) << 40 : 1)) {
      error = std::string(name) + " must be " + (field.number ? "a whole number of at least 1" : "0 or 1") +
              ", got: " + std::string(text);
      return false;
    }
    if (field.number)
      model.*field.number = double(value);
    else
      model.*field.flag = value != 0;
    return true;
  }
  std::vector<std::string> names;
  std::string list;
  for (const Field &field : kFields) {
    names.emplace_back(field.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  std::string near = nearestName(std::string(name), names);
  error = "the sizes of a transformer are " + list + ", got: " + std::string(name) +
          (near.empty() ? "" : "; did you mean " + near + "?");
  return false;
}
} // namespace

std::optional<Transformer> findTransformer(std::string_view name, bool prefix) {
  const Named *found = nullptr;
  for (const Named &named : kModels)
    if (named.name == name)
      return named.model;
    else if (prefix && name.starts_with(named.name) && (!found || named.name.size() > found->name.size()))
      found = &named;
  return found ? std::optional(found->model) : std::nullopt;
}

std::optional<Transformer> replaceSizes(const Transformer &model, std::string_view sizes, std::string &error) {
  Transformer result = model;
  for (std::string_view rest = sizes; !rest.empty();) {
    std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    size_t equal = std::min(part.find('='), part.size());
    if (!setField(result, part.substr(0, equal), part.substr(std::min(equal + 1, part.size())), error))
      return std::nullopt;
  }
  return result;
}

std::optional<Transformer> parseTransformer(std::string_view text, std::string &error) {
  if (std::optional<Transformer> known = findTransformer(text))
    return known;
  std::vector<std::string> names;
  for (const Named &named : kModels)
    names.emplace_back(named.name);
  if (text.find('=') == std::string_view::npos) {
    std::string near = nearestName(text, names), list;
    for (const std::string &name : names)
      list += (list.empty() ? "" : ", ") + name;
    error = "a transformer must be one of " + list + " or layers=N,hidden=N,heads=N,.., got: " + std::string(text) +
            (near.empty() ? "" : "; did you mean " + near + "?");
    return std::nullopt;
  }
  // The name of a model may stand before sizes that replace its own.
  size_t comma = text.find(',');
  if (comma != std::string_view::npos && text.substr(0, comma).find('=') == std::string_view::npos)
    if (std::optional<Transformer> known = findTransformer(text.substr(0, comma)))
      return replaceSizes(*known, text.substr(comma + 1), error);
  std::optional<Transformer> sizes = replaceSizes(Transformer(), text, error);
  if (!sizes)
    return std::nullopt;
  Transformer model = *sizes;
  if (model.layers < 1 || model.hidden < 1 || model.heads < 1) {
    error = "a transformer must have layers, hidden and heads, got: " + std::string(text);
    return std::nullopt;
  }
  auto missing = [](double &value, double rule) { value = value > 0 ? value : rule; };
  missing(model.kvHeads, model.heads);
  missing(model.ffn, 4 * model.hidden);
  missing(model.vocabulary, 50304);
  missing(model.sequence, 2048);
  if (model.experts > 0) {
    missing(model.expertFfn, model.ffn);
    if (model.chosen > model.experts) {
      error = "chosen must be at most the " + std::to_string(int64_t(model.experts)) +
              " experts, got: " + std::to_string(int64_t(model.chosen));
      return std::nullopt;
    }
  }
  return model;
}

} // namespace dtcc::cost
