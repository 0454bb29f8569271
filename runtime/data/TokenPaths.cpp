//===- TokenPaths.cpp - Files that --tokens names ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenPaths.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <glob.h>
#include <system_error>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

/// Splits at commas, except in the name of a file that exists.
std::vector<std::string> itemsOf(const std::string &spec) {
  std::error_code error;
  if (fs::exists(spec, error))
    return {spec};
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= spec.size();) {
    size_t end = std::min(spec.find(',', begin), spec.size());
    items.push_back(spec.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

/// Takes ":u16" from the end of `text`.
std::optional<FileType> takeType(std::string &text) {
  const std::pair<const char *, FileType> types[] = {
      {":u8", FileType::U8}, {":u16", FileType::U16}, {":u32", FileType::U32}};
  for (auto [suffix, type] : types)
    if (text.ends_with(suffix)) {
      text.resize(text.size() - std::strlen(suffix));
      return type;
    }
  return std::nullopt;
}

/// Takes "@0.7" from the end of `text`; 0 if there is none. An '@' before a '/' belongs to the name of a folder.
double takeWeight(const std::string &option, std::string &text) {
  std::error_code error;
  size_t at = text.rfind('@');
  std::string file = text;
  takeType(file);
  if (at == std::string::npos || text.find('/', at) != std::string::npos || fs::exists(text, error) ||
      fs::exists(file, error))
    return 0;
  double weight = 0;
  const char *begin = text.data() + at + 1, *end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(begin, end, weight);
  if (problem != std::errc() || stop != end || !std::isfinite(weight) || weight <= 0)
    fail(option, "=", text, ": the weight of a part must be a number above 0, got: ", std::string(begin, end));
  text.resize(at);
  return weight;
}

/// The files of shards in a folder; of a folder of raw ids every file.
std::vector<std::string> filesOf(const std::string &option, const std::string &folder, bool raw) {
  std::vector<std::string> found;
  bool training = false, validation = false;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name.starts_with(".") ||
        (!raw && !name.ends_with(".bin") && !name.ends_with(".npy")))
      continue;
    training |= name.find("train") != std::string::npos;
    validation |= name.find("val") != std::string::npos || name.find("test") != std::string::npos;
    found.push_back(entry.path().string());
  }
  if (training && validation)
    fail(option, "=", folder,
         ": the folder holds files for training and for validation: name those that are meant, as ", folder,
         folder.ends_with("/") ? "" : "/", "*train*");
  return found;
}

void findFiles(const std::string &option, TokenPart &part, std::string path, std::optional<FileType> type) {
  std::error_code error;
  std::vector<std::string> found{path};
  if (fs::is_directory(path, error)) {
    found = filesOf(option, path, type.has_value());
    if (found.empty())
      fail(option, "=", part.item, ": the folder holds no .bin and no .npy file");
  } else if (!fs::exists(path, error) && path.find_first_of("*?[") != std::string::npos) {
    found = filesOfGlob(path);
    if (found.empty())
      fail(option, "=", part.item, ": no file has such a name");
  }
  std::sort(found.begin(), found.end());
  for (std::string &each : found)
    part.files.push_back({std::move(each), type});
}

} // namespace

std::vector<std::string> filesOfGlob(const std::string &pattern) {
  std::vector<std::string> found;
  glob_t matches{};
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    found.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  globfree(&matches);
  return found;
}

std::vector<TokenPart> findTokens(const std::string &option, const std::string &spec) {
  std::vector<TokenPart> parts;
  for (const std::string &item : itemsOf(spec)) {
    if (item.empty())
      fail(option, "=", spec, ": a list of files has no empty name");
    TokenPart part{item, 0, {}};
    std::string path = item;
    part.weight = takeWeight(option, path);
    std::optional<FileType> type = takeType(path);
    findFiles(option, part, path, type);
    if (!parts.empty() && (parts[0].weight > 0) != (part.weight > 0))
      fail(option, "=", spec, ": all parts of a mixture need a weight, as @0.5, and '",
           part.weight > 0 ? parts[0].item : item, "' has none");
    if (parts.empty() || part.weight > 0)
      parts.push_back(std::move(part));
    else
      parts[0].files.insert(parts[0].files.end(), part.files.begin(), part.files.end());
  }
  // A shard that is named twice would count twice without a word.
  std::vector<std::string> all;
  for (const TokenPart &part : parts)
    for (const TokenPath &file : part.files)
      all.push_back(file.path);
  std::sort(all.begin(), all.end());
  if (auto twice = std::adjacent_find(all.begin(), all.end()); twice != all.end())
    fail(option, "=", spec, ": a file must be named once, got twice: ", *twice);
  return parts;
}

} // namespace dtcc::rt
