# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page.py PAGE [HEADING ...]: the page is whole and self-contained: tags are closed in order, nothing is fetched or
run, pictures have a label and lie within their frames; it has these headings, in this order, and maybe others."""
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "br"}
SELF_CLOSED = {"rect", "line", "path"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.headings, self.pictures, self.shapes, self.text = [], [], 0, 0, ""
        self.size = None

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag in {"script", "link", "img", "iframe", "object", "use", "image"}:
            sys.exit(f"a page must fetch and run nothing, got: <{tag}>")
        for name, value in attributes:
            if name.startswith("on") or re.search(r"(https?:)?//", value or ""):
                sys.exit(f"a page must fetch and run nothing, got: {name}={value}")
        if tag == "svg":
            self.pictures += 1
            self.size = [float(x) for x in values["viewbox"].split()]
            if not values.get("aria-label"):
                sys.exit("a picture must have a label")
        if tag == "rect":
            self.shapes += 1
            x, y, width, height = (float(values[n]) for n in ("x", "y", "width", "height"))
            if min(width, height) < 0 or x < 0 or x + width > self.size[2] or y + height > self.size[3]:
                sys.exit(f"a shape must lie in its picture, got: {values}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"tags must be closed in order, got: </{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        self.text += data + "\n"


page = Page()
text = open(sys.argv[1], encoding="utf-8").read()
page.feed(text)
page.close()
if page.open:
    sys.exit(f"all tags must be closed, got: {page.open}")
if "@import" in text or "url(" in text:
    sys.exit("a style must fetch nothing")
if not page.pictures or not page.shapes:
    sys.exit("a page must have pictures")
place = iter(page.headings)
for wanted in sys.argv[2:]:
    if wanted not in place:
        sys.exit(f"headings must be {sys.argv[2:]} in order, got: {page.headings}")
print(page.text)
