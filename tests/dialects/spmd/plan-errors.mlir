// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{spmd.plan must be a #spmd.plan of a module, got: "{}"}}
module attributes {spmd.plan = "{}"} {
}

// -----

// expected-error@+1 {{the plan needs an spmd.mesh, got: @mesh}}
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = [], zero = 0, flat_axes = [], recompute = none>} {
}

// -----

// A mesh is checked before what names its axes.
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = ["dp"], zero = 0, flat_axes = [], recompute = none>} {
  // expected-error@+1 {{axis names must differ, got twice: "dp"}}
  spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"dp", 2, rank>]
}

// -----

// expected-error@+1 {{the plan cannot be carried out: batch_axes must name axes of the mesh, got: "pp"}}
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = ["pp"], zero = 0, flat_axes = [], recompute = none>} {
  spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
}

// -----

// expected-error@+1 {{flat_axes must not name the time axis, got: "mb"}}
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = ["mb"], zero = 1, flat_axes = ["mb"], recompute = none>} {
  spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]
}

// -----

// expected-error@+1 {{ops[0] must name an axis once, got twice: "dp"}}
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = ["dp"], zero = 0, flat_axes = [], recompute = none, ops = [<origin = 0, op = "graph.contract", factors = [<0 over ["dp"]>, <1 over ["dp"]>]>]>} {
  spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
}

// -----

// expected-error@+1 {{states[1] must name axes of the mesh, got: "tp"}}
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = ["dp"], zero = 0, flat_axes = [], recompute = none, states = [<name = "w">, <name = "b", layout = [["tp"]]>]>} {
  spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
}

// -----

// expected-error@+1 {{pipeline axis must be a rank axis of the mesh, got: "mb"}}
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = [], zero = 0, flat_axes = [], recompute = none, pipeline = <axis = "mb", schedule = "1f1b", cuts = []>>} {
  spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]
}

// -----

// expected-error@+1 {{zero must be 0, 1, 2 or 3, got: 4}}
#plan = #spmd.plan<mesh = @mesh, batch_axes = [], zero = 4, flat_axes = [], recompute = none>

// -----

// expected-error@+1 {{zero must be 0, 1, 2 or 3, got: -1}}
#state = #spmd.state_plan<name = "w", zero = -1>

// -----

// expected-error@+1 {{flat_axes must be a list of names, got: [1]}}
#plan = #spmd.plan<mesh = @mesh, batch_axes = [], zero = 0, flat_axes = [1], recompute = none>

// -----

// expected-error@+1 {{a dimension of a layout must be a list of names, got: "tp"}}
#state = #spmd.state_plan<name = "w", layout = ["tp"]>

// -----

// expected-error@+1 {{origin must be at least 0, got: -3}}
#op = #spmd.op_plan<origin = -3, op = "graph.contract">

// -----

// expected-error@+1 {{factors must ascend, got: 1}}
#op = #spmd.op_plan<origin = 0, op = "graph.contract", factors = [<1 over []>, <1 over ["dp"]>]>

// -----

// expected-error@+1 {{the index of a factor must be at least 0, got: -1}}
#split = #spmd.split<-1 over []>

// -----

// expected-error@+1 {{an action must have a stage and a micro-batch of at least 0, got: 0 and -1}}
#action = #spmd.action<0 F -1>

// -----

// expected-error@+1 {{a pipeline must have either a schedule or actions, got: neither}}
#pipeline = #spmd.pipeline<axis = "pp", cuts = [1]>

// -----

// expected-error@+1 {{a pipeline must have either a schedule or actions, got: both}}
#pipeline = #spmd.pipeline<axis = "pp", schedule = "1f1b", actions = [], cuts = [1]>

// -----

// expected-error@+1 {{the actions of a rank must be a list of #spmd.action, got: ["0F0"]}}
#pipeline = #spmd.pipeline<axis = "pp", actions = [["0F0"]], cuts = [1]>

// -----

// expected-error@+1 {{pipeline cuts must ascend from 1, got: 3}}
#pipeline = #spmd.pipeline<axis = "pp", schedule = "1f1b", cuts = [3, 3]>

// -----

// A misspelt part is refused, not passed over.
// expected-error@+1 {{duplicate or unknown struct parameter name: batchaxes}}
#plan = #spmd.plan<mesh = @mesh, batchaxes = [], zero = 0, flat_axes = [], recompute = none>

// -----

// expected-error@+1 {{gradients must be bf16, or left out, got: f16}}
module attributes {spmd.plan = #spmd.plan<mesh = @mesh, batch_axes = [], zero = 0, flat_axes = [], recompute = none, gradients = f16>} {
}
