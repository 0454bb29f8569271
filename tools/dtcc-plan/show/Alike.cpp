//===- Alike.cpp - Parameters of equal layers in one row
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/show/Alike.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <set>
#include <tuple>

using namespace dtcc;

namespace {
/// "blocks.3.experts.0.up" is number 3 of "blocks", and inside it "experts.*.up". A name without a number has no layer.
struct NameParts {
  std::string prefix, inside;
  int64_t number = -1;
};

using Layers = std::set<int64_t>;
} // namespace

static NameParts split(llvm::StringRef name) {
  NameParts parts;
  llvm::SmallVector<llvm::StringRef> words;
  name.split(words, '.');
  for (llvm::StringRef word : words) {
    int64_t number = 0;
    bool isNumber = !word.empty() && llvm::all_of(word, llvm::isDigit) && !word.getAsInteger(10, number);
    if (isNumber && parts.number < 0) {
      parts.number = number;
      parts.prefix = std::move(parts.inside);
      parts.inside.clear();
      continue;
    }
    parts.inside += (parts.inside.empty() ? "" : ".") + (isNumber ? std::string("*") : word.str());
  }
  return parts;
}

/// "0-3, 7".
static std::string rangesOf(const Layers &layers) {
  std::string text;
  for (auto at = layers.begin(); at != layers.end();) {
    int64_t first = *at, last = first;
    for (++at; at != layers.end() && *at == last + 1; ++at)
      last = *at;
    text += (text.empty() ? "" : ", ") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
  }
  return text;
}

static std::string titleOf(const std::string &prefix, const Layers &layers) {
  if (*layers.begin() < 0)
    return "outside of layers";
  return (layers.size() > 1 ? std::to_string(layers.size()) + " x " : "") + prefix + (prefix.empty() ? "" : ".") +
         rangesOf(layers);
}

std::vector<AlikeRow> dtcc::groupAlike(llvm::ArrayRef<NamedText> list) {
  /// Items that have one name inside the layers of one prefix.
  struct Member {
    NameParts parts;
    std::string text;
    Layers layers;
    std::vector<size_t> items;
  };
  std::vector<Member> members;
  std::map<std::tuple<std::string, std::string, std::string, bool>, size_t> known;
  for (size_t i = 0; i < list.size(); ++i) {
    NameParts parts = split(list[i].name);
    auto [at, isNew] = known.try_emplace({parts.prefix, parts.inside, list[i].text, parts.number < 0}, members.size());
    if (isNew)
      members.push_back({parts, list[i].text, {}, {}});
    members[at->second].layers.insert(parts.number);
    members[at->second].items.push_back(i);
  }
  std::vector<AlikeRow> rows;
  std::map<std::tuple<std::string, std::string, Layers>, size_t> places;
  for (const Member &member : members) {
    auto [at, isNew] = places.try_emplace({member.parts.prefix, member.text, member.layers}, rows.size());
    if (isNew)
      rows.push_back({titleOf(member.parts.prefix, member.layers), member.text, "", {}});
    AlikeRow &row = rows[at->second];
    size_t each = member.items.size() / member.layers.size();
    row.names += (row.names.empty() ? "" : ", ") + (each > 1 ? std::to_string(each) + " x " : "") + member.parts.inside;
    row.items.insert(row.items.end(), member.items.begin(), member.items.end());
  }
  // A long list tells less than its beginning.
  constexpr size_t kWidth = 88;
  for (AlikeRow &row : rows)
    if (row.names.size() > kWidth) {
      row.names.resize(row.names.rfind(", ", kWidth) == std::string::npos ? kWidth : row.names.rfind(", ", kWidth));
      row.names += ", ..";
    }
  return rows;
}
