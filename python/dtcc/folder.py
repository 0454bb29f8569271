# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder that goes with its object."""
import shutil
import tempfile
import weakref
from pathlib import Path


class TemporaryFolder:
    """Like tempfile.TemporaryDirectory, which warns where nobody closes it: these live as long as a result is kept."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="dtcc-"))
        self.remove = weakref.finalize(self, shutil.rmtree, str(self.path), ignore_errors=True)
