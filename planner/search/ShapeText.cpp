//===- ShapeText.cpp - Shapes as people write them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/ShapeText.h"
#include <charconv>

namespace dtcc::plan {

static bool readNumber(std::string_view text, int64_t least, int64_t most, int64_t &number) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
}

static bool readWord(std::string_view word, PlanShape &shape) {
  struct Row {
    std::string_view name;
    int64_t PlanShape::*size;
  };
  static constexpr Row rows[] = {{"dp", &PlanShape::dp},
                                 {"tp", &PlanShape::tp},
                                 {"cp", &PlanShape::cp},
                                 {"ep", &PlanShape::ep},
                                 {"pp", &PlanShape::pp},
                                 {"folded-ep", &PlanShape::ep},
                                 {"microbatches", &PlanShape::microbatches}};
  constexpr int64_t most = int64_t(1) << 20;
  size_t at = word.find('=');
  if (word == "sequence-parallel")
    return shape.sequenceParallel = true;
  if (at == std::string_view::npos) {
    std::optional<cost::NamedSchedule> named = cost::parseSchedule(word);
    if (!named || (cost::has(named->kind, cost::ScheduleRow::SeveralStages) &&
                   (named->virtualStages < 2 || named->virtualStages > most)))
      return false;
    shape.schedule = named->kind;
    shape.virtualStages = named->virtualStages;
    return true;
  }
  std::string_view name = word.substr(0, at), value = word.substr(at + 1);
  if (name == "zero") {
    int64_t zero = 0;
    bool good = readNumber(value, 0, 3, zero);
    shape.zero = int(zero);
    return good;
  }
  if (name == "cp-attention") {
    std::optional<SequenceExchange> exchange = parseSequenceExchange(value);
    shape.exchange = exchange.value_or(SequenceExchange::Cheaper);
    return exchange.has_value();
  }
  if (name == "offload") {
    shape.hostOptimizer = value == "optimizer";
    return shape.hostOptimizer;
  }
  for (const Row &row : rows)
    if (name == row.name)
      return readNumber(value, 1, most, shape.*row.size);
  return false;
}

std::optional<PlanShape> parseShape(std::string_view text, std::string &error) {
  PlanShape shape;
  bool folded = false;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = std::min(rest.find_first_of(", "), rest.size());
    if (std::string_view word = rest.substr(0, end); !word.empty() && !readWord(word, shape)) {
      error = "a shape must be like dp=2,tp=4,pp=2 zero=1 microbatches=8 1f1b, got: " + std::string(word);
      return std::nullopt;
    }
    folded |= rest.starts_with("folded-ep=");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!folded)
    shape.dp *= shape.ep;
  if (shape.pp > 1 && shape.schedule == PipelineKind::None)
    shape.schedule = PipelineKind::OneForwardOneBackward;
  if (shape.tp == 1 && shape.sequenceParallel) {
    error = "a shape with sequence-parallel must have tp above 1, got: " + std::string(text);
    return std::nullopt;
  }
  if (shape.cp == 1 && shape.exchange != SequenceExchange::Cheaper) {
    error = "a shape with cp-attention must have cp above 1, got: " + std::string(text);
    return std::nullopt;
  }
  if (shape.pp == 1 && shape.schedule != PipelineKind::None) {
    error = "a shape with a schedule must have pp above 1, got: " + std::string(text);
    return std::nullopt;
  }
  return shape;
}

} // namespace dtcc::plan
