//===- Agreement.cpp - Processes that are to run one program -- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Agreement.h"

#include "runtime/core/Error.h"
#include "runtime/core/Philox.h"

#include <algorithm>
#include <limits>

namespace dtcc::rt {
namespace {

Term option(const char *name, const std::string &value) {
  return {name, value.empty() ? std::string("no ") + name : std::string(name) + "=" + value};
}
Term flag(const char *name, bool given) { return {name, given ? name : std::string("no ") + name}; }
template <typename Number> Term number(const char *name, Number value) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  text << name << "=" << value;
  return {name, text.str()};
}

/// All that decides which tokens are generated.
std::string generationText(const GenerateOptions &options) {
  if (!options.isAsked())
    return "";
  std::string text = message(options.tokens, " --temperature=", options.temperature, " --top-k=", options.topK,
                             " --stop-token=", options.stop ? std::to_string(*options.stop) : "", " --prompt-tokens=");
  for (int64_t token : options.prompt)
    text += std::to_string(token) + ",";
  return text;
}

/// Strings as bytes: each one's length before it.
void append(std::string &bytes, const std::string &text) {
  uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char *>(&length), sizeof length);
  bytes += text;
}
std::string take(std::string_view &bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length)
    return {};
  std::copy_n(bytes.data(), sizeof length, reinterpret_cast<char *>(&length));
  bytes.remove_prefix(sizeof length);
  std::string text(bytes.substr(0, length));
  bytes.remove_prefix(std::min<size_t>(bytes.size(), length));
  return text;
}

} // namespace

std::vector<Term> termsOf(const RunPosition &begin) {
  return {{"step", "a start at step " + std::to_string(begin.step)},
          {"position", "a start at sample " + std::to_string(begin.samples)},
          number("seed", begin.seed)};
}

std::vector<Term> termsOf(const Image &image, const Options &options, int64_t steps, int64_t samples,
                          const RunIdentity &identity) {
  std::ostringstream program;
  program << "program " << std::hex
          << streamOf({reinterpret_cast<const char *>(&image.header()), image.header().image_bytes});
  std::string data;
  for (const DataIdentity &each : identity.data)
    data += (data.empty() ? "" : ", ") + each.text();
  return {
      {"program", program.str()},
      option("--save", options.save.path),
      number("--save-type", static_cast<int>(options.save.type)),
      number("--shard-size", options.save.shardBytes),
      flag("--save-trained", options.save.trainedOnly),
      flag("--save-merged", options.save.merged),
      option("--save-average", options.saveAverage.path),
      option("--checkpoint", options.checkpoint),
      flag("--checkpoint-local", options.checkpointLocal),
      option("--checkpoint-every", options.checkpointEvery > 0 ? std::to_string(options.checkpointEvery) : ""),
      number("--keep", options.keep.newest),
      number("--keep-every", options.keep.every),
      flag("--resume", options.resume),
      flag("--resume-anyway", options.resumeAnyway),
      number("--on-nonfinite", static_cast<int>(options.onNonfinite)),
      flag("--on-moe-overflow=drop", options.mayDropRows),
      number("--max-grad-norm-ratio", options.maxGradNormRatio),
      {"samples", "data of " + std::to_string(samples) + " samples"},
      {"data", "the data " + data},
      {"steps", std::to_string(steps) + " steps"},
      option("--shuffle", options.data.shuffle ? std::to_string(*options.data.shuffle) : ""),
      option("--weights", options.weights),
      number("--eval-every", options.evaluation.every),
      number("--eval-steps", options.evaluation.steps),
      flag("--eval-only", options.evaluation.only),
      flag("--eval-average", options.evaluation.ofAverages),
      option("--generate", generationText(options.generate)),
      option("--save-best", options.evaluation.best.path),
      number("--seed", options.seed),
      number("--lr", options.rate.base),
      number("--lr-schedule", static_cast<int>(options.rate.schedule)),
      number("--warmup", options.rate.warmup),
      number("--min-lr", options.rate.least),
      number("--decay-steps", options.rate.decaySteps),
      number("--lr-restart", options.rate.restart),
      number("--grad-norms", options.gradNormsEvery),
  };
}

void checkAgreement(Communicator &world, const std::vector<Term> &mine) {
  std::string bytes;
  for (const Term &term : mine) {
    append(bytes, term.name);
    append(bytes, term.value);
  }
  struct Sum {
    uint64_t length, hash;
  };
  Sum sum{bytes.size(), streamOf(bytes)};
  std::vector<Sum> sums(static_cast<size_t>(world.size()));
  world.allGather(&sum, sums.data(), sizeof sum, DTCC_I8);
  uint64_t longest = 0;
  bool alike = true;
  for (const Sum &other : sums) {
    longest = std::max(longest, other.length);
    alike &= other.length == sums[0].length && other.hash == sums[0].hash;
  }
  if (alike)
    return;
  bytes.resize(longest);
  std::string all(longest * sums.size(), '\0');
  world.allGather(bytes.data(), all.data(), static_cast<int64_t>(longest), DTCC_I8);
  auto termsOfRank = [&](size_t rank) {
    std::vector<Term> terms;
    for (std::string_view rest(all.data() + rank * longest, sums[rank].length); !rest.empty();) {
      std::string name = take(rest);
      terms.push_back({name, take(rest)});
    }
    return terms;
  };
  std::vector<Term> first = termsOfRank(0);
  for (size_t rank = 1; rank < sums.size(); ++rank) {
    std::vector<Term> other = termsOfRank(rank);
    for (size_t i = 0; i < std::min(first.size(), other.size()); ++i)
      if (first[i].value != other[i].value)
        fail("all ranks must be started alike: rank 0 has ", first[i].value, ", rank ", rank, " has ", other[i].value);
  }
  fail("all ranks must be started alike: their programs are of different versions of dtcc");
}

} // namespace dtcc::rt
