//===- RunTable.cpp - Tables of measured runs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/validation/RunTable.h"
#include <algorithm>

namespace dtcc::cost {

namespace {
/// Takes one record off `text` and counts its lines. False: a quote is not closed.
bool takeRecord(std::string_view &text, size_t &line, std::vector<std::string> &record) {
  record.assign(1, "");
  bool quoted = false;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n')
      ++line;
    if (quoted) {
      if (c != '"')
        record.back() += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        record.back() += text[++i];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      record.emplace_back();
    } else if (c == '\n') {
      ++i;
      break;
    } else if (c != '\r') {
      record.back() += c;
    }
  }
  text.remove_prefix(i);
  return !quoted;
}

std::string quoted(const std::string &cell) {
  if (cell.find_first_of(",\"\n") == std::string::npos)
    return cell;
  std::string result = "\"";
  for (char c : cell)
    result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}
} // namespace

std::optional<RunTable> RunTable::parse(std::string_view text, std::string_view file, std::string &error) {
  RunTable table;
  table.name = file;
  size_t next = 1;
  std::vector<std::string> record;
  while (!text.empty()) {
    size_t line = next;
    std::string at = table.name + ":" + std::to_string(line) + ": ";
    if (!takeRecord(text, next, record)) {
      error = at + "a quote is not closed";
      return std::nullopt;
    }
    if (record.size() == 1 && record[0].empty())
      continue;
    if (table.header.empty()) {
      table.header = record;
      for (size_t i = 0; i < record.size(); ++i)
        if (std::find(record.begin(), record.begin() + i, record[i]) != record.begin() + i) {
          error = at + "a column must stand once, got twice: " + record[i];
          return std::nullopt;
        }
      continue;
    }
    if (record.size() != table.header.size()) {
      error = at + "a row must have the " + std::to_string(table.header.size()) +
              " cells of the header, got: " + std::to_string(record.size());
      return std::nullopt;
    }
    table.cells.push_back(record);
    table.lines.push_back(line);
  }
  if (table.header.empty()) {
    error = table.name + ": a table of runs must have a header line, got: an empty file";
    return std::nullopt;
  }
  return table;
}

bool RunTable::hasColumn(std::string_view column) const {
  return std::find(header.begin(), header.end(), column) != header.end();
}

std::string_view RunTable::cell(size_t row, std::string_view column) const {
  auto found = std::find(header.begin(), header.end(), column);
  return found == header.end() ? std::string_view() : cells[row][found - header.begin()];
}

std::string RunTable::location(size_t row) const { return name + ":" + std::to_string(lines[row]); }

void RunTable::set(size_t row, std::string_view column, std::string value) {
  auto found = std::find(header.begin(), header.end(), column);
  size_t index = found - header.begin();
  if (found == header.end()) {
    header.emplace_back(column);
    for (auto &record : cells)
      record.emplace_back();
  }
  cells[row][index] = std::move(value);
}

std::string RunTable::toText() const {
  std::string text;
  auto write = [&](const std::vector<std::string> &record) {
    for (size_t i = 0; i < record.size(); ++i)
      text += (i ? "," : "") + quoted(record[i]);
    text += '\n';
  };
  write(header);
  for (const auto &record : cells)
    write(record);
  return text;
}

} // namespace dtcc::cost
