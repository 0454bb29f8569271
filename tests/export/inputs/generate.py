# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Token models that generate, and what PyTorch and transformers generate with them.

    generate.py NAME WEIGHTS COUNT PROMPT OUTPUT [WINDOW]
        the tokens in the file OUTPUT must be those of transformers' greedy generate() behind PROMPT or, with WINDOW, of a
        loop that shows the model the last WINDOW tokens
"""
import sys

import torch

VOCABULARY, LENGTH, BATCH = 61, 16, 4
# Large weights, and a classifier of its own, so that logits differ by more than rounding and no token repeats for ever.
SPREAD = 0.4


def inputs():
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH), generator=torch.Generator().manual_seed(1))
    return {"input_ids": ids, "labels": ids.clone()}


def gpt2():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=24, n_layer=2, n_head=4, use_cache=False,
                           bos_token_id=0, eos_token_id=0, initializer_range=SPREAD, tie_word_embeddings=False)
    return hf.GPT2LMHeadModel(config), inputs()


def llama():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.LlamaConfig(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=48, num_hidden_layers=2,
                            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=LENGTH, use_cache=False,
                            bos_token_id=0, eos_token_id=0, initializer_range=SPREAD)
    return hf.LlamaForCausalLM(config), inputs()


class NextToken(torch.nn.Module):
    """A causal model of the user's own, whose labels are shifted by whoever trains it."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, 24)
        self.mixer = torch.nn.Conv1d(24, 24, 3)
        self.head = torch.nn.Linear(24, VOCABULARY)
        torch.nn.init.normal_(self.head.weight, std=SPREAD)

    def forward(self, input_ids):
        x = self.embedding(input_ids)
        return self.head(x + torch.tanh(self.mixer(torch.nn.functional.pad(x.mT, (2, 0))).mT))


def own():
    torch.manual_seed(0)
    loss = lambda logits, labels: torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    return NextToken(), inputs(), {"loss": loss}


def bert():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.BertConfig(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=48, num_hidden_layers=2,
                           num_attention_heads=4, max_position_embeddings=LENGTH)
    return hf.BertForMaskedLM(config), inputs()


def t5():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.T5Config(vocab_size=VOCABULARY, d_model=24, d_kv=6, d_ff=48, num_layers=2, num_heads=4, use_cache=False,
                         decoder_start_token_id=0)
    return hf.T5ForConditionalGeneration(config), inputs()


def wanted(module, prompt, count, window):
    ids = torch.tensor([prompt])
    with torch.no_grad():
        if window is None:
            made = module.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=count, do_sample=False,
                                   eos_token_id=None, pad_token_id=0)
            return made[0].tolist()
        for _ in range(count):
            made = module(ids[:, -window:])
            logits = made if isinstance(made, torch.Tensor) else made.logits
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], 1)
        return ids[0].tolist()


def main():
    import safetensors.torch
    name, weights, count, prompt, output, *window = sys.argv[1:]
    module = globals()[name]()[0].eval()
    if weights != "initial":
        # Tied weights are saved once.
        _, extra = module.load_state_dict(safetensors.torch.load_file(weights), strict=False)
        assert not extra, extra
    with open(output) as file:
        found = [int(token) for token in file.read().split(",")]
    expected = wanted(module, [int(token) for token in prompt.split(",")], int(count), int(window[0]) if window else None)
    assert found == expected, (found, expected)
    print("equal:", len(found), "tokens,", len(set(found)), "different")


if __name__ == "__main__":
    main()
