# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds training graphs that cannot be trained as they are to a tool: training_forms.py 'COMMAND WITH OPTIONS' FORMS FOLDER.

FORMS is tests/inputs/training-forms. Each case changes one thing of a file there and must be refused with its message, one
line, located where it says; cut and flipped checkpoints must end cleanly, whatever the verdict.
"""
import os
import random
import shlex
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

command, forms, folder = sys.argv[1:4]
tool, *always = shlex.split(command)
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
failures = []
TRAINING = "ai.onnx.preview.training"


def run(path, *options):
    try:
        return subprocess.run([tool, path, *always, *options], capture_output=True, timeout=60, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(path, -99, "", "timeout")


def check(name, path, expected, *options):
    done = run(path, *options)
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    if done.returncode != 1 or len(errors) != 1 or expected not in errors[0]:
        failures.append(f"{name}: status {done.returncode}, wanted '{expected}', got: {done.stderr.strip()[:500]}")


def works(name, path, expected, *options):
    done = run(path, *options)
    if done.returncode != 0 or expected not in done.stderr:
        failures.append(f"{name}: status {done.returncode}, wanted '{expected}', got: {done.stderr.strip()[:500]}")


def info(kind="training_info"):
    return onnx.load(os.path.join(forms, kind + ".onnx"))


def write(name, model):
    path = os.path.join(folder, name + ".onnx")
    onnx.save(model, path)
    return path


def changed(name, change, expected, *options, kind="training_info", verdict=check):
    model = info(kind)
    training = model.training_info[0]
    change(model, training, {node.name: node for node in training.algorithm.node})
    verdict(name, write(name, model), expected, *options)


def rename(list_, old, new):
    for i, value in enumerate(list_):
        if value == old:
            list_[i] = new


def bind(training, key, value):
    next(b for b in training.update_binding if b.key == key).value = value


def attribute(node, name, value):
    for i, a in enumerate(node.attribute):
        if a.name == name:
            del node.attribute[i]
            break
    node.attribute.append(helper.make_attribute(name, value))


# Bindings.
changed("key", lambda m, t, n: t.update_binding.add(key="w3", value="w1_new"),
        "update_binding must name an initializer as its key, got: 'w3'")
changed("value", lambda m, t, n: bind(t, "w1", "w9_new"),
        "update_binding of 'w1' must name a value that the algorithm computes, got: 'w9_new'")
changed("twice", lambda m, t, n: t.update_binding.add(key="w1", value="w1_new"),
        "update_binding must assign an initializer once, got twice: 'w1'")
changed("crossed", lambda m, t, n: (bind(t, "b1", "w1_new"), bind(t, "w1", "b1_new")),
        "node 'update' (Adam): its result 'b1_new' is the new value of 'b1', but update_binding assigns it to 'w1'")
changed("start_key", lambda m, t, n: t.initialization_binding.add(key="w3", value="w1_init"),
        "initialization_binding must name an initializer, got: 'w3'")
changed("start_value", lambda m, t, n: t.initialization_binding.add(key="w1", value="w9_init"),
        "initialization_binding of 'w1' must name a value of the initialization graph, got: 'w9_init'")
changed("nothing", lambda m, t, n: t.ClearField("update_binding"), "training_info must train something")
changed("slot", lambda m, t, n: t.update_binding.remove(next(b for b in t.update_binding if b.key == "w2_h")),
        "node 'update' (Adam): 'w2_h' must be updated to the new value that this node computes")
changed("no_count", lambda m, t, n: t.update_binding.remove(next(b for b in t.update_binding if b.key == "step")),
        "node 'update' (Adam): the count 'step' must be updated to itself plus 1")

# Gradients.


def second_order(m, t, n):
    t.algorithm.node.insert(2, helper.make_node("ReduceSumSquare", ["grad_w1"], ["penalty"], name="penalty", keepdims=0))
    t.algorithm.node.insert(3, helper.make_node("Add", ["loss", "penalty"], ["total"], name="total"))
    t.algorithm.node.insert(4, helper.make_node("Gradient", list(n["gradient"].input), ["g2_" + x for x in ("w1", "b1", "w2", "b2")],
                                                name="gradient2", domain=TRAINING, xs=["w1", "b1", "w2", "b2"], zs=["x", "labels"], y="total"))
    for x in ("w1", "b1", "w2", "b2"):
        rename(n["update"].input, "grad_" + x, "g2_" + x)


changed("second_order", second_order, "node 'gradient' (Gradient): a gradient of a gradient is not supported: 'total', which node 'gradient2'")


def clipped(m, t, n):
    t.algorithm.node.insert(2, helper.make_node("Clip", ["grad_w1", "low", "high"], ["clipped"], name="clip"))
    t.algorithm.initializer.extend([numpy_helper.from_array(np.float32(-1), "low"), numpy_helper.from_array(np.float32(1), "high")])
    rename(n["update"].input, "grad_w1", "clipped")


changed("clipped", clipped, "node 'clip' (Clip): makes the gradient 'clipped' of 'w1', which must be a result of Gradient as it is; --clip=X")
changed("clipped_otherwise", clipped, "trained by --optimizer instead of the file's", "--own-optimizer", verdict=works)
changed("loss_name", lambda m, t, n: attribute(n["gradient"], "y", "lost"),
        "node 'gradient' (Gradient): y must be a value that the algorithm or the model computes, got: 'lost'")
changed("taken_at", lambda m, t, n: rename(n["gradient"].input, "w1", "w2"), "must be taken at the tensors that it names in xs and zs")
changed("by_input", lambda m, t, n: (attribute(n["gradient"], "xs", ["x", "b1", "w2", "b2"]), attribute(n["gradient"], "zs", ["w1", "labels"]),
                                     n["gradient"].input.__setitem__(slice(0, 6), ["x", "b1", "w2", "b2", "w1", "labels"])),
        "must differentiate by initializers, got: 'x'")
changed("no_xs", lambda m, t, n: attribute(n["gradient"], "xs", ["w1"]), "must be taken at the tensors that it names")
changed("other", lambda m, t, n: (rename(n["update"].input, "grad_b1", "?"), rename(n["update"].input, "grad_b2", "grad_b1"), rename(n["update"].input, "?", "grad_b2")),
        "node 'update' (Adam): must update 'b1' by its own gradient, got that of 'b2'")

# Optimizers.


def unknown(m, t, n):
    n["update"].op_type = "Adadelta"


changed("unknown", unknown, "node 'update' (Adadelta): no optimizer of ai.onnx.preview.training that dtcc knows: it has Adam, Adagrad and Momentum")
changed("unknown_otherwise", unknown, "trained by --optimizer instead of the file's", "--own-optimizer", verdict=works)
changed("operands", lambda m, t, n: n["update"].input.pop(), "node 'update' (Adam): must have R, T and 4 operands a parameter, got: 17 operands")
changed("beta", lambda m, t, n: attribute(n["update"], "beta", 1.0), "beta must be at least 0 and less than 1, got: 1")
changed("finite", lambda m, t, n: attribute(n["update"], "epsilon", float("inf")), "must have finite attributes")
changed("mode", lambda m, t, n: attribute(n["update"], "mode", "heavy"), "mode must be standard or nesterov, got: 'heavy'", kind="training_info_momentum")
changed("no_mode", lambda m, t, n: n["update"].attribute.remove(next(a for a in n["update"].attribute if a.name == "mode")),
        "must have the attribute 'mode'", kind="training_info_momentum")
changed("rate", lambda m, t, n: (t.algorithm.node.append(helper.make_node("Mul", ["rate", "rate"], ["rate_new"], name="schedule")),
                                 t.update_binding.add(key="rate", value="rate_new")),
        "node 'schedule' (Mul): assigns 'rate' what dtcc cannot train by")
changed("rate_input", lambda m, t, n: (t.algorithm.initializer.remove(next(i for i in t.algorithm.initializer if i.name == "rate")),
                                       t.algorithm.input.append(helper.make_tensor_value_info("rate", TensorProto.FLOAT, []))),
        "node 'update' (Adam): the learning rate 'rate' must be an initializer that no update changes; programs have schedules")
changed("count", lambda m, t, n: next(i for i in t.algorithm.initializer if i.name == "step").CopyFrom(numpy_helper.from_array(np.int64(-3), "step")),
        "the count 'step' must start as an integer from 0 to")
changed("slot_shape", lambda m, t, n: next(i for i in t.algorithm.initializer if i.name == "w2_v").CopyFrom(numpy_helper.from_array(np.zeros((7, 23), np.float32), "w2_v")),
        "'w2_v' must have the shape and the type of 'w2'")
changed("start", lambda m, t, n: t.initialization.node[0].CopyFrom(helper.make_node("EyeLike", ["shape_w1"], ["w1_init"], name="eye")),
        "node 'eye' (EyeLike): --init=random runs an initialization graph of RandomNormal, RandomUniform and constants", "--init=random")

# Several infos: one after the other, which is one update only where they are apart.


def second(shared):
    model = info("training_info_momentum")
    training = model.training_info[0]
    other = model.training_info.add()
    other.CopyFrom(training)
    names = {o for node in training.algorithm.node for o in node.output} | {i.name for i in training.algorithm.initializer}
    moved = lambda name: name + "'" if name in names and not (shared and name == "step") else name
    halves = (["w1", "b1"], ["w2", "b2"])
    for which, (half, t) in enumerate(zip(halves, model.training_info)):
        if which:
            for node in t.algorithm.node:
                node.input[:] = [moved(i) for i in node.input]
                node.output[:] = [moved(o) for o in node.output]
                for a in node.attribute:
                    if a.name == "y":
                        a.s = moved(a.s.decode()).encode()
            for list_ in (t.algorithm.initializer, t.algorithm.output):
                for each in list_:
                    each.name = moved(each.name)
            del t.algorithm.input[:]
            t.ClearField("initialization_binding")
        kept = [b for b in t.update_binding if b.key.split("_")[0] in (*half, "step")]
        del t.update_binding[:]
        for b in kept:
            t.update_binding.add(key=moved(b.key) if which else b.key, value=moved(b.value) if which else b.value)
    return model


check("dependent", write("dependent", second(False)),
      "the loss 'loss'' of a later training_info depends on 'b1', which an earlier one has updated by then")

def towers():
    """Two infos, each with a loss and parameters of its own."""
    model = info("training_info_momentum")
    del model.graph.node[:]
    for name, loss in (("1", "mean"), ("2", "mean")):
        model.graph.node.append(helper.make_node("Gemm", ["x", "w" + name, "b" + name], ["y" + name], name="fc" + name))
    del model.graph.initializer[:]
    for name in ("1", "2"):
        model.graph.initializer.extend([numpy_helper.from_array(np.full((19, 7), 0.1, np.float32), "w" + name),
                                        numpy_helper.from_array(np.zeros(7, np.float32), "b" + name)])
    model.graph.output[0].name = "y1"
    del model.training_info[:]
    for name in ("1", "2"):
        t = model.training_info.add()
        for kind, value in (("rate", np.float32(0.1)), ("step", np.int64(0)), ("one", np.int64(1)), ("vw", np.zeros((19, 7), np.float32)), ("vb", np.zeros(7, np.float32))):
            t.algorithm.initializer.append(numpy_helper.from_array(np.array(value), kind + name))
        if name == "1":
            t.algorithm.input.append(helper.make_tensor_value_info("labels", TensorProto.INT64, ["batch"]))
        xs = ["w" + name, "b" + name]
        t.algorithm.node.extend([
            helper.make_node("SoftmaxCrossEntropyLoss", ["y" + name, "labels"], ["loss" + name], name="loss" + name),
            helper.make_node("Gradient", xs, ["gw" + name, "gb" + name], name="gradient" + name, domain=TRAINING, xs=xs, y="loss" + name),
            helper.make_node("Momentum", ["rate" + name, "step" + name, *xs, "gw" + name, "gb" + name, "vw" + name, "vb" + name],
                             [p + name for p in ("w_", "b_", "vw_", "vb_")], name="update" + name, domain=TRAINING, alpha=0.9, beta=1.0, mode="standard", norm_coefficient=0.0),
            helper.make_node("Add", ["step" + name, "one" + name], ["step_" + name], name="count" + name)])
        for key, value in (("w", "w_"), ("b", "b_"), ("vw", "vw_"), ("vb", "vb_"), ("step", "step_")):
            t.update_binding.add(key=key + name, value=value + name)
    return model


works("apart", write("apart", towers()), "the loss 'loss1' + 'loss2', trained by Momentum of node 'update1' at a rate of 0.1")
unequal = towers()
attribute(unequal.training_info[1].algorithm.node[2], "alpha", 0.8)
check("unequal", write("unequal", unequal), "node 'update2' (Momentum): one optimizer trains all parameters: this node must have the operator, the settings, the rate and the count of node 'update1'")

# ONNX Runtime's artifacts.


def artifacts(name, *without):
    target = os.path.join(folder, name)
    shutil.copytree(os.path.join(forms, "ort_mlp"), target)
    for file in without:
        os.remove(os.path.join(target, file))
    return target


def refused(name, expected, *options, without=(), change=None, model="training_model.onnx"):
    target = artifacts(name, *without)
    if change:
        change(target)
    check(name, os.path.join(target, model), expected, *options)


def edit(file, change):
    def apply(target):
        path = os.path.join(target, file)
        model = onnx.load(path)
        change(model)
        onnx.save(model, path)
    return apply


def resize(length):
    def apply(target):
        path = os.path.join(target, "checkpoint")
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data[:length])
    return apply


refused("no_optimizer", "the optimizer of the artifacts must stand beside the training model", without=["optimizer_model.onnx"])
refused("no_checkpoint", "cannot read the checkpoint of the artifacts", without=["checkpoint"])
refused("short", "must be a checkpoint of ONNX Runtime's training (identifier ODTC)", change=resize(6))
refused("cut", "is cut off or damaged", change=resize(3000))
refused("optimizer_given", "is the optimizer of ONNX Runtime's training artifacts", model="optimizer_model.onnx")
refused("eval_given", "is the evaluation model of ONNX Runtime's training artifacts", model="eval_model.onnx")
refused("other_loss", "--loss cannot be given with a training model", "--loss=mse:prediction=loss,target=t")
refused("other_optimizer", "node 'onnx::AdamWOptimizer::2' (Adafactor): the optimizer of the artifacts must be one AdamWOptimizer",
        change=edit("optimizer_model.onnx", lambda m: setattr(m.graph.node[0], "op_type", "Adafactor")))
refused("uncorrected", "must be one AdamWOptimizer with bias correction",
        change=edit("optimizer_model.onnx", lambda m: attribute(m.graph.node[0], "correct_bias", 0)))
refused("shape", "the checkpoint holds 'model.fc1.weight' with the shape [61, 37], the training model with another one",
        change=edit("training_model.onnx", lambda m: setattr(m.graph.input[2].type.tensor_type.shape.dim[0], "dim_value", 62)))
refused("renamed", "the checkpoint holds 'model.fc2.bias', which is no input of the training model",
        change=edit("training_model.onnx", lambda m: m.graph.input.remove(m.graph.input[5])))
refused("surplus", "the training model trains 'model.fc3.bias', which the checkpoint does not hold",
        change=edit("training_model.onnx", lambda m: m.graph.input.append(
            helper.make_tensor_value_info("model.fc3.bias_grad.accumulation.buffer", TensorProto.FLOAT, [2]))))
works("own", os.path.join(artifacts("own", "optimizer_model.onnx"), "training_model.onnx"), "trained by --optimizer", "--own-optimizer")
works("eval", os.path.join(artifacts("fine"), "training_model.onnx"), "a training model of ONNX Runtime's artifacts: the loss 'loss', trained by AdamWOptimizer")

target = artifacts("descent")
edit("optimizer_model.onnx", lambda m: setattr(m.graph.node[0], "op_type", "SGDOptimizerV2"))(target)
works("descent", os.path.join(target, "training_model.onnx"), "trained by SGDOptimizerV2 at a rate of 0.001")

# Damaged checkpoints end cleanly.
random.seed(1)
with open(os.path.join(forms, "ort_mlp", "checkpoint"), "rb") as file:
    whole = file.read()
target = artifacts("damaged")
tables = [i for i in range(0, 96)] + [i for i in range(len(whole) - 9100, len(whole) - 9000)] + list(range(2900, 3300))
for case in range(60):
    data = bytearray(whole[:random.randrange(8, len(whole))] if case % 6 == 0 else whole)
    for _ in range(random.randrange(1, 4)):
        data[min(random.choice(tables), len(data) - 1)] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    with open(os.path.join(target, "checkpoint"), "wb") as file:
        file.write(data)
    done = run(os.path.join(target, "training_model.onnx"))
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    if done.returncode not in (0, 1) or len(errors) != done.returncode:
        failures.append(f"damaged {case}: status {done.returncode}, {len(errors)} errors: {done.stderr.strip()[:400]}")

for failure in failures:
    print(failure)
sys.exit(bool(failures))
