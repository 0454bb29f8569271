//===- TextTable.cpp - Columns of text for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/tables/TextTable.h"
#include "runtime/abi/console/WrappedText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;

void TextTable::print(llvm::raw_ostream &stream) const {
  std::vector<size_t> widths;
  for (const std::string &title : titles)
    widths.push_back(llvm::StringRef(title).ltrim('>').size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  auto line = [&](llvm::ArrayRef<std::string> cells, bool heading) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      llvm::StringRef cell = heading ? llvm::StringRef(cells[i]).ltrim('>') : llvm::StringRef(cells[i]);
      std::string space(widths[i] - cell.size(), ' ');
      bool right = llvm::StringRef(titles[i]).starts_with(">");
      text += "  " + (right ? space + cell.str() : cell.str() + space);
    }
    stream << llvm::StringRef(text).rtrim() << '\n';
  };
  line(titles, true);
  for (const auto &row : rows)
    line(row, false);
}

void dtcc::printHeading(llvm::raw_ostream &stream, llvm::StringRef text) {
  bool colors = stream.has_colors();
  if (colors)
    stream.changeColor(llvm::raw_ostream::SAVEDCOLOR, /*Bold=*/true);
  stream << text;
  if (colors)
    stream.resetColor();
  stream << '\n';
}

void dtcc::printLine(llvm::raw_ostream &stream, llvm::StringRef name, const llvm::Twine &value) {
  stream << llvm::formatv("  {0,-14}  ", name) << value << '\n';
}

void dtcc::printWrapped(llvm::raw_ostream &stream, llvm::StringRef start, llvm::StringRef text) {
  std::vector<std::string> words;
  for (llvm::StringRef word : llvm::split(text, ' '))
    if (!words.empty() && llvm::isDigit(words.back().back())) // a number and its unit
      words.back() += (" " + word).str();
    else if (!word.empty())
      words.push_back(word.str());
  stream << wrappedText(start.str(), words, " ", start.size(), /*width=*/100);
}

std::string dtcc::formatCount(uint64_t count) {
  std::string text = llvm::utostr(count);
  for (size_t i = text.size(); i > 3; i -= 3)
    text.insert(i - 3, ",");
  return text;
}
