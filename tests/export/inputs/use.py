# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the lines of Python under a heading of a page of docs/, and compares the models that they make.

    use.py PAGE HEADING FOLDER TOKENS    FOLDER is the one that training started from; TOKENS, a file, is what the program
                                         generated greedily behind 3,1,4 with the trained weights
"""
import re
import sys

import torch
import transformers


def blocks(page, heading):
    with open(page) as file:
        section = file.read().split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.S)


def main():
    page, heading, folder, tokens = sys.argv[1:]
    torch.manual_seed(0)
    names = {"module": transformers.AutoModelForCausalLM.from_pretrained(folder)}
    first = {name: value.clone() for name, value in names["module"].state_dict().items()}
    for block in blocks(page, heading):
        exec(block, names)
    module, model, logits = (names[name] for name in ("module", "model", "logits"))
    assert any(not torch.equal(first[name], value) for name, value in module.state_dict().items())
    ids = torch.tensor([[3, 1, 4]])
    with torch.no_grad():
        wanted, other = module.eval()(ids).logits, model.eval()(ids)[0]
    assert torch.equal(wanted, other)
    torch.testing.assert_close(torch.tensor(logits), wanted, rtol=1e-4, atol=1e-5)
    with open(tokens) as file:
        generated = [int(token) for token in file.read().split(",")]
    expected = module.generate(ids, max_new_tokens=len(generated) - 3, do_sample=False, eos_token_id=None)[0].tolist()
    assert generated == expected, (generated, expected)
    print("equal:", len(blocks(page, heading)), "blocks")


if __name__ == "__main__":
    main()
