# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command whose standard error is a terminal of a width: what that was sent, with returns and erasures as words."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

columns, command = int(sys.argv[1]), sys.argv[2:]
terminal, end = pty.openpty()
fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
process = subprocess.Popen(command, stderr=end, stdin=subprocess.DEVNULL, env=os.environ | {"TERM": "xterm"})
os.close(end)
text = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:  # all have closed their end
        break
    if not part:
        break
    text += part
lines = text.decode().replace("\r\n", "\n").replace("\r\x1b[K", "<begin>\n")
sys.stdout.write(lines)
sys.exit(process.wait())
