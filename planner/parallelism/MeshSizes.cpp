//===- MeshSizes.cpp - The sizes of mesh axes, as a user gives them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/parallelism/MeshSizes.h"
#include <charconv>

namespace dtcc::plan {

static constexpr std::string_view kFolded = "folded-ep";

static const MeshSizeRow *findAxis(std::string_view name) {
  for (const MeshSizeRow &row : kMeshSizes)
    if (name == row.name || (name == kFolded && row.name == "ep"))
      return &row;
  return nullptr;
}

std::optional<int64_t> *MeshSizes::find(std::string_view name) {
  const MeshSizeRow *row = findAxis(name);
  return row ? &(this->*row->size) : nullptr;
}

std::string meshAxisNames() {
  std::string names;
  for (const MeshSizeRow &row : kMeshSizes)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

bool isSearchedAxis(std::string_view name) {
  return MeshSizes().find(name) ? name != kFolded : name == "dp.0" || name == "dp.1";
}

int64_t MeshSizes::product() const {
  int64_t result = 1;
  for (const MeshSizeRow &row : kMeshSizes)
    if (!(foldsExperts && row.name == "ep"))
      result *= (this->*row.size).value_or(1);
  return result;
}

std::string MeshSizes::str() const {
  std::string text;
  for (const MeshSizeRow &row : kMeshSizes)
    if (std::optional<int64_t> size = this->*row.size) {
      text += text.empty() ? "" : ",";
      text += row.name == "ep" && foldsExperts ? kFolded : row.name;
      text += "=";
      if (row.name == "dp" && groups > 1)
        text += std::to_string(groups) + "x" + std::to_string(*size / groups);
      else
        text += std::to_string(*size);
    }
  return text;
}

static bool readNumber(std::string_view text, int64_t most, int64_t &number) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size() && number >= 1 && number <= most;
}

/// Reads "tp=4" or "dp=2x4". Returns the error, or nothing.
static std::string readAxis(std::string_view word, int64_t most, MeshSizes &sizes) {
  size_t at = std::min(word.find('='), word.size());
  std::string_view name = word.substr(0, at), number = word.substr(std::min(at + 1, word.size()));
  std::string limit = " must be from 1 to " + std::to_string(most) + ", got: " + std::string(word);
  const MeshSizeRow *row = findAxis(name);
  if (!row)
    return "an axis must be one of " + meshAxisNames() + ", got: " + std::string(name);
  if (sizes.*row->size)
    return "an axis must be named once, got twice: " + std::string(row->name);
  int64_t size = 0, groups = 1;
  if (size_t x = number.find('x'); name == "dp" && x != std::string_view::npos) {
    if (!readNumber(number.substr(0, x), most, groups))
      return "the number of groups" + limit;
    number.remove_prefix(x + 1);
  }
  if (!readNumber(number, most, size))
    return "the size of an axis" + limit;
  sizes.*row->size = size * groups;
  if (name == "dp")
    sizes.groups = groups;
  sizes.foldsExperts |= name == kFolded;
  return "";
}

std::optional<MeshSizes> parseMeshSizes(std::string_view text, std::string &error, int64_t most) {
  // As many ranks as programs and plans can number.
  constexpr int64_t kMostRanks = int64_t(1) << 31;
  MeshSizes sizes;
  error.clear();
  for (std::string_view rest = text; !rest.empty() && error.empty();) {
    size_t end = std::min(rest.find_first_of(", "), rest.size());
    if (end > 0)
      error = readAxis(rest.substr(0, end), most, sizes);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  int64_t product = 1;
  for (const MeshSizeRow &row : kMeshSizes) {
    int64_t size = (sizes.*row.size).value_or(1);
    if (error.empty() && size > kMostRanks / product)
      error = "the sizes of the axes must multiply to at most 2^31, got: " + std::string(text);
    product = std::min(size * product, kMostRanks);
  }
  return error.empty() ? std::optional(sizes) : std::nullopt;
}

} // namespace dtcc::plan
