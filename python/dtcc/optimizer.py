# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An optimizer of PyTorch as dtcc's --optimizer."""
from typing import Any, Dict


def adam(group: Dict[str, Any]) -> Dict[str, Any]:
    beta1, beta2 = group["betas"]
    return {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"]}


def sgd(group: Dict[str, Any]) -> Dict[str, Any]:
    return {"lr": group["lr"], "momentum": group["momentum"], "dampening": group["dampening"],
            "nesterov": int(group["nesterov"])}


def adagrad(group: Dict[str, Any]) -> Dict[str, Any]:
    return {"lr": group["lr"], "lr_decay": group["lr_decay"], "eps": group["eps"]}


def muon(group: Dict[str, Any]) -> Dict[str, Any]:
    return {"lr": group["lr"], "momentum": group["momentum"], "nesterov": int(group["nesterov"]), "ns_steps": group["ns_steps"],
            "eps": group["eps"], "match_rms": int(group["adjust_lr_fn"] == "match_rms_adamw")}


def adafactor(group: Dict[str, Any]) -> Dict[str, Any]:
    """Without an eps1 PyTorch takes the distance from 1 to the next number of the parameters' type."""
    import torch
    eps1, eps2 = group["eps"]
    eps1 = torch.finfo(group["params"][0].dtype).eps if eps1 is None else eps1
    return {"lr": group["lr"], "beta2_decay": group["beta2_decay"], "eps1": eps1, "eps2": eps2, "d": group["d"]}


KINDS = {"Muon": ("muon", muon), "Adafactor": ("adafactor", adafactor), "AdamW": ("adamw", adam), "Adam": ("adam", adam),
         "SGD": ("sgd", sgd), "Adagrad": ("adagrad", adagrad)}
# Settings that dtcc's optimizers lack, and the values under which an optimizer is dtcc's.
WITHOUT = {"amsgrad": [False], "maximize": [False], "initial_accumulator_value": [0],
           "ns_coefficients": [(3.4445, -4.775, 2.0315)], "adjust_lr_fn": [None, "original", "match_rms_adamw"]}


def text_of(optimizer: Any) -> str:
    """Settings as ``adamw:lr=..``. Groups may differ in rate and weight decay, which the exported model holds, and in
    nothing else."""
    name = type(optimizer).__name__
    if name not in KINDS or type(optimizer).__module__.split(".")[0] != "torch":
        raise TypeError(f"optimizer must be text as dtcc's --optimizer takes it, or one of torch.optim's {', '.join(KINDS)}, "
                        f"got: {name}")
    kind, settings_of = KINDS[name]
    groups = optimizer.param_groups
    # The rates of groups are factors of this one.
    rate = {"lr": optimizer.defaults["lr"]}
    settings = {**settings_of(groups[0]), **rate}
    for group in groups:
        if {**settings_of(group), **rate} != settings:
            raise ValueError(f"all parameter groups must have the same settings but for lr and weight_decay, got: {settings} "
                             f"and {settings_of(group)}")
        for setting, wanted in WITHOUT.items():
            if group.get(setting, wanted[0]) not in wanted:
                raise ValueError(f"dtcc's {kind} has no {setting}, got: {setting}={group[setting]}" if len(wanted) == 1 else
                                 f"dtcc's {kind} has no {setting}={group[setting]!r}; it has "
                                 f"{', '.join(map(repr, wanted))}")
    # Adagrad has its state, at step 0, from the start.
    if any(state.get("step", 1) > 0 and any(value is not None for value in state.values())
           for state in optimizer.state.values()):
        raise ValueError("the optimizer has made steps already, and its state would be lost: give a new one")
    decays = sorted({group["weight_decay"] for group in groups} - {0})
    settings["weight_decay"] = decays[0] if decays else 0
    if kind == "adam" and any(group.get("decoupled_weight_decay") for group in groups):
        kind = "adamw"
    for setting, value in settings.items():
        settings[setting] = float(value)
    return f"{kind}:" + ",".join(f"{setting}={value!r}" for setting, value in settings.items())
