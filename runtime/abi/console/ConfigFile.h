//===- ConfigFile.h - Options in a file ----------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reader of --config=FILE, for dtcc and for programs: TOML whose keys are options without their dashes. A list gives
// its option several times, a table is a list of keys and values ("mesh = {dp = 2, tp = 2}" is --mesh=dp=2,tp=2), and a
// flag is true or false. Which options exist is the caller's knowledge. toml++ is all header and takes long to compile:
// one file of each side includes this one.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_CONSOLE_CONFIGFILE_H
#define DTCC_RUNTIME_ABI_CONSOLE_CONFIGFILE_H

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "runtime/abi/console/NumberText.h"
#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace dtcc {

/// One key of a file.
struct ConfigOption {
  std::string name;
  /// Values as the command line would have them. A flag that is true or false has none.
  std::vector<std::string> values;
  bool isFlag = false, flag = false;
  /// "FILE:LINE: ", the start of a message about the key.
  std::string place;
};

/// Text of a string, number or truth value; nothing for a date, a list or a table.
inline std::optional<std::string> configScalar(const toml::node &node) {
  if (const auto *text = node.as_string())
    return **text;
  if (const auto *number = node.as_integer())
    return numberText(**number);
  if (const auto *truth = node.as_boolean())
    return std::string(**truth ? "true" : "false");
  if (const auto *real = node.as_floating_point())
    return numberText(**real);
  return std::nullopt;
}

/// Entries of a table in the order in which the file has them.
inline std::vector<std::pair<std::string, const toml::node *>> configEntries(const toml::table &table) {
  std::vector<std::pair<std::string, const toml::node *>> entries;
  for (auto &&[key, node] : table)
    entries.emplace_back(std::string(key.str()), &node);
  std::sort(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
    return a.second->source().begin.line != b.second->source().begin.line
               ? a.second->source().begin.line < b.second->source().begin.line
               : a.second->source().begin.column < b.second->source().begin.column;
  });
  return entries;
}

/// Values of one key, or nothing for those that no option can have.
inline std::optional<std::vector<std::string>> configValues(const toml::node &node) {
  std::vector<std::string> values;
  if (const toml::array *list = node.as_array()) {
    for (const toml::node &each : *list) {
      std::optional<std::string> text = configScalar(each);
      if (!text)
        return std::nullopt;
      values.push_back(*text);
    }
    return values;
  }
  if (const toml::table *table = node.as_table()) {
    std::string pairs;
    for (auto &&[key, each] : configEntries(*table)) {
      std::optional<std::string> text = configScalar(*each);
      if (!text)
        return std::nullopt;
      pairs += (pairs.empty() ? "" : ",") + key + "=" + *text;
    }
    return std::vector<std::string>{pairs};
  }
  std::optional<std::string> text = configScalar(node);
  return text ? std::optional(std::vector{*text}) : std::nullopt;
}

/// The options in a file. An empty result means that `error` says what is wrong.
inline std::optional<std::vector<ConfigOption>> readConfig(const std::string &path, std::string &error) {
  constexpr size_t kMostBytes = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (!file.eof()) {
    error = file.is_open() && text.size() > kMostBytes ? path + ": a file of options must have at most 1 MiB"
                                                       : "cannot read the options in " + path;
    return std::nullopt;
  }
  toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    error = path + ":" + std::to_string(parsed.error().source().begin.line) +
            ": must be TOML (name = value): " + std::string(parsed.error().description());
    return std::nullopt;
  }
  std::vector<ConfigOption> options;
  for (auto &&[key, node] : configEntries(parsed.table())) {
    ConfigOption option;
    option.name = key;
    option.place = path + ":" + std::to_string(node->source().begin.line) + ": ";
    if (const auto *truth = node->as_boolean()) {
      option.isFlag = true;
      option.flag = **truth;
    } else if (std::optional<std::vector<std::string>> values = configValues(*node)) {
      option.values = *values;
    } else {
      error = option.place + "'" + key + "' must be text, a number, true or false, or a list or table of these";
      return std::nullopt;
    }
    options.push_back(std::move(option));
  }
  return options;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_CONSOLE_CONFIGFILE_H
