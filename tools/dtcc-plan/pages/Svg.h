//===- Svg.h - Inline pictures
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes get classes, which the style of the page colours for light, dark and paper; texts
// are escaped. Coordinates are pixels of a picture that scales with the page.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_PAGES_SVG_H
#define DTCC_TOOLS_DTCC_PLAN_PAGES_SVG_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>

namespace dtcc {

/// `text` with &, <, > and quotes as entities; control characters become spaces.
std::string escapeHtml(llvm::StringRef text);

class Svg {
public:
  /// `label` says what the picture shows to those who do not see it.
  Svg(double width, double height, llvm::StringRef label);
  /// `title` is shown where the mouse rests; none if it is empty.
  void rect(double x, double y, double width, double height, llvm::StringRef style, llvm::StringRef title = "");
  enum class Anchor { Start, Middle, End };
  void text(double x, double y, llvm::StringRef text, Anchor anchor = Anchor::Start, llvm::StringRef style = "");
  void line(double x1, double y1, double x2, double y2, llvm::StringRef style);
  void path(llvm::ArrayRef<std::pair<double, double>> points, llvm::StringRef style);
  /// Small squares, or lines for styles of lines (l1, l2, ..), with their names, from (x, y) to the right.
  void legend(double x, double y, llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> stylesAndNames);
  /// The whole picture.
  std::string str() const { return content + "</svg>"; }

private:
  std::string content;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_PAGES_SVG_H
