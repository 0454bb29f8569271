//===- TextTable.h - Columns of text for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text output of dtcc-plan: headings, lines of "name  value", and tables whose columns are as
// wide as their widest cell. Bold only on a terminal.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_TABLES_TEXTTABLE_H
#define DTCC_TOOLS_DTCC_PLAN_TABLES_TEXTTABLE_H

#include "runtime/abi/console/AmountText.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace dtcc {

/// Rows of cells under titles. A title that begins with '>' aligns its column to the right.
class TextTable {
public:
  explicit TextTable(std::vector<std::string> titles) : titles(std::move(titles)) {}
  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  bool empty() const { return rows.empty(); }
  void print(llvm::raw_ostream &stream) const;

private:
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

void printHeading(llvm::raw_ostream &stream, llvm::StringRef text);
/// "  mesh          dp=2 x tp=2".
void printLine(llvm::raw_ostream &stream, llvm::StringRef name, const llvm::Twine &value);

/// Prints `text` behind `start`, in lines of at most 100 characters that go on below its first one.
void printWrapped(llvm::raw_ostream &stream, llvm::StringRef start, llvm::StringRef text);

/// "1,234,567".
std::string formatCount(uint64_t count);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_TABLES_TEXTTABLE_H
