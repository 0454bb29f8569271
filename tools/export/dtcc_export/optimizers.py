# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers of PyTorch: what dtcc can do of them, their groups as rows of the manifest, and their settings as --optimizer."""
import torch

from .losses import ExportError

# Settings in which groups may differ: the file holds them, or they change no result. A scheduler keeps a group's own rate as
# initial_lr.
OF_GROUPS = {"lr", "initial_lr", "weight_decay", "foreach", "fused", "capturable", "differentiable"}
# Settings that dtcc's optimizers lack, and the values under which an optimizer is dtcc's.
WITHOUT = {"amsgrad": [False], "maximize": [False], "initial_accumulator_value": [0],
           "ns_coefficients": [(3.4445, -4.775, 2.0315)], "adjust_lr_fn": [None, "original", "match_rms_adamw"]}


def rate_of(group):
    """The rate of a group before a scheduler changed it: schedules are options of the program."""
    return float(group.get("initial_lr", group["lr"]))


def check(optimizer):
    """Raises ExportError for what neither the file nor dtcc's --optimizer could say of a torch optimizer."""
    groups = optimizer.param_groups
    for group in groups:
        for setting, wanted in WITHOUT.items():
            if group.get(setting, wanted[0]) not in wanted:
                raise ExportError(f"dtcc's optimizers have no {setting}, got: {setting}={group[setting]}" if len(wanted) == 1 else
                                  f"dtcc's optimizers have no {setting}={group[setting]!r}; they have "
                                  f"{', '.join(map(repr, wanted))}")
        for setting in sorted(optimizer.defaults.keys() - OF_GROUPS):
            if group.get(setting) != groups[0].get(setting):
                raise ExportError("all parameter groups must have the same settings but for lr and weight_decay, got: "
                                  f"{setting}={groups[0].get(setting)} and {group.get(setting)}")
    if any("max_lr" in group for group in groups):  # OneCycleLR and CyclicLR
        raise ExportError("the rates of the optimizer are those of a cyclic scheduler, which dtcc lacks: give an optimizer without "
                          "it, and --lr-schedule to the program")
    rates = sorted({rate_of(group) for group in groups if "lr" in group})
    if len(rates) > 1 and not optimizer.defaults.get("lr"):
        raise ExportError("rates of groups are factors of the optimizer's lr, which must be above 0 beside them, got: "
                          f"lr={optimizer.defaults.get('lr')} and groups of {rates}")


def group_settings(optimizer):
    """id of a parameter -> what its group of the optimizer says: the rate as a factor of the optimizer's own, where it is
    another, and the weight decay, where groups that decay differ in it."""
    groups = [] if optimizer is None else optimizer.param_groups
    base = None if optimizer is None else optimizer.defaults.get("lr")
    decays = {float(group.get("weight_decay", 0)) for group in groups} - {0.0}
    settings = {}
    for group in groups:
        own = {}
        if base and rate_of(group) != float(base):
            own["lr_scale"] = rate_of(group) / float(base)
        if len(decays) > 1 and group.get("weight_decay", 0) != 0:
            own["weight_decay"] = float(group["weight_decay"])
        settings.update({id(p): own for p in group["params"]})
    return settings


def adam(group):
    beta1, beta2 = group["betas"]
    return {"beta1": beta1, "beta2": beta2, "eps": group["eps"]}


def sgd(group):
    return {"momentum": group["momentum"], "dampening": group["dampening"], "nesterov": int(group["nesterov"])}


def adagrad(group):
    return {"lr_decay": group["lr_decay"], "eps": group["eps"]}


def muon(group):
    return {"momentum": group["momentum"], "nesterov": int(group["nesterov"]), "ns_steps": group["ns_steps"],
            "eps": group["eps"], "match_rms": int(group["adjust_lr_fn"] == "match_rms_adamw")}


def adafactor(group):
    """Without an eps1 PyTorch takes the distance from 1 to the next number of the parameters' type."""
    eps1, eps2 = group["eps"]
    eps1 = torch.finfo(group["params"][0].dtype).eps if eps1 is None else eps1
    return {"beta2_decay": group["beta2_decay"], "eps1": eps1, "eps2": eps2, "d": group["d"]}


KINDS = {"Muon": ("muon", muon), "Adafactor": ("adafactor", adafactor), "AdamW": ("adamw", adam), "Adam": ("adam", adam),
         "SGD": ("sgd", sgd), "Adagrad": ("adagrad", adagrad)}


def text_of(optimizer):
    """Settings as ``adamw:lr=..`` of --optimizer. Groups may differ in rate and weight decay, which the exported model holds,
    and in nothing else."""
    name = type(optimizer).__name__
    if name not in KINDS or type(optimizer).__module__.split(".")[0] != "torch":
        raise TypeError(f"optimizer must be text as dtcc's --optimizer takes it, or one of torch.optim's {', '.join(KINDS)}, "
                        f"got: {name}")
    check(optimizer)
    # Adagrad has its state, at step 0, from the start.
    if any(state.get("step", 1) > 0 and any(value is not None for value in state.values())
           for state in optimizer.state.values()):
        raise ExportError("the optimizer has made steps already, and its state would be lost: give a new one")
    kind, settings_of = KINDS[name]
    groups = optimizer.param_groups
    decays = sorted({group["weight_decay"] for group in groups} - {0})
    if kind == "adam" and groups[0].get("decoupled_weight_decay"):
        kind = "adamw"
    # The rates of groups are factors of this one.
    settings = {"lr": optimizer.defaults["lr"], **settings_of(groups[0]), "weight_decay": decays[0] if decays else 0}
    return f"{kind}:" + ",".join(f"{setting}={float(value)!r}" for setting, value in settings.items())
