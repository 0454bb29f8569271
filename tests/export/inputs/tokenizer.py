# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a small byte-level tokenizer with two texts (make), and reads ids back with it (check FILE)."""
import json
import sys

import numpy
import tokenizers

TEXTS = ["The cat sat on the mat, the cat.\n", "caf\u00e9 \u2260 tea", "the mat"]


def make():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=["<end>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXTS * 9, trainer)
    assert tokenizer.get_vocab_size() > 256
    tokenizer.save("tokenizer.json")
    with open("text.txt", "w") as file:
        file.write(TEXTS[0])
    with open("text.jsonl", "w") as file:
        for text in TEXTS[1:]:
            file.write(json.dumps({"text": text}) + "\n")


def check(path):
    tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
    documents, ids = [], []
    for token in numpy.load(path).tolist():
        if token == tokenizer.token_to_id("<end>"):
            documents.append(tokenizer.decode(ids))
            ids = []
        else:
            ids.append(token)
    assert documents == TEXTS and not ids, documents
    print(len(documents), "documents read back")


make() if sys.argv[1] == "make" else check(sys.argv[2])
