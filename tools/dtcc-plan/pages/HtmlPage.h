//===- HtmlPage.h - One page without anything beside it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A page holds its style and its pictures and fetches nothing: it can be mailed. Colours
// follow the light or dark preference of the reader, and are light on paper.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_PAGES_HTMLPAGE_H
#define DTCC_TOOLS_DTCC_PLAN_PAGES_HTMLPAGE_H

#include "tools/dtcc-plan/pages/Svg.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

namespace dtcc {

/// Writes the parts of a page in order; all texts are escaped.
class HtmlPage {
public:
  HtmlPage(llvm::StringRef title, llvm::raw_ostream &stream);
  ~HtmlPage();
  void heading(llvm::StringRef text);
  void paragraph(llvm::StringRef text);
  /// Figures in large letters, with what they are.
  void tiles(llvm::ArrayRef<std::pair<std::string, std::string>> namesAndValues);
  /// A picture under a heading of its own; `note` says how to read it.
  void picture(llvm::StringRef title, const Svg &svg, llvm::StringRef note = "");
  /// A title that begins with '>' aligns its column to the right.
  void table(llvm::ArrayRef<std::string> titles, llvm::ArrayRef<std::vector<std::string>> rows);
  /// Fixed-width lines, as they are.
  void lines(llvm::StringRef text);

private:
  llvm::raw_ostream &stream;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_PAGES_HTMLPAGE_H
