# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks at a page in headless Chromium, at three widths, light and dark.

    pictures.py CHROMIUM PAGE REFERENCE [--update]

Texts must not lie on each other nor leave their picture, the page must not be wider than its window, and letters must not be
smaller than 8 pixels. Then screenshots at a quarter of the size must look like REFERENCE-light.png and REFERENCE-dark.png: in blocks of
five by five of their pixels the mean colours may differ by TOLERANCE, but for a share LEFT_OUT of the blocks, because fonts
and forecasts differ a little. --update writes the references."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

WIDTHS = (500, 900, 1400)
HEIGHT, SCALE, SHRUNK, BLOCK = 2600, 0.5, 2, 5  # Chromium's smallest scale is a half
TOLERANCE, LEFT_OUT = 40, 0.03

LOOK = """<pre id="found"></pre><script>
addEventListener("load", () => {
  const found = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, width = frame.clientWidth;
    if (page.documentElement.scrollWidth > width + 1)
      found.push(`${width}: the page is ${page.documentElement.scrollWidth} wide`);
    for (const svg of page.querySelectorAll("svg")) {
      const picture = svg.getBoundingClientRect(), label = svg.getAttribute("aria-label");
      const texts = [...svg.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect(), text]);
      for (const [words, box, text] of texts) {
        const size = parseFloat(getComputedStyle(text).fontSize) * picture.width / svg.viewBox.baseVal.width;
        if (size < 8 && !text.classList.contains("in")) found.push(`${width}: ${label}: '${words}' is ${size} pixels high`);
        if (box.left < picture.left - 1 || box.right > picture.right + 1 || box.top < picture.top - 1 || box.bottom > picture.bottom + 1)
          found.push(`${width}: ${label}: '${words}' leaves the picture`);
      }
      for (let i = 0; i < texts.length; ++i)
        for (let j = 0; j < i; ++j) {
          const a = texts[i][1], b = texts[j][1];
          if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
            found.push(`${width}: ${label}: '${texts[i][0]}' lies on '${texts[j][0]}'`);
        }
    }
  }
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>"""


def frames(page):
    """A page of frames with the page at each width; the width of a frame is that of its window."""
    text = open(page, encoding="utf-8").read().replace("&", "&amp;").replace('"', "&quot;")
    return "<!DOCTYPE html><body style='margin:0;display:flex;align-items:flex-start'>" + "".join(
        f'<iframe srcdoc="{text}" width="{width}" height="{HEIGHT}" style="border:0;flex:none"></iframe>' for width in WIDTHS)


def chromium(program, page, *options):
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
                               f"--window-size={sum(WIDTHS)},{HEIGHT}", *options, f"file://{page}"],
                              capture_output=True, text=True, timeout=300)
    return done.stdout


def read_png(path):
    """The pixels of an 8-bit picture without a palette: (width, height, rows of RGB)."""
    data, at, packed = open(path, "rb").read(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colours in (2, 6), (depth, colours)
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    raw, count = zlib.decompress(packed), 3 if colours == 2 else 4
    rows, before, stride = [], bytearray(width * count), width * count
    for y in range(height):
        method, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left, up, corner = row[x - count] if x >= count else 0, before[x], before[x - count] if x >= count else 0
            if method == 1:
                row[x] = row[x] + left & 255
            elif method == 2:
                row[x] = row[x] + up & 255
            elif method == 3:
                row[x] = row[x] + (left + up) // 2 & 255
            elif method == 4:
                a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
                row[x] = row[x] + (left if a <= b and a <= c else up if b <= c else corner) & 255
        rows.append(row)
        before = row
    if count == 4:
        rows = [bytearray(byte for i in range(0, stride, 4) for byte in row[i:i + 3]) for row in rows]
    return width, height, rows


def shrink(picture, factor):
    width, height, rows = picture
    small = []
    for y in range(height // factor):
        lines = rows[y * factor:(y + 1) * factor]
        row = bytearray()
        for x in range(width // factor):
            for channel in range(3):
                row.append(sum(sum(line[x * factor * 3 + channel:(x + 1) * factor * 3:3]) for line in lines) // factor ** 2)
        small.append(row)
    return width // factor, height // factor, small


def write_png(path, picture):
    width, height, rows = picture

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)) + chunk(b"IEND", b""))


def main():
    program, page, reference = sys.argv[1:4]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        look, shown, shot = (os.path.join(folder, name) for name in ("look.html", "shown.html", "shot.png"))
        with open(look, "w", encoding="utf-8") as file:
            file.write(frames(page) + LOOK)
        with open(shown, "w", encoding="utf-8") as file:
            file.write(frames(page))
        found = re.search(r'<pre id="found">(.*?)</pre>', chromium(program, look, "--dump-dom", "--virtual-time-budget=4000"), re.S)
        if not found or not found.group(1):
            sys.exit("chromium did not look at the page")
        wrong += json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        ways = (("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"]))
        for name, options in ways if not wrong else ():
            chromium(program, shown, f"--screenshot={shot}", f"--force-device-scale-factor={SCALE}", *options)
            small = shrink(read_png(shot), SHRUNK)
            path = f"{reference}-{name}.png"
            if sys.argv[4:] == ["--update"]:
                write_png(path, small)
                continue
            new, old = shrink(small, BLOCK), shrink(read_png(path), BLOCK)
            if new[:2] != old[:2]:
                wrong.append(f"{name}: the picture must have {old[:2]} blocks, got: {new[:2]}")
                continue
            blocks = [max(abs(a[i + c] - b[i + c]) for c in range(3)) for a, b in zip(new[2], old[2]) for i in range(0, len(a), 3)]
            share = sum(each > TOLERANCE for each in blocks) / len(blocks)
            if share > LEFT_OUT:
                write_png(f"{os.path.basename(reference)}-{name}-new.png", small)
                wrong.append(f"{name}: {100 * share:.1f} % of the blocks look unlike {os.path.basename(path)}")
    for line in wrong[:20]:
        print(line)
    print(f"{len(wrong)} faults")
    sys.exit(1 if wrong else 0)


main()
