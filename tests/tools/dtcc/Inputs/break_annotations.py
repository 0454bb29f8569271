# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""break_annotations.py ANNOTATED FOLDER: annotated models of which one thing is wrong each, named after it."""
import sys

import onnx

source, folder = sys.argv[1:]


def spec_of(model, tensor):
    return next(s for n in model.graph.node for c in n.device_configurations for s in c.sharding_spec if s.tensor_name == tensor)


def write(name, change):
    model = onnx.load(source, load_external_data=False)
    change(model)
    onnx.save(model, f"{folder}/{name}.onnx")


weight = "model.fc1.weight"


def axis(model):
    spec_of(model, weight).sharded_dim[0].axis = 7


def parts(model):
    spec_of(model, weight).sharded_dim[0].simple_sharding[0].num_shards = 0


def unlike(model):
    spec_of(model, weight).sharded_dim[0].simple_sharding[0].num_shards = 4


def twice(model):
    node = model.graph.node[0]
    again = node.device_configurations[0].sharding_spec.add()
    again.tensor_name = weight


def devices(model):
    model.configuration[0].num_devices = 3


def none(model):
    model.configuration[0].num_devices = 0


for change in (axis, parts, unlike, twice, devices, none):
    write(change.__name__, change)
