// RUN: dtcc-opt --exec-expand-composites %s | FileCheck %s

// CHECK-LABEL: func.func @rms_norm
// CHECK: %[[SQUARE:.*]] = graph.mul %arg0, %arg0 {phase = "F"}
// CHECK: %[[SUM:.*]] = graph.reduce sum %[[SQUARE]] [2]
// CHECK: %[[RSTD:.*]] = graph.rsqrt
// CHECK: graph.broadcast %[[RSTD]] [0, 1]
// CHECK: graph.broadcast %arg1 [2]
// CHECK-NOT: graph.rms_norm
func.func @rms_norm(%x: tensor<2x3x8xf32>, %s: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %y, %rstd = graph.rms_norm %x, %s [2] {eps = 1.0e-5 : f64, origin = 3 : i64, phase = "F"}
      : (tensor<2x3x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3xf32>)
  return %y : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @rotary
// CHECK: %[[X:.*]]:2 = graph.unstack %arg0 {dim = 2 : i64}
// CHECK: graph.broadcast %arg1 [1, 2]
// CHECK: graph.stack %{{.*}}, %{{.*}} {dim = 2 : i64}
func.func @rotary(%x: tensor<2x3x2x4xf32>, %cos: tensor<3x4xf32>, %sin: tensor<3x4xf32>) -> tensor<2x3x2x4xf32> {
  %y = graph.rotary %x, %cos, %sin [1, 3] {pair = 2 : i64}
      : (tensor<2x3x2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x2x4xf32>
  return %y : tensor<2x3x2x4xf32>
}

// Gate and up of the picked experts, weighted rows, and a sum over the picks in the second product.
// CHECK-LABEL: func.func @experts
// CHECK: %[[H:.*]] = graph.grouped_contract "mnc,egfc->mnkgf" rows "mnk" %arg0, %arg3, %arg1 {group_axes = ["ep"]}
// CHECK: %[[P:.*]]:2 = graph.unstack %[[H]] {dim = 3 : i64}
// CHECK: %[[S:.*]] = graph.silu %[[P]]#0
// CHECK: %[[G:.*]] = graph.mul %[[S]], %[[P]]#1
// CHECK: %[[W:.*]] = graph.broadcast %arg2 [0, 1, 2]
// CHECK: %[[A:.*]] = graph.mul %[[G]], %[[W]]
// CHECK: graph.grouped_contract "mnkf,edf->mnd" rows "mnk" %[[A]], %arg4, %arg1 {group_axes = ["ep"]}
func.func @experts(%x: tensor<2x3x6xf32>, %i: tensor<2x3x2xi64>, %r: tensor<2x3x2xf32>, %in: tensor<4x2x5x6xf32>, %out: tensor<4x6x5xf32>) -> tensor<2x3x6xf32> {
  %y, %h = graph.experts %x, %i, %r, %in, %out {expert_axes = ["ep"]}
      : (tensor<2x3x6xf32>, tensor<2x3x2xi64>, tensor<2x3x2xf32>, tensor<4x2x5x6xf32>, tensor<4x6x5xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x2x2x5xf32>)
  return %y : tensor<2x3x6xf32>
}

// Rows of halves meet their weights in f32 and are rounded once: what is fused is not rounded in between.
// CHECK-LABEL: func.func @half_experts
// CHECK: %[[H:.*]] = graph.grouped_contract {{.*}} -> tensor<3x2x2x5xbf16>
// CHECK: %[[P:.*]]:2 = graph.unstack %[[H]]
// CHECK: %[[S:.*]] = graph.silu %[[P]]#0 : tensor<3x2x5xbf16>
// CHECK: %[[M:.*]] = graph.mul %[[S]], %[[P]]#1
// CHECK: %[[W:.*]] = graph.broadcast %arg2 [0, 1] : (tensor<3x2xf32>) -> tensor<3x2x5xf32>
// CHECK: %[[F:.*]] = graph.cast %[[M]] : (tensor<3x2x5xbf16>) -> tensor<3x2x5xf32>
// CHECK: %[[A:.*]] = graph.mul %[[F]], %[[W]]
// CHECK: %[[R:.*]] = graph.cast %[[A]] : (tensor<3x2x5xf32>) -> tensor<3x2x5xbf16>
// CHECK: graph.grouped_contract "mkf,edf->md" rows "mk" %[[R]], %arg4, %arg1 {{.*}} -> tensor<3x6xbf16>
func.func @half_experts(%x: tensor<3x6xbf16>, %i: tensor<3x2xi64>, %r: tensor<3x2xf32>, %in: tensor<4x2x5x6xbf16>, %out: tensor<4x6x5xbf16>) -> tensor<3x6xbf16> {
  %y, %h = graph.experts %x, %i, %r, %in, %out
      : (tensor<3x6xbf16>, tensor<3x2xi64>, tensor<3x2xf32>, tensor<4x2x5x6xbf16>, tensor<4x6x5xbf16>) -> (tensor<3x6xbf16>, tensor<3x2x2x5xbf16>)
  return %y : tensor<3x6xbf16>
}

// Gradients: of hidden in halves, of weights as these are; sums of a matrix' rows as they are wanted.
// CHECK-LABEL: func.func @half_gradients
// CHECK: graph.grouped_contract {{.*}} -> tensor<3x2x5xbf16>
// CHECK: %[[P:.*]]:2 = graph.unstack %arg5
// CHECK: graph.silu %[[P]]#0
// CHECK: graph.reduce sum {{.*}} : (tensor<3x2x5xbf16>) -> tensor<3x2xf32>
// CHECK: graph.silu_grad {{.*}} tensor<3x2x5xbf16>
// CHECK: graph.stack {{.*}} -> tensor<3x2x2x5xbf16>
// CHECK: graph.grouped_contract {{.*}} -> tensor<3x6xbf16>
// CHECK: graph.grouped_contract {{.*}} -> tensor<4x2x5x6xf32>
// CHECK: %[[Q:.*]]:2 = graph.unstack %arg5
// CHECK: graph.silu %[[Q]]#0
// CHECK: graph.grouped_contract "md,mkf->edf" {{.*}} : (tensor<3x6xbf16>, tensor<3x2x5xbf16>, tensor<3x2xi64>) -> tensor<4x6x5xf32>
func.func @half_gradients(%dy: tensor<3x6xbf16>, %i: tensor<3x2xi64>, %r: tensor<3x2xf32>, %in: tensor<4x2x5x6xbf16>, %out: tensor<4x6x5xbf16>, %h: tensor<3x2x2x5xbf16>)
    -> (tensor<3x6xbf16>, tensor<3x2xf32>, tensor<4x2x5x6xf32>, tensor<4x6x5xf32>) {
  %dx, %dr, %dh = graph.experts_grad %dy, %i, %r, %in, %out, %h
      : (tensor<3x6xbf16>, tensor<3x2xi64>, tensor<3x2xf32>, tensor<4x2x5x6xbf16>, tensor<4x6x5xbf16>, tensor<3x2x2x5xbf16>) -> (tensor<3x6xbf16>, tensor<3x2xf32>, tensor<3x2x2x5xbf16>)
  %din, %dout = graph.experts_weight_grad %dy, %dy, %i, %r, %h, %dh
      : (tensor<3x6xbf16>, tensor<3x6xbf16>, tensor<3x2xi64>, tensor<3x2xf32>, tensor<3x2x2x5xbf16>, tensor<3x2x2x5xbf16>) -> (tensor<4x2x5x6xf32>, tensor<4x6x5xf32>)
  return %dx, %dr, %din, %dout : tensor<3x6xbf16>, tensor<3x2xf32>, tensor<4x2x5x6xf32>, tensor<4x6x5xf32>
}

// Experts without a gate: their only product is activated.
// CHECK-LABEL: func.func @without_gates
// CHECK: %[[H:.*]] = graph.grouped_contract "mc,egfc->mkgf" {{.*}} -> tensor<3x2x1x5xf32>
// CHECK: %[[G:.*]] = graph.reshape %[[H]] {{.*}} -> tensor<3x2x5xf32>
// CHECK: graph.gelu %[[G]] {form = #graph<gelu_form exact>}
// CHECK-NOT: graph.unstack
// CHECK: graph.gelu_grad {{.*}} {form = #graph<gelu_form exact>}
// CHECK: graph.stack {{.*}} : (tensor<3x2x5xf32>) -> tensor<3x2x1x5xf32>
func.func @without_gates(%x: tensor<3x6xf32>, %i: tensor<3x2xi64>, %r: tensor<3x2xf32>, %in: tensor<4x1x5x6xf32>, %out: tensor<4x6x5xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>) {
  %y, %h = graph.experts %x, %i, %r, %in, %out {activation = #graph<expert_activation gelu>}
      : (tensor<3x6xf32>, tensor<3x2xi64>, tensor<3x2xf32>, tensor<4x1x5x6xf32>, tensor<4x6x5xf32>) -> (tensor<3x6xf32>, tensor<3x2x1x5xf32>)
  %dx, %dr, %dh = graph.experts_grad %y, %i, %r, %in, %out, %h {activation = #graph<expert_activation gelu>}
      : (tensor<3x6xf32>, tensor<3x2xi64>, tensor<3x2xf32>, tensor<4x1x5x6xf32>, tensor<4x6x5xf32>, tensor<3x2x1x5xf32>) -> (tensor<3x6xf32>, tensor<3x2xf32>, tensor<3x2x1x5xf32>)
  return %y, %dx : tensor<3x6xf32>, tensor<3x6xf32>
}

// The limits of GPT-OSS's experts let what is not a number pass: the limit is chosen where the gate is greater, and the gate elsewhere.
// CHECK-LABEL: func.func @clamped
// CHECK: %[[P:.*]]:2 = graph.unstack
// CHECK: %[[BEYOND:.*]] = graph.compare gt %[[P]]#0, %[[LIMIT:.*]] :
// CHECK: graph.select %[[BEYOND]], %[[LIMIT]], %[[P]]#0 :
// CHECK: graph.compare lt %[[P]]#1,
// CHECK: graph.compare gt %[[P]]#1,
func.func @clamped(%x: tensor<3x6xf32>, %i: tensor<3x2xi64>, %r: tensor<3x2xf32>, %in: tensor<4x2x5x6xf32>, %out: tensor<4x6x5xf32>) -> tensor<3x6xf32> {
  %y, %h = graph.experts %x, %i, %r, %in, %out {activation = #graph<expert_activation clamped_swish>}
      : (tensor<3x6xf32>, tensor<3x2xi64>, tensor<3x2xf32>, tensor<4x2x5x6xf32>, tensor<4x6x5xf32>) -> (tensor<3x6xf32>, tensor<3x2x2x5xf32>)
  return %y : tensor<3x6xf32>
}

// With the indexed dimension first, what is gathered from is a table.
// CHECK-LABEL: func.func @gather
// CHECK: %[[T:.*]] = graph.transpose %arg0 [1, 0, 2] {{.*}}-> tensor<4x2x3xf32>
// CHECK: %[[P:.*]] = graph.embedding %[[T]], %arg1 {{.*}}-> tensor<5x6x2x3xf32>
// CHECK: graph.transpose %[[P]] [2, 0, 1, 3] {{.*}}-> tensor<2x5x6x3xf32>
func.func @gather(%x: tensor<2x4x3xf32>, %i: tensor<5x6xi64>) -> tensor<2x5x6x3xf32> {
  %y = graph.gather %x, %i {axis = 1 : i64} : (tensor<2x4x3xf32>, tensor<5x6xi64>) -> tensor<2x5x6x3xf32>
  return %y : tensor<2x5x6x3xf32>
}
