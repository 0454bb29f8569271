# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of weights as Hugging Face writes them, good and bad. Standard library only.

    shards.py split FILE FOLDER COUNT [--type=F32|BF16|F16|F64] [--prefix=P] [--without=NAME] [--extra=NAME] [--turn=NAME]
              writes FILE's tensors as COUNT shards, an index, config.json and tokenizer.json
    shards.py same A B [--within=X]     whether two files or folders hold the same tensors (their values, not their types)
    shards.py types A                   prints the element types that occur
    shards.py names A                   prints the names
"""
import array
import json
import os
import struct
import sys

WIDTHS = {"F32": 4, "F64": 8, "BF16": 2, "F16": 2, "I64": 8}


def read_file(path):
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, row in header.items():
        begin, end = row["data_offsets"]
        tensors[name] = row["dtype"], row["shape"], data[begin:end]
    return tensors


def read(path):
    if not os.path.isdir(path):
        return read_file(path)
    index = os.path.join(path, "model.safetensors.index.json")
    if not os.path.exists(index):
        return read_file(os.path.join(path, "model.safetensors"))
    with open(index) as file:
        shards = json.load(file)["weight_map"]
    tensors = {}
    for shard in sorted(set(shards.values())):
        tensors |= read_file(os.path.join(path, shard))
    if tensors.keys() != shards.keys():
        sys.exit(f"shards.py: the index of {path} names {sorted(shards)}, its shards hold {sorted(tensors)}")
    return tensors


def write_file(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def values(tensor):
    dtype, _, content = tensor
    if dtype == "BF16":
        return array.array("f", b"".join(b"\0\0" + content[i:i + 2] for i in range(0, len(content), 2)))
    return array.array({"F32": "f", "F64": "d", "I64": "q"}[dtype], content) if dtype != "F16" else [
        x for x, in struct.iter_unpack("<e", content)]


def convert(tensor, dtype):
    old, shape, content = tensor
    if old not in ("F32", "F64", "BF16", "F16") or old == dtype:
        return tensor
    numbers = values(tensor)
    if dtype == "BF16":  # to nearest even
        bits = array.array("I", array.array("f", numbers).tobytes())
        content = array.array("H", ((b + 0x7fff + (b >> 16 & 1)) >> 16 for b in bits)).tobytes()
    elif dtype == "F16":
        content = b"".join(struct.pack("<e", x) for x in numbers)
    else:
        content = array.array({"F32": "f", "F64": "d"}[dtype], numbers).tobytes()
    return dtype, shape, content


def turn(tensor):
    dtype, (rows, columns), content = tensor
    width = WIDTHS[dtype]
    cells = [content[i:i + width] for i in range(0, len(content), width)]
    return dtype, [columns, rows], b"".join(cells[i * columns + j] for j in range(columns) for i in range(rows))


def split(path, folder, count, options):
    tensors = {options.get("prefix", "") + name: convert(tensor, options.get("type", tensor[0]))
               for name, tensor in read(path).items()}
    tensors.pop(options.get("without"), None)
    if "extra" in options:
        tensors[options["extra"]] = "F32", [2], b"\0" * 8
    if "turn" in options:
        tensors[options["turn"]] = turn(tensors[options["turn"]])
    os.makedirs(folder, exist_ok=True)
    names, index = list(tensors), {}
    for i in range(count):
        part = names[i * len(names) // count:(i + 1) * len(names) // count]
        shard = f"model-{i + 1:05}-of-{count:05}.safetensors"
        write_file(os.path.join(folder, shard), {name: tensors[name] for name in part})
        index |= {name: shard for name in part}
    for name, content in (("model.safetensors.index.json", {"metadata": {}, "weight_map": index}),
                          ("config.json", {"model_type": "gpt2"}), ("tokenizer.json", {})):
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)


def same(a, b, within):
    one, other = read(a), read(b)
    if one.keys() != other.keys():
        sys.exit(f"shards.py: only one holds {sorted(one.keys() ^ other.keys())}")
    for name in one:
        if one[name][1] != other[name][1]:
            sys.exit(f"shards.py: '{name}' has the shapes {one[name][1]} and {other[name][1]}")
        for x, y in zip(values(one[name]), values(other[name]), strict=True):
            if abs(x - y) > within * max(1, abs(x)):
                sys.exit(f"shards.py: '{name}' holds {x} and {y}")


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    command, *rest = [a for a in sys.argv[1:] if not a.startswith("--")]
    if command == "split":
        split(rest[0], rest[1], int(rest[2]), options)
    elif command == "same":
        same(*rest, float(options.get("within", 0)))
    elif command == "types":
        print(*sorted({tensor[0] for tensor in read(rest[0]).values()}))
    else:
        print(*sorted(read(rest[0])), sep="\n")


if __name__ == "__main__":
    main()
