# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tables.py make: writes tables of texts and of samples, whole and damaged, into the current folder.
tables.py text IDS: the ids must be the bytes of the texts, each with a zero behind it.
tables.py arrays FOLDER INPUT COLUMN ..: the shards of each input must hold its column of samples.parquet."""
import glob
import sys

import numpy
import pyarrow
from pyarrow import ipc, parquet

TEXTS = ["one", "zwei, é", "", "four"]


def write(name, table):
    parquet.write_table(table, f"{name}.parquet", row_group_size=7)


if sys.argv[1] == "make":
    texts = pyarrow.table({"number": range(len(TEXTS)), "text": TEXTS})
    write("text", texts)
    for name, form in ("file", ipc.new_file), ("stream", ipc.new_stream):
        with form(f"{name}.arrow", texts.schema) as file:
            file.write_table(texts)
    write("empty", pyarrow.table({"text": ["x", None]}))
    with open("broken.parquet", "w") as file:
        file.write("this is no table\n")
    random = numpy.random.default_rng(0)
    samples = pyarrow.table({
        "image": pyarrow.array(random.random((40, 4)).tolist(), pyarrow.list_(pyarrow.float32())),
        "labels": random.integers(5, size=40), "ragged": [[0] * (i % 3 + 1) for i in range(40)]})
    write("samples", samples)
    with ipc.new_stream("samples.arrow", samples.schema) as file:
        file.write_table(samples, max_chunksize=9)
elif sys.argv[1] == "text":
    ids = numpy.load(sys.argv[2])
    assert bytes(ids.tolist()) == b"".join(text.encode() + b"\0" for text in TEXTS), ids
else:
    table = parquet.read_table("samples.parquet")
    for name, column in zip(sys.argv[3::2], sys.argv[4::2]):
        found = numpy.concatenate([numpy.load(path) for path in sorted(glob.glob(f"{sys.argv[2]}/{name}/*.npy"))])
        assert found.tolist() == table[column].to_pylist(), name
