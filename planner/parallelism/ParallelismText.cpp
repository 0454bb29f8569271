//===- ParallelismText.cpp - A Parallelism as people write it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/parallelism/Parallelism.h"
#include <algorithm>

namespace dtcc::plan {

std::string Parallelism::meshText() const {
  MeshSizes sizes = meshSizes();
  for (const MeshSizeRow &row : kMeshSizes)
    if (sizes.*row.size == 1)
      (sizes.*row.size).reset();
  std::string text = sizes.str();
  return text.empty() ? "dp=1" : text;
}

std::string Parallelism::str() const {
  std::string text = meshText();
  if (sequenceParallel)
    text += " sequence-parallel";
  if (stationaryWeights)
    text += " stationary-weights";
  if (exchange != SequenceExchange::Cheaper)
    text += " cp-attention=" + std::string(toString(exchange));
  text += " zero=" + std::to_string(zero) + " microbatches=" + std::to_string(microbatches);
  if (schedule != cost::PipelineKind::None)
    text += " " + scheduleName();
  if (recompute != Recompute::None)
    text += " recompute=" + std::string(toString(recompute));
  if (offload.any())
    text += " offload=" + offload.str();
  return gradients == GradientType::F32 ? text : text + " gradients=" + std::string(toString(gradients));
}

static bool readSchedule(std::string_view word, Parallelism &parallelism) {
  constexpr int64_t kMostStages = int64_t(1) << 20;
  std::optional<cost::NamedSchedule> named = cost::parseSchedule(word);
  if (!named || (cost::has(named->kind, cost::ScheduleRow::SeveralStages) &&
                 (named->virtualStages < 2 || named->virtualStages > kMostStages)))
    return false;
  parallelism.schedule = named->kind;
  parallelism.virtualStages = named->virtualStages;
  return true;
}

static bool readCount(std::string_view text, int64_t least, int64_t most, int64_t &number) {
  bool isNumber = !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (isNumber)
    number = std::stoll(std::string(text));
  return isNumber && number >= least && number <= most;
}

/// Sets `field` to what was read, if anything was.
template <typename T> static bool take(std::optional<T> read, T &field) {
  field = read.value_or(field);
  return read.has_value();
}

/// Reads a word that names no axis.
static bool readWord(std::string_view word, Parallelism &parallelism) {
  size_t at = word.find('=');
  if (word == "sequence-parallel")
    return parallelism.sequenceParallel = true;
  if (word == "stationary-weights")
    return parallelism.stationaryWeights = true;
  if (at == std::string_view::npos)
    return readSchedule(word, parallelism);
  std::string_view name = word.substr(0, at), value = word.substr(at + 1);
  if (name == "zero") {
    int64_t zero = 0;
    bool good = readCount(value, 0, 3, zero);
    parallelism.zero = int(zero);
    return good;
  }
  if (name == "microbatches")
    return readCount(value, 1, int64_t(1) << 20, parallelism.microbatches);
  if (name == "cp-attention")
    return take(parseSequenceExchange(value), parallelism.exchange);
  if (name == "recompute")
    return take(parseRecompute(value), parallelism.recompute);
  if (name == "gradients")
    return take(parseGradientType(value), parallelism.gradients);
  return name == "offload" && take(parseOffload(value), parallelism.offload);
}

std::optional<Parallelism> parseParallelism(std::string_view text, std::string &error) {
  Parallelism parallelism;
  std::string axes;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = std::min(rest.find_first_of(", "), rest.size());
    std::string_view word = rest.substr(0, end);
    if (MeshSizes().find(word.substr(0, word.find('=')))) {
      axes += std::string(word) + ",";
    } else if (!word.empty() && !readWord(word, parallelism)) {
      error = "a shape must be like dp=2,tp=4,pp=2 zero=1 microbatches=8 1f1b, got: " + std::string(word);
      return std::nullopt;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::optional<MeshSizes> sizes = parseMeshSizes(axes, error);
  if (!sizes)
    return std::nullopt;
  sizes->dp = sizes->dp.value_or(1);
  parallelism.setDegrees(*sizes);
  if (parallelism.pp > 1 && parallelism.schedule == cost::PipelineKind::None)
    parallelism.schedule = cost::PipelineKind::OneForwardOneBackward;
  auto refuse = [&](const char *what, const char *axis) {
    error = std::string("a shape with ") + what + " must have " + axis + " above 1, got: " + std::string(text);
    return std::nullopt;
  };
  if (parallelism.tp == 1 && parallelism.sequenceParallel)
    return refuse("sequence-parallel", "tp");
  if (parallelism.tp == 1 && parallelism.stationaryWeights)
    return refuse("stationary-weights", "tp");
  if (parallelism.cp == 1 && parallelism.exchange != SequenceExchange::Cheaper)
    return refuse("cp-attention", "cp");
  if (parallelism.pp == 1 && parallelism.schedule != cost::PipelineKind::None)
    return refuse("a schedule", "pp");
  return parallelism;
}

} // namespace dtcc::plan
