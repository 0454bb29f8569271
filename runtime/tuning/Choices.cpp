//===- Choices.cpp - Chosen ways of commands, as text --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/tuning/Choices.h"

#include "runtime/checkpoint/WholeFile.h"
#include "runtime/core/Error.h"
#include "runtime/core/MappedFile.h"

#include <cerrno>
#include <iostream>
#include <iterator>
#include <sstream>
#include <sys/stat.h>

namespace dtcc::rt {

/// The first line of a file of choices.
static constexpr const char *choicesTitle = "dtcc choices 1";

std::string textOf(const Choices &choices) {
  std::ostringstream text;
  text << std::hex;
  for (const auto &[problem, choice] : choices) {
    text << problem << '\t' << choice.way;
    for (uint64_t word : choice.algorithm)
      text << ' ' << word;
    text << '\n';
  }
  return text.str();
}

size_t readChoices(const std::string &text, Choices &choices) {
  std::istringstream lines(text);
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    const size_t tab = line.rfind('\t');
    std::istringstream words(tab == std::string::npos ? "" : line.substr(tab + 1));
    words >> std::hex;
    Choice choice;
    words >> choice.way;
    for (uint64_t &word : choice.algorithm)
      words >> word;
    std::string rest;
    if (tab == 0 || words.fail() || words >> rest)
      return number;
    choices[line.substr(0, tab)] = choice;
  }
  return 0;
}

Choices readChoicesFile(const std::string &file) {
  Choices choices;
  // Only a file that is not there has no choices. One that cannot be read must not be replaced either.
  struct stat status;
  if (stat(file.c_str(), &status) != 0 && errno == ENOENT)
    return choices;
  const MappedFile mapped(file);
  std::istringstream stream(std::string(reinterpret_cast<const char *>(mapped.bytes().data()), mapped.bytes().size()));
  std::string title;
  if (std::getline(stream, title).eof() && title.empty())
    return choices;
  if (title != choicesTitle)
    failWith(Status::Usage, "--tune=", file, " must be a file that --tune wrote, or none");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  if (size_t line = readChoices(text, choices)) {
    std::cerr << "note: line " << line + 1 << " of --tune=" << file << " is no choice: all are measured again"
              << std::endl;
    choices.clear();
  }
  return choices;
}

void writeChoicesFile(const std::string &file, const Choices &choices) {
  writeWhole(file, std::string(choicesTitle) + '\n' + textOf(choices));
}

} // namespace dtcc::rt
