# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Twenty architectures of twenty families under every kind of parallelism: which plans train as PyTorch, which are refused.

run.py --axes prints a row for each plan and a column for each model. A cell is the greatest relative difference of a loss
and of a gradient norm, or "refused"; below the table stand the reasons.
"""
from plans import cell

# One of a family, with routed experts in those that need `ep`.
MODELS = ("nanogpt", "dpo", "lora", "group_norm_resnet", "convnext", "qwen3", "fcos", "dit", "t5", "modernbert", "qwen3_moe",
          "vq_vae", "gat", "mixer", "clip", "dlrm", "lstm", "conformer", "mamba2", "unet")
EXPERTS = ("qwen3_moe",)

PLANS = (
    "dp=2",
    "dp=2 --zero=1",
    "dp=2 --zero=2",
    "dp=2 --zero=3",
    "dp=1 --microbatches=2 --recompute=selective",
    "dp=1 --recompute=full",
    "tp=2",
    "tp=2 --sequence-parallel=on",
    "cp=2",
    "pp=2 --schedule=1f1b --microbatches=2",
    "pp=2 --schedule=interleaved:2 --microbatches=2",
    "dp=2,tp=2 --zero=1",
    "dp=2,tp=2 --zero=3 --recompute=full",
    "pp=2,dp=2 --schedule=1f1b --microbatches=2 --zero=1",
    "pp=2,tp=2 --schedule=1f1b --microbatches=2 --recompute=full",
    "cp=2,tp=2 --zero=3 --recompute=full",
)
PLANS_OF_EXPERTS = (
    "dp=1,ep=2",
    "dp=2,ep=2 --zero=1 --moe-dispatch=alltoall",
    "pp=2,dp=1,ep=2 --schedule=1f1b --microbatches=2",
)


def plans_of(name):
    return PLANS + (PLANS_OF_EXPERTS if name in EXPERTS else ())


def show(rows, out):
    """The table as Markdown, then the counts and the reasons."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    table = {(row.get("plan"), row["model"]): row for row in rows}
    print("| plan | " + " | ".join(models) + " |\n|---|" + "---|" * len(models), file=out)
    for plan in PLANS + PLANS_OF_EXPERTS:
        cells = [cell(table[plan, model]) if (plan, model) in table else "" for model in models]
        print(f"| `{plan}` | " + " | ".join(cells) + " |", file=out)
    statuses = ("good", "refused", "far", "failed")
    count = {status: sum(row["status"] == status for row in rows) for status in statuses}
    print(f"\n{len(models)} models, {len(rows)} runs: {count['good']} equal, {count['refused']} refused, "
          f"{count['far']} too far, {count['failed']} failed", file=out)
    for row in rows:
        if row["status"] in ("refused", "failed"):
            print(f"{row['status']}: {row['model']} {row.get('plan', '')}: {row['reason']}", file=out)
