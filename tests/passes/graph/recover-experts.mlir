// RUN: dtcc-opt %s --graph-recover-composites | FileCheck %s

module {
graph.state @in : tensor<2x2x3x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "in", saved_shape = array<i64: 2, 6, 4>, init = #graph.init<zero>}
graph.state @out : tensor<2x4x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "out", saved_shape = array<i64: 2, 4, 3>, init = #graph.init<zero>}

graph.state @only : tensor<2x3x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "only", saved_shape = array<i64: 2, 3, 4>, init = #graph.init<zero>}
graph.state @only_bias : tensor<2x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "only_bias", saved_shape = array<i64: 2, 3>, init = #graph.init<zero>}
graph.state @out_bias : tensor<2x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "out_bias", saved_shape = array<i64: 2, 4>, init = #graph.init<zero>}

// The weights of the picked experts, gathered.
// CHECK-LABEL: func.func @gathered
// CHECK: %[[R:.*]], %[[I:.*]] = graph.top_k %{{.*}}
// CHECK: graph.experts %arg0, %[[I]], %[[R]], %{{.*}}, %{{.*}} :
// CHECK-NOT: graph.gather
func.func @gathered(%x: tensor<5x4xf32>, %w: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %p = graph.contract "nc,ec->ne" %x, %w : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
  %r, %i = graph.top_k %p : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %in = graph.read @in : tensor<2x2x3x4xf32>
  %out = graph.read @out : tensor<2x4x3xf32>
  %gin = graph.gather %in, %i {axis = 0 : i64} : (tensor<2x2x3x4xf32>, tensor<5x1xi64>) -> tensor<5x1x2x3x4xf32>
  %gout = graph.gather %out, %i {axis = 0 : i64} : (tensor<2x4x3xf32>, tensor<5x1xi64>) -> tensor<5x1x4x3xf32>
  %h = graph.contract "nc,nkgfc->nkgf" %x, %gin : (tensor<5x4xf32>, tensor<5x1x2x3x4xf32>) -> tensor<5x1x2x3xf32>
  %g:2 = graph.unstack %h {dim = 2 : i64} : (tensor<5x1x2x3xf32>) -> (tensor<5x1x3xf32>, tensor<5x1x3xf32>)
  %s = graph.silu %g#0 : tensor<5x1x3xf32>
  %a = graph.mul %s, %g#1 : (tensor<5x1x3xf32>, tensor<5x1x3xf32>) -> tensor<5x1x3xf32>
  %z = graph.contract "nkf,nkdf->nkd" %a, %gout : (tensor<5x1x3xf32>, tensor<5x1x4x3xf32>) -> tensor<5x1x4xf32>
  %y = graph.contract "nk,nkd->nd" %r, %z : (tensor<5x1xf32>, tensor<5x1x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// A router that picks by other scores than it weighs by: what it weighs by is looked up where the picks stand.
// CHECK-LABEL: func.func @weighed_by_others
// CHECK: %{{.*}}, %[[I:.*]] = graph.top_k %{{.*}}
// CHECK: %[[R:.*]] = graph.reduce sum
// CHECK: graph.experts %arg0, %[[I]], %[[R]], %{{.*}}, %{{.*}} :
func.func @weighed_by_others(%x: tensor<5x4xf32>, %w: tensor<2x4xf32>, %bias: tensor<5x2xf32>) -> tensor<5x4xf32> {
  %p = graph.contract "nc,ec->ne" %x, %w : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
  %chosen = graph.add %p, %bias : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  %best, %i = graph.top_k %chosen : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %ids = graph.broadcast %i [0, 1] : (tensor<5x1xi64>) -> tensor<5x1x2xi64>
  %places = graph.iota {dim = 2 : i64} : tensor<5x1x2xi64>
  %named = graph.compare eq %ids, %places : (tensor<5x1x2xi64>, tensor<5x1x2xi64>) -> tensor<5x1x2xi1>
  %scores = graph.broadcast %p [0, 2] : (tensor<5x2xf32>) -> tensor<5x1x2xf32>
  %none = graph.sub %scores, %scores : (tensor<5x1x2xf32>, tensor<5x1x2xf32>) -> tensor<5x1x2xf32>
  %kept = graph.select %named, %scores, %none : (tensor<5x1x2xi1>, tensor<5x1x2xf32>, tensor<5x1x2xf32>) -> tensor<5x1x2xf32>
  %r = graph.reduce sum %kept [2] : (tensor<5x1x2xf32>) -> tensor<5x1xf32>
  %in = graph.read @in : tensor<2x2x3x4xf32>
  %out = graph.read @out : tensor<2x4x3xf32>
  %gin = graph.gather %in, %i {axis = 0 : i64} : (tensor<2x2x3x4xf32>, tensor<5x1xi64>) -> tensor<5x1x2x3x4xf32>
  %gout = graph.gather %out, %i {axis = 0 : i64} : (tensor<2x4x3xf32>, tensor<5x1xi64>) -> tensor<5x1x4x3xf32>
  %h = graph.contract "nc,nkgfc->nkgf" %x, %gin : (tensor<5x4xf32>, tensor<5x1x2x3x4xf32>) -> tensor<5x1x2x3xf32>
  %g:2 = graph.unstack %h {dim = 2 : i64} : (tensor<5x1x2x3xf32>) -> (tensor<5x1x3xf32>, tensor<5x1x3xf32>)
  %s = graph.silu %g#0 : tensor<5x1x3xf32>
  %a = graph.mul %s, %g#1 : (tensor<5x1x3xf32>, tensor<5x1x3xf32>) -> tensor<5x1x3xf32>
  %z = graph.contract "nkf,nkdf->nkd" %a, %gout : (tensor<5x1x3xf32>, tensor<5x1x4x3xf32>) -> tensor<5x1x4xf32>
  %y = graph.contract "nk,nkd->nd" %r, %z : (tensor<5x1xf32>, tensor<5x1x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// The dimension of a single pick is reshaped away.
// CHECK-LABEL: func.func @one_pick
// CHECK: %[[R:.*]], %[[I:.*]] = graph.top_k %{{.*}}
// CHECK: graph.experts %arg0, %[[I]], %[[R]], %{{.*}}, %{{.*}} :
func.func @one_pick(%x: tensor<5x4xf32>, %w: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %p = graph.contract "nc,ec->ne" %x, %w : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
  %r, %i = graph.top_k %p : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %in = graph.read @in : tensor<2x2x3x4xf32>
  %out = graph.read @out : tensor<2x4x3xf32>
  %id = graph.reshape %i : (tensor<5x1xi64>) -> tensor<5xi64>
  %weight = graph.reshape %r : (tensor<5x1xf32>) -> tensor<5xf32>
  %gin = graph.gather %in, %id {axis = 0 : i64} : (tensor<2x2x3x4xf32>, tensor<5xi64>) -> tensor<5x2x3x4xf32>
  %gout = graph.gather %out, %id {axis = 0 : i64} : (tensor<2x4x3xf32>, tensor<5xi64>) -> tensor<5x4x3xf32>
  %h = graph.contract "nc,ngfc->ngf" %x, %gin : (tensor<5x4xf32>, tensor<5x2x3x4xf32>) -> tensor<5x2x3xf32>
  %g:2 = graph.unstack %h {dim = 1 : i64} : (tensor<5x2x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  %s = graph.silu %g#0 : tensor<5x3xf32>
  %a = graph.mul %s, %g#1 : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %z = graph.contract "nf,ndf->nd" %a, %gout : (tensor<5x3xf32>, tensor<5x4x3xf32>) -> tensor<5x4xf32>
  %y = graph.contract "n,nd->nd" %weight, %z : (tensor<5xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// What the gates multiply is at most 100, which small tokens do not reach: left alone.
// CHECK-LABEL: func.func @bounded
// CHECK-NOT: graph.experts
// CHECK: return
func.func @bounded(%x: tensor<5x4xf32>, %w: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %p = graph.contract "nc,ec->ne" %x, %w : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
  %r, %i = graph.top_k %p : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %in = graph.read @in : tensor<2x2x3x4xf32>
  %out = graph.read @out : tensor<2x4x3xf32>
  %gin = graph.gather %in, %i {axis = 0 : i64} : (tensor<2x2x3x4xf32>, tensor<5x1xi64>) -> tensor<5x1x2x3x4xf32>
  %gout = graph.gather %out, %i {axis = 0 : i64} : (tensor<2x4x3xf32>, tensor<5x1xi64>) -> tensor<5x1x4x3xf32>
  %h = graph.contract "nc,nkgfc->nkgf" %x, %gin : (tensor<5x4xf32>, tensor<5x1x2x3x4xf32>) -> tensor<5x1x2x3xf32>
  %g:2 = graph.unstack %h {dim = 2 : i64} : (tensor<5x1x2x3xf32>) -> (tensor<5x1x3xf32>, tensor<5x1x3xf32>)
  %s = graph.silu %g#0 : tensor<5x1x3xf32>
  %most = graph.constant dense<100.0> : tensor<5x1x3xf32> : tensor<5x1x3xf32>
  %up = graph.min %g#1, %most : (tensor<5x1x3xf32>, tensor<5x1x3xf32>) -> tensor<5x1x3xf32>
  %a = graph.mul %s, %up : (tensor<5x1x3xf32>, tensor<5x1x3xf32>) -> tensor<5x1x3xf32>
  %z = graph.contract "nkf,nkdf->nkd" %a, %gout : (tensor<5x1x3xf32>, tensor<5x1x4x3xf32>) -> tensor<5x1x4xf32>
  %y = graph.contract "nk,nkd->nd" %r, %z : (tensor<5x1xf32>, tensor<5x1x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// Up before gate: the op reads the halves of the parameter in its own order.
// CHECK-LABEL: func.func @swapped
// CHECK: %[[HALVES:.*]]:2 = graph.unstack %{{.*}} {dim = 1 : i64} : (tensor<2x2x3x4xf32>)
// CHECK: %[[IN:.*]] = graph.stack %[[HALVES]]#1, %[[HALVES]]#0 {dim = 1 : i64}
// CHECK: graph.experts %arg0, %{{.*}}, %{{.*}}, %[[IN]], %{{.*}} :
func.func @swapped(%x: tensor<5x4xf32>, %w: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %p = graph.contract "nc,ec->ne" %x, %w : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
  %r, %i = graph.top_k %p : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %in = graph.read @in : tensor<2x2x3x4xf32>
  %out = graph.read @out : tensor<2x4x3xf32>
  %gin = graph.gather %in, %i {axis = 0 : i64} : (tensor<2x2x3x4xf32>, tensor<5x1xi64>) -> tensor<5x1x2x3x4xf32>
  %gout = graph.gather %out, %i {axis = 0 : i64} : (tensor<2x4x3xf32>, tensor<5x1xi64>) -> tensor<5x1x4x3xf32>
  %h = graph.contract "nc,nkgfc->nkgf" %x, %gin : (tensor<5x4xf32>, tensor<5x1x2x3x4xf32>) -> tensor<5x1x2x3xf32>
  %g:2 = graph.unstack %h {dim = 2 : i64} : (tensor<5x1x2x3xf32>) -> (tensor<5x1x3xf32>, tensor<5x1x3xf32>)
  %s = graph.silu %g#1 : tensor<5x1x3xf32>
  %a = graph.mul %s, %g#0 : (tensor<5x1x3xf32>, tensor<5x1x3xf32>) -> tensor<5x1x3xf32>
  %z = graph.contract "nkf,nkdf->nkd" %a, %gout : (tensor<5x1x3xf32>, tensor<5x1x4x3xf32>) -> tensor<5x1x4xf32>
  %y = graph.contract "nk,nkd->nd" %r, %z : (tensor<5x1xf32>, tensor<5x1x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// One matrix instead of gate and up, and biases: the first is a column for a channel of ones, the second is weighted apart.
// CHECK-LABEL: func.func @biases
// CHECK: %[[R:.*]], %[[I:.*]] = graph.top_k %{{.*}}
// CHECK: %[[W:.*]] = graph.concat %{{.*}}, %{{.*}} {dim = 3 : i64} : (tensor<2x1x3x4xf32>, tensor<2x1x3x8xf32>) -> tensor<2x1x3x12xf32>
// CHECK: %[[ONE:.*]] = graph.pad %arg0 [0, 0] [0, 1] 1.000000e+00
// CHECK: %[[X:.*]] = graph.pad %[[ONE]] [0, 0] [0, 7] 0.000000e+00
// CHECK: %[[Y:.*]], %{{.*}} = graph.experts %[[X]], %[[I]], %[[R]], %[[W]], %{{.*}} {activation = #graph<expert_activation relu>}
// CHECK: %[[B:.*]] = graph.contract "me,ed->md" {{.*}} : (tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
// CHECK: graph.add %[[Y]], %[[B]]
func.func @biases(%x: tensor<5x4xf32>, %w: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %p = graph.contract "nc,ec->ne" %x, %w : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
  %r, %i = graph.top_k %p : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %in = graph.read @only : tensor<2x3x4xf32>
  %inb = graph.read @only_bias : tensor<2x3xf32>
  %out = graph.read @out : tensor<2x4x3xf32>
  %outb = graph.read @out_bias : tensor<2x4xf32>
  %gin = graph.gather %in, %i {axis = 0 : i64} : (tensor<2x3x4xf32>, tensor<5x1xi64>) -> tensor<5x1x3x4xf32>
  %ginb = graph.embedding %inb, %i : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x1x3xf32>
  %gout = graph.gather %out, %i {axis = 0 : i64} : (tensor<2x4x3xf32>, tensor<5x1xi64>) -> tensor<5x1x4x3xf32>
  %goutb = graph.embedding %outb, %i : (tensor<2x4xf32>, tensor<5x1xi64>) -> tensor<5x1x4xf32>
  %h = graph.contract "nc,nkfc->nkf" %x, %gin : (tensor<5x4xf32>, tensor<5x1x3x4xf32>) -> tensor<5x1x3xf32>
  %hb = graph.add %h, %ginb : (tensor<5x1x3xf32>, tensor<5x1x3xf32>) -> tensor<5x1x3xf32>
  %a = graph.relu %hb : tensor<5x1x3xf32>
  %z = graph.contract "nkf,nkdf->nkd" %a, %gout : (tensor<5x1x3xf32>, tensor<5x1x4x3xf32>) -> tensor<5x1x4xf32>
  %zb = graph.add %z, %goutb : (tensor<5x1x4xf32>, tensor<5x1x4xf32>) -> tensor<5x1x4xf32>
  %y = graph.contract "nk,nkd->nd" %r, %zb : (tensor<5x1xf32>, tensor<5x1x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// Somebody reads the hidden values of the picked experts: left alone.
// CHECK-LABEL: func.func @used_inside
// CHECK-NOT: graph.experts
// CHECK: return
func.func @used_inside(%x: tensor<5x4xf32>, %w: tensor<2x4xf32>) -> (tensor<5x4xf32>, tensor<5x1x2x3xf32>) {
  %p = graph.contract "nc,ec->ne" %x, %w : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
  %r, %i = graph.top_k %p : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %in = graph.read @in : tensor<2x2x3x4xf32>
  %out = graph.read @out : tensor<2x4x3xf32>
  %gin = graph.gather %in, %i {axis = 0 : i64} : (tensor<2x2x3x4xf32>, tensor<5x1xi64>) -> tensor<5x1x2x3x4xf32>
  %gout = graph.gather %out, %i {axis = 0 : i64} : (tensor<2x4x3xf32>, tensor<5x1xi64>) -> tensor<5x1x4x3xf32>
  %h = graph.contract "nc,nkgfc->nkgf" %x, %gin : (tensor<5x4xf32>, tensor<5x1x2x3x4xf32>) -> tensor<5x1x2x3xf32>
  %g:2 = graph.unstack %h {dim = 2 : i64} : (tensor<5x1x2x3xf32>) -> (tensor<5x1x3xf32>, tensor<5x1x3xf32>)
  %s = graph.silu %g#0 : tensor<5x1x3xf32>
  %a = graph.mul %s, %g#1 : (tensor<5x1x3xf32>, tensor<5x1x3xf32>) -> tensor<5x1x3xf32>
  %z = graph.contract "nkf,nkdf->nkd" %a, %gout : (tensor<5x1x3xf32>, tensor<5x1x4x3xf32>) -> tensor<5x1x4xf32>
  %y = graph.contract "nk,nkd->nd" %r, %z : (tensor<5x1xf32>, tensor<5x1x4xf32>) -> tensor<5x4xf32>
  return %y, %h : tensor<5x4xf32>, tensor<5x1x2x3xf32>
}
}
