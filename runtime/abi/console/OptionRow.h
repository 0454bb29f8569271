//===- OptionRow.h - An option as people read of it ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that dtcc, dtcc-plan and programs make of their options, and the two texts made of rows: --help, with one look
// everywhere, and --help-table, from which tools/options makes docs/options.md, completions and man pages.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_CONSOLE_OPTIONROW_H
#define DTCC_RUNTIME_ABI_CONSOLE_OPTIONROW_H

#include "runtime/abi/console/WrappedText.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace dtcc {

/// None of the texts may hold a tab or a line end.
struct OptionRow {
  std::string group, name;
  std::string value;   /* stands behind "=" in --help; empty: a flag */
  std::string choices; /* the legal words, as "a|b|c"; empty: any value */
  std::string help;    /* lower case, no full stop */
  std::string initial; /* the default, if help does not say it */
  std::string example; /* a value that the option may have */
  bool repeats = false;
};

/// "--steps=N", "-o PROGRAM", "-v".
inline std::string optionText(const OptionRow &row) {
  bool isLetter = row.name.size() == 1;
  return (isLetter ? "-" : "--") + row.name + (row.value.empty() ? "" : (isLetter ? " " : "=") + row.value);
}

/// The words of a text, which single spaces separate.
inline std::vector<std::string> wordsOf(const std::string &text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// A block for each group: its title, and a line for each option. Long lines go on below their help.
inline std::string optionHelp(const std::vector<OptionRow> &rows) {
  constexpr size_t kColumn = 32, kWidth = 100;
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    const OptionRow &row = rows[i];
    if (i == 0 || row.group != rows[i - 1].group)
      text += "\n" + row.group + "\n";
    std::string line = "  " + optionText(row);
    std::string words = row.help + (row.repeats ? " (repeatable)" : "") +
                        (row.initial.empty() ? "" : " (default: " + row.initial + ")");
    // A long name shares a line with its help if that fits.
    if (line.size() >= kColumn && line.size() + 1 + words.size() > kWidth) {
      text += line + "\n";
      line.clear();
    }
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    text += wrappedText(line, wordsOf(words), " ", kColumn, kWidth);
  }
  return text;
}

/// A group of options, and their names with dashes.
struct OptionGroup {
  std::string title;
  std::vector<std::string> names;
};

/// The groups in the order of their first rows, without the options that only print something.
inline std::vector<OptionGroup> optionGroups(const std::vector<OptionRow> &rows) {
  std::vector<OptionGroup> groups;
  for (const OptionRow &row : rows) {
    if (row.name == "help" || row.name == "version")
      continue;
    auto at = std::find_if(groups.begin(), groups.end(), [&](const OptionGroup &g) { return g.title == row.group; });
    if (at == groups.end())
      at = groups.insert(at, {row.group, {}});
    at->names.push_back((row.name.size() == 1 ? "-" : "--") + row.name);
  }
  return groups;
}

/// A group of the options by which dtcc fixes something in a program: the left half of the table "fixed when compiled,
/// chosen when run". Groups of one title on both sides are one row.
struct FixedGroup {
  std::string_view title, what;
};
inline constexpr FixedGroup kFixedGroups[] = {
    {"The model", "the loss, what trains, sizes of inputs with the batch, attention within documents"},
    {"Training", "optimizer, groups, averages, clipping, precision"},
    {"The plan", "ranks, mesh, ZeRO, micro-batches, recomputation"},
    {"Machine", "the processor or GPUs that kernels are for"},
};

/// A line for each option, with its fields between tabs.
inline std::string optionTable(const std::vector<OptionRow> &rows) {
  std::string text;
  for (const OptionRow &row : rows) {
    for (std::string_view field :
         {std::string_view(row.group), std::string_view(row.name),
          std::string_view(row.choices.empty() ? row.value : row.choices), std::string_view(row.initial),
          std::string_view(row.example), std::string_view(row.repeats ? "repeats" : "")})
      text += std::string(field) + "\t";
    text += row.help + "\n";
  }
  return text;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_CONSOLE_OPTIONROW_H
