//===- HtmlPage.cpp - One page without anything beside it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/pages/HtmlPage.h"

using namespace dtcc;
using llvm::StringRef;

/// Eight hues for light and for dark pages. A class is a meaning, and has one colour in all pictures of a page: the
/// computation, what is computed again, collectives, gradients, the optimizer, ...
static constexpr StringRef kStyle = R"(
:root{color-scheme:light dark;--page:#fcfcfb;--ink:#1c1c1a;--soft:#6a6963;--line:#dddcd6;--c1:#2a78d6;--c2:#eb6834;
--c3:#1baf7a;--c4:#4a3aa7;--c5:#eda100;--c6:#e87ba4;--c7:#0b7285;--c8:#a3264f;--rest:#b9b8b1}
@media (prefers-color-scheme:dark){:root{--page:#1a1a19;--ink:#f2f1ec;--soft:#a5a49c;--line:#3b3b38;--c1:#3987e5;
--c2:#d95926;--c3:#199e70;--c4:#9085e9;--c5:#c98500;--c6:#f0a3c6;--c7:#2aa5bb;--c8:#c53d6b;--rest:#5b5b56}}
body{background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif;max-width:1040px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;line-height:1.25;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .4rem}
p{margin:.3rem 0;max-width:46rem}.soft,figcaption{color:var(--soft)}
dl{display:flex;flex-wrap:wrap;gap:.4rem 2.2rem;margin:1rem 0}dt{color:var(--soft);font-size:.85rem}dd{margin:0;font-size:1.35rem}
figure{margin:.4rem 0 0;overflow-x:auto}figcaption{font-size:.85rem}svg{width:100%;min-width:820px;height:auto;display:block}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}svg text.soft{fill:var(--soft)}svg text.in{fill:#fff;font-size:9px}
div.wide{overflow-x:auto}td:last-child{min-width:16rem}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
th{text-align:left;font-weight:600;border-bottom:1px solid var(--line)}th,td{padding:.22rem .8rem .22rem 0;vertical-align:top}
td{border-bottom:1px solid var(--line)}.n{text-align:right;white-space:nowrap}
pre{font-size:.78rem;overflow-x:auto}
.compute{fill:var(--c1)}.again{fill:var(--c1);fill-opacity:.45}.collective{fill:var(--c2)}.buffers{fill:var(--c2);fill-opacity:.45}
.gradient{fill:var(--c3)}.backward{fill:var(--c4)}.weight{fill:var(--c4);fill-opacity:.55}.optimizer{fill:var(--c5)}
.message{fill:var(--c6)}.parameter{fill:var(--c7)}.input{fill:var(--c7);fill-opacity:.45}.activation{fill:var(--c8)}
.work{fill:var(--c8);fill-opacity:.45}.idle{fill:var(--rest)}.host{fill:var(--rest);fill-opacity:.5}
.copy{fill:var(--soft)}.next{fill:var(--soft);fill-opacity:.4}.box{fill:none;stroke:var(--ink);stroke-opacity:.55}.edge{stroke:var(--page);stroke-width:.5}
.axis{stroke:var(--line)}.limit{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:2 3}
.l1,.l2,.l3{fill:none;stroke-width:1.5;stroke:var(--c8)}.l2{stroke-dasharray:8 4}.l3{stroke-dasharray:2 3}
@media print{:root{color-scheme:light;--page:#fff;--ink:#000;--soft:#555;--line:#ccc;--c1:#2a78d6;--c2:#eb6834;--c3:#1baf7a;
--c4:#4a3aa7;--c5:#eda100;--c6:#e87ba4;--c7:#0b7285;--c8:#a3264f;--rest:#b9b8b1}body{margin:0;max-width:none;-webkit-print-color-adjust:exact;
print-color-adjust:exact}figure,tr{break-inside:avoid}h2{break-after:avoid}div.wide,figure{overflow:visible}svg{min-width:0}}
)";

HtmlPage::HtmlPage(StringRef title, llvm::raw_ostream &stream) : stream(stream) {
  stream << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" << escapeHtml(title)
         << "</title>\n<style>" << kStyle << "</style>\n</head>\n<body>\n<h1>" << escapeHtml(title) << "</h1>\n";
}

HtmlPage::~HtmlPage() { stream << "</body>\n</html>\n"; }

void HtmlPage::heading(StringRef text) { stream << "<h2>" << escapeHtml(text) << "</h2>\n"; }

void HtmlPage::paragraph(StringRef text) { stream << "<p>" << escapeHtml(text) << "</p>\n"; }

void HtmlPage::tiles(llvm::ArrayRef<std::pair<std::string, std::string>> namesAndValues) {
  stream << "<dl>\n";
  for (const auto &[name, value] : namesAndValues)
    stream << "<div><dt>" << escapeHtml(name) << "</dt><dd>" << escapeHtml(value) << "</dd></div>\n";
  stream << "</dl>\n";
}

void HtmlPage::picture(StringRef title, const Svg &svg, StringRef note) {
  heading(title);
  stream << "<figure>" << svg.str();
  if (!note.empty())
    stream << "<figcaption>" << escapeHtml(note) << "</figcaption>";
  stream << "</figure>\n";
}

void HtmlPage::table(llvm::ArrayRef<std::string> titles, llvm::ArrayRef<std::vector<std::string>> rows) {
  std::vector<StringRef> styles;
  stream << "<div class=\"wide\"><table>\n<thead><tr>";
  for (StringRef title : titles) {
    styles.push_back(title.consume_front(">") ? " class=\"n\"" : "");
    stream << "<th" << styles.back() << ">" << escapeHtml(title) << "</th>";
  }
  stream << "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string> &row : rows) {
    stream << "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      stream << "<td" << styles[i] << ">" << escapeHtml(row[i]) << "</td>";
    stream << "</tr>\n";
  }
  stream << "</tbody></table></div>\n";
}

void HtmlPage::lines(StringRef text) {
  stream << "<pre>";
  llvm::SmallVector<StringRef> each;
  text.rtrim().split(each, '\n');
  for (StringRef line : each)
    stream << escapeHtml(line) << '\n';
  stream << "</pre>\n";
}
