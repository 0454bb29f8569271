# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""annotated.py MODEL ANNOTATED: ONNX's own checker takes the annotated model, which is the model but for its annotations;
every sharding names a tensor of its node, has a device or a group of devices for each part, and these are the devices of
its stage. Prints the annotations, a line a tensor."""
import math
import sys

import onnx

model = onnx.load(sys.argv[1], load_external_data=False)
annotated = onnx.load(sys.argv[2], load_external_data=False)
onnx.checker.check_model(sys.argv[2])
(configuration,) = annotated.configuration
print(configuration.name, configuration.num_devices)
stages = {c.pipeline_stage for n in annotated.graph.node for c in n.device_configurations if c.HasField("pipeline_stage")}
for node in annotated.graph.node:
    for own in node.device_configurations:
        assert own.configuration_id == configuration.name
        for spec in own.sharding_spec:
            assert spec.tensor_name in list(node.input) + list(node.output), spec
            parts = math.prod(s.num_shards for d in spec.sharded_dim for s in d.simple_sharding)
            assert len(spec.device) == parts, spec
            groups = {e.key: list(e.value) for e in spec.index_to_device_group_map}
            devices = [device for each in spec.device for device in groups.get(each, [each])]
            assert len(set(devices)) == len(devices) and set(devices) <= set(range(configuration.num_devices)), spec
            if len(stages) < 2 or not own.HasField("pipeline_stage"):
                assert len(devices) == configuration.num_devices, spec
            else:
                assert len(devices) == configuration.num_devices // len(stages), spec
            dims = [f"{d.axis}: " + " ".join(f"{s.num_shards} of {s.dim_value}" for s in d.simple_sharding) for d in spec.sharded_dim]
            stage = f" stage {own.pipeline_stage}" if own.HasField("pipeline_stage") else ""
            print(f"{node.name}{stage} {spec.tensor_name} ({', '.join(dims)}) on {[groups.get(x, x) for x in spec.device]}")
# Without the annotations it is the same model, but for the version that has them.
for node in annotated.graph.node:
    node.ClearField("device_configurations")
annotated.ClearField("configuration")
assert annotated.ir_version >= 11
annotated.ir_version = model.ir_version
assert annotated == model
