// RUN: dtcc-opt %s -split-input-file | dtcc-opt -split-input-file | FileCheck %s

// What a plan does not say is left out.
// CHECK: module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = ["mb", "dp"], zero = 1, flat_axes = ["dp"], recompute = none>}
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = ["mb", "dp"], zero = 1, flat_axes = ["dp"], recompute = none>} {
  spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
}

// -----

// Ops and states: absent axes are not empty ones, and a choice that is absent is neither true nor false.
// CHECK: sequence_axes = ["cp"], sequence_order = zigzag, sequence_parallel = true, stationary_weights = true, zero = 3, flat_axes = ["dp"], recompute = selective, offload_optimizer = true, offload_activations = true
// CHECK-SAME: ops = [<origin = 0, op = "graph.contract", factors = [<0 over ["mb", "dp"]>, <2 over []>], partial = [], recompute = true, dispatch = true, capacity = 1.250000e+00 : f64, on_host = true>,
// CHECK-SAME: <origin = 7, op = "graph.attention", ring = true>, <origin = 9, op = "graph.relu", recompute = false>]
// CHECK-SAME: states = [<name = "wte", layout = {{\[}}[], ["cp"]], zero = 0>, <name = "scale", layout = []>, <name = "bias">]
module attributes {spmd.plan = #spmd.plan<
    mesh = @mesh, batch_axes = ["mb", "dp"], sequence_axes = ["cp"], sequence_order = zigzag, sequence_parallel = true, stationary_weights = true,
    zero = 3, flat_axes = ["dp"], recompute = selective, offload_optimizer = true, offload_activations = true,
    ops = [<origin = 0, op = "graph.contract", factors = [<0 over ["mb", "dp"]>, <2 over []>], partial = [],
            recompute = true, dispatch = true, capacity = 1.25, on_host = true>,
           <origin = 7, op = "graph.attention", ring = true>, <origin = 9, op = "graph.relu", recompute = false>],
    states = [<name = "wte", layout = [[], ["cp"]], zero = 0>, <name = "scale", layout = []>, <name = "bias">]>} {
  spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>, #spmd.axis<"cp", 2, rank>]
}

// -----

// A pipeline with a named schedule, and one that lists its actions.
// CHECK: pipeline = <axis = "pp", schedule = "interleaved:2", cuts = [3, 9, 12], devices = ["h100-sxm", "a100-80"]>
module attributes {spmd.plan = #spmd.plan<
    mesh = @mesh, batch_axes = ["mb"], zero = 0, flat_axes = [], recompute = full,
    pipeline = <axis = "pp", schedule = "interleaved:2", cuts = [3, 9, 12], devices = ["h100-sxm", "a100-80"]>>} {
  spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
}

// -----

// CHECK: actions = {{\[\[}}#spmd.action<0 F 0>, #spmd.action<0 I 0>, #spmd.action<0 W 0>], [#spmd.action<1 F 0>, #spmd.action<1 B 0>]], cuts = [4]>
module attributes {spmd.plan = #spmd.plan<
    mesh = @mesh, batch_axes = [], zero = 0, flat_axes = [], recompute = none,
    pipeline = <axis = "pp", actions = [[#spmd.action<0 F 0>, #spmd.action<0 I 0>, #spmd.action<0 W 0>],
                                        [#spmd.action<1 F 0>, #spmd.action<1 B 0>]], cuts = [4]>>} {
  spmd.mesh @mesh [#spmd.axis<"pp", 2, rank>]
}
