//===- RunTable.h - Tables of measured runs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CSV files (RFC 4180: a header line, quotes around cells with commas) of training runs:
// model, machine, plan, what was measured. docs/cost-model.md lists the columns that are
// read. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_VALIDATION_RUNTABLE_H
#define DTCC_PLANNER_VALIDATION_RUNTABLE_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtcc::cost {

class RunTable {
public:
  /// Reads `text`, the contents of `file`, which errors name. Every row must have as many
  /// cells as the header. Empty, and `error` says what is wrong and where, otherwise.
  static std::optional<RunTable> parse(std::string_view text, std::string_view file, std::string &error);

  size_t rows() const { return cells.size(); }
  /// "" for a column that the table does not have.
  std::string_view cell(size_t row, std::string_view column) const;
  bool hasColumn(std::string_view column) const;
  /// "FILE:LINE" of a row.
  std::string location(size_t row) const;
  const std::string &file() const { return name; }
  const std::vector<std::string> &columns() const { return header; }

  /// Sets a cell, in a new column at the end if there is none of that name.
  void set(size_t row, std::string_view column, std::string value);
  std::string toText() const;

private:
  std::string name;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> cells;
  std::vector<size_t> lines;
};

} // namespace dtcc::cost

#endif // DTCC_PLANNER_VALIDATION_RUNTABLE_H
