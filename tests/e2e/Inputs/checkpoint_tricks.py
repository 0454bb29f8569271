#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Does to a checkpoint what disks, people and older versions do.

    checkpoint_tricks.py flip FILE FRACTION     inverts one bit at that part of the file
    checkpoint_tricks.py cut FILE               takes its last byte off
    checkpoint_tricks.py old FOLDER             makes it one of version 1, which had no checksums
"""

import json
import os
import sys

what, path = sys.argv[1:3]
if what == "flip":
    with open(path, "r+b") as file:
        file.seek(int(float(sys.argv[3]) * os.path.getsize(path)))
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 4]))
elif what == "cut":
    os.truncate(path, os.path.getsize(path) - 1)
elif what == "old":
    name = os.path.join(path, "manifest.json")
    with open(name) as file:
        manifest = json.load(file)
    manifest["version"] = 1
    manifest["files"] = [row["name"] for row in manifest["files"]]
    for field in ("checksum", "data", "optimizer", "plan"):
        manifest.pop(field, None)
    with open(name, "w") as file:
        json.dump(manifest, file)
    for row in manifest["files"]:
        file_path = os.path.join(path, row)
        with open(file_path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header, data = json.loads(file.read(length)), file.read()
        del header["__metadata__"]
        text = json.dumps(header).encode()
        with open(file_path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + data)
else:
    sys.exit(f"checkpoint_tricks.py: unknown trick {what}")
