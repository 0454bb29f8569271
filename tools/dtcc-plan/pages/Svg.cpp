//===- Svg.cpp - Inline pictures
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/pages/Svg.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;
using llvm::formatv;
using llvm::StringRef;

std::string dtcc::escapeHtml(StringRef text) {
  std::string safe;
  for (char each : text) {
    switch (each) {
    case '&':
      safe += "&amp;";
      break;
    case '<':
      safe += "&lt;";
      break;
    case '>':
      safe += "&gt;";
      break;
    case '"':
      safe += "&quot;";
      break;
    case '\'':
      safe += "&#39;";
      break;
    default:
      safe += static_cast<unsigned char>(each) < 0x20 ? ' ' : each;
    }
  }
  return safe;
}

static std::string number(double value) {
  std::string text = formatv("{0:f2}", value).str();
  while (text.back() == '0')
    text.pop_back();
  if (text.back() == '.')
    text.pop_back();
  return text;
}

static std::string titleOf(StringRef title) {
  return title.empty() ? "/>" : "><title>" + escapeHtml(title) + "</title></rect>";
}

Svg::Svg(double width, double height, StringRef label) {
  content = formatv("<svg viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"{2}\">", number(width), number(height),
                    escapeHtml(label))
                .str();
}

void Svg::rect(double x, double y, double width, double height, StringRef style, StringRef title) {
  content += formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" class=\"{4}\"{5}", number(x), number(y),
                     number(width), number(height), style, titleOf(title))
                 .str();
}

void Svg::text(double x, double y, StringRef text, Anchor anchor, StringRef style) {
  static constexpr StringRef anchors[] = {"start", "middle", "end"};
  content += formatv("<text x=\"{0}\" y=\"{1}\" text-anchor=\"{2}\"{3}>{4}</text>", number(x), number(y),
                     anchors[int(anchor)], style.empty() ? "" : " class=\"" + style.str() + "\"", escapeHtml(text))
                 .str();
}

void Svg::line(double x1, double y1, double x2, double y2, StringRef style) {
  content += formatv("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{3}\" class=\"{4}\"/>", number(x1), number(y1),
                     number(x2), number(y2), style)
                 .str();
}

void Svg::path(llvm::ArrayRef<std::pair<double, double>> points, StringRef style) {
  std::string text;
  for (auto [x, y] : points)
    text += (text.empty() ? "M" : " L") + number(x) + " " + number(y);
  content += formatv("<path d=\"{0}\" class=\"{1}\"/>", text, style).str();
}

void Svg::legend(double x, double y, llvm::ArrayRef<std::pair<StringRef, StringRef>> stylesAndNames) {
  for (auto [style, name] : stylesAndNames) {
    bool isLine = style.size() == 2 && style.front() == 'l';
    double sample = isLine ? 26 : 10;
    if (isLine)
      path({{x, y - 4}, {x + sample, y - 4}}, style);
    else
      rect(x, y - 9, sample, 10, style);
    text(x + sample + 4, y, name);
    x += sample + 4 + 6.2 * double(name.size()) + 16;
  }
}
