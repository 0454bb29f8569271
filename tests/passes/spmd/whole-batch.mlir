// A number of data that divides a term is computed again in each micro-batch, from inputs that are read whole. All readers
// share it, those of the backward pass among them.
// RUN: dtcc-opt %s --graph-differentiate --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=0" --spmd-verify | FileCheck %s
// RUN: dtcc-opt %s --graph-differentiate --spmd-apply-plan="parallelism=dp=2,zero=0" --spmd-verify | FileCheck %s --check-prefix=ONE
// RUN: dtcc-opt %s --graph-differentiate --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=0" --dtcc-spmd | FileCheck %s --check-prefix=PROGRAM

// CHECK: func.func @step(%[[X:[a-z0-9]+]]: !spmd.tensor<8x4xf32, @mesh, [{mb,dp},{}]>
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: !spmd.tensor<8xf32, @mesh, [{mb,dp}]>
// CHECK-SAME: %[[WHOLE:[a-z0-9]+]]: !spmd.tensor<8xf32, @mesh, [{dp}]> {graph.name = "mask", graph.role = "data"})
// CHECK: %[[SUM:.*]] = graph.reduce sum %{{.*}} [0] {{.*}} -> !spmd.tensor<f32, @mesh, [], partial(sum {dp,mb})>
// CHECK: %[[COUNT:.*]] = graph.reduce sum %[[WHOLE]] [0] {{.*}} -> !spmd.tensor<f32, @mesh, [], partial(sum {dp})>
// CHECK: %[[HERE:.*]] = spmd.reshard %[[COUNT]] {{.*}} -> !spmd.tensor<f32, @mesh, []>
// CHECK: graph.div %[[SUM]], %[[HERE]] {{.*}} -> !spmd.tensor<f32, @mesh, [], partial(sum {dp,mb})>
// An extreme is one too. Its input is here already.
// CHECK-NOT: graph.reduce sum %[[WHOLE]]
// CHECK: %[[MOST:.*]] = graph.reduce max %[[WHOLE]] [0] {{.*}} -> !spmd.tensor<f32, @mesh, [], partial(max {dp})>
// CHECK: spmd.reshard %[[MOST]] {{.*}} -> !spmd.tensor<f32, @mesh, []>
// Products of data are no forward pass of a model.
// CHECK: %[[DOT:.*]] = graph.contract "b,b->" %[[WHOLE]], %[[WHOLE]] {{.*}} -> !spmd.tensor<f32, @mesh, [], partial(sum {dp})>
// CHECK: spmd.reshard %[[DOT]] {{.*}} -> !spmd.tensor<f32, @mesh, []>
// CHECK-NOT: graph.reduce {{(sum|max)}} %[[WHOLE]]
// CHECK: graph.update

// With one micro-batch nothing is read twice.
// ONE: func.func @step(%{{[a-z0-9]+}}: !spmd.tensor<8x4xf32, @mesh, [{dp},{}]> {{{[^}]*}}}, %{{[a-z0-9]+}}: !spmd.tensor<8xf32, @mesh, [{dp}]> {{{[^}]*}}}) ->

// PROGRAM: spmd.phase @microbatch repeat 2
// PROGRAM: spmd.input "mask" of !spmd.tensor<8xf32, @mesh, [{mb,dp}]> {{.*}} : tensor<2xf32>
// PROGRAM: %[[WHOLE:.*]] = spmd.input "mask" of !spmd.tensor<8xf32, @mesh, [{dp}]> {{.*}} : tensor<4xf32>
// PROGRAM: %[[PART:.*]] = graph.reduce sum %[[WHOLE]]
// PROGRAM: spmd.all_reduce sum %[[PART]]
graph.state @w : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x4xf32> {graph.name = "x", graph.role = "data"}, %mask: tensor<8xf32> {graph.name = "mask", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4xf32>
  %y = graph.contract "bk,k->b" %x, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %yy = graph.mul %y, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %masked = graph.mul %yy, %mask : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %sum = graph.reduce sum %masked [0] : (tensor<8xf32>) -> tensor<f32>
  %count = graph.reduce sum %mask [0] : (tensor<8xf32>) -> tensor<f32>
  %mean = graph.div %sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %all = graph.reduce sum %y [0] : (tensor<8xf32>) -> tensor<f32>
  %most = graph.reduce max %mask [0] : (tensor<8xf32>) -> tensor<f32>
  %other = graph.div %all, %most : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %squares = graph.contract "b,b->" %mask, %mask : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  %third = graph.div %all, %squares : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %two = graph.add %mean, %third : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = graph.add %two, %other : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
