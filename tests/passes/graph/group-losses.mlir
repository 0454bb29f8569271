// RUN: dtcc-opt %s -split-input-file --graph-group-losses --verify-diagnostics | FileCheck %s
// Sixty doublings of a term are sixty values, not 2^60 paths.
// RUN: %python -c "s = open('%s').read().split('// ' + 5 * '-')[0]; t = ' : (tensor<f32>, tensor<f32>) -> tensor<f32>\n'; \
// RUN:   more = ''.join(f'  %%d{i + 1} = graph.add %%d{i}, %%d{i}' + t for i in range(60)); old = '%%term = graph.reduce'; \
// RUN:   print(s.replace(old, '%%d0 = graph.reduce').replace('  %%plain =', more + '  %%plain =').replace('%%plain, %%term', '%%plain, %%d60'))" \
// RUN:   | dtcc-opt --graph-group-losses 2>&1 | FileCheck %s --check-prefix=DOUBLED
// DOUBLED: 1 term of the loss is computed from each of the 2 micro-batches

// A product of two means over the samples is taken of each group. What is linear in it stays, as do sums over samples.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[X:.*]]: tensor<4x3x2xf32>
// CHECK: %[[P:.*]] = graph.mul %[[X]]
// CHECK-NEXT: %[[SUM:.*]] = graph.reduce sum %[[P]] [1] : (tensor<4x3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %[[GROUP:.*]] = graph.group_sum %[[SUM]] {groups = 2 : i64}
// CHECK-NEXT: %[[TWO:.*]] = graph.constant dense<2.000000e+00>
// CHECK-NEXT: %[[TOTAL:.*]] = graph.mul %[[GROUP]], %[[TWO]]
// CHECK: %[[ROWS:.*]] = graph.broadcast %{{.*}} [1] : (tensor<2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %[[MEAN:.*]] = graph.mul %[[TOTAL]], %[[ROWS]]
// CHECK: %[[SQUARE:.*]] = graph.mul %[[MEAN]], %[[MEAN]] : (tensor<4x2xf32>, tensor<4x2xf32>)
// CHECK-NEXT: %[[ADDED:.*]] = graph.reduce sum %[[SQUARE]] [0]
// CHECK-NEXT: %[[QUARTER:.*]] = graph.constant dense<2.500000e-01>
// CHECK-NEXT: %[[TERM:.*]] = graph.mul %[[ADDED]], %[[QUARTER]]
// CHECK: graph.reduce sum %[[TERM]] [0] : (tensor<2xf32>) -> tensor<f32>
// CHECK: %[[PLAIN:.*]] = graph.reduce sum %[[P]] [0, 1, 2]
// CHECK: graph.add %[[PLAIN]]
// expected-remark @below {{1 term of the loss is computed from each of the 2 micro-batches, as gradient accumulation does}}
module attributes {graph.loss_groups = 2 : i64} {
graph.state @w : tensor<2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x3x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2xf32>
  %wide = graph.broadcast %w [2] : (tensor<2xf32>) -> tensor<4x3x2xf32>
  %p = graph.mul %x, %wide : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %sum = graph.reduce sum %p [0, 1] : (tensor<4x3x2xf32>) -> tensor<2xf32>
  %part = graph.constant dense<0.0833333358> : tensor<2xf32> : tensor<2xf32>
  %mean = graph.mul %sum, %part : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %square = graph.mul %mean, %mean : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %term = graph.reduce sum %square [0] : (tensor<2xf32>) -> tensor<f32>
  %plain = graph.reduce sum %p [0, 1, 2] : (tensor<4x3x2xf32>) -> tensor<f32>
  %loss = graph.add %plain, %term : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

// The distance of each sample from the mean keeps its dimension of samples, and gets no other. A product that sums over
// the samples becomes one of each sample, and a sum of the group.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[X:.*]]: tensor<4x2xf32>, %[[M:.*]]: tensor<4xf32>
// CHECK: %[[Y:.*]] = graph.contract "bk,kn->bn" %[[X]]
// CHECK: graph.contract "an,a->an" %[[Y]], %[[M]]
// CHECK-NOT: graph.contract
// CHECK: return
// expected-remark @below {{1 term of the loss is computed}}
module attributes {graph.loss_groups = 4 : i64} {
graph.state @w : tensor<2x2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2, 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x2xf32>, %m: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2x2xf32>
  %y = graph.contract "bk,kn->bn" %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %sum = graph.contract "bn,b->n" %y, %m : (tensor<4x2xf32>, tensor<4xf32>) -> tensor<2xf32>
  %mean = graph.broadcast %sum [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %off = graph.sub %y, %mean : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %square = graph.mul %off, %off : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %loss = graph.reduce sum %square [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

// A sum over samples, which numbers of the data divide, and the square of what a sample has of its own need no group.
// CHECK-LABEL: func.func @loss
// CHECK-NOT: graph.group_sum
// CHECK: return
module attributes {graph.loss_groups = 2 : i64} {
graph.state @w : tensor<2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x2xf32>, %m: tensor<4x2xf32>, %l: tensor<4xi64>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2xf32>
  %wide = graph.broadcast %w [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %p = graph.mul %x, %wide : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %s, %c, %lse = graph.cross_entropy %p, %l : (tensor<4x2xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  %z = graph.mul %lse, %lse : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %zs = graph.reduce sum %z [0] : (tensor<4xf32>) -> tensor<f32>
  %count = graph.reduce sum %m [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %term = graph.div %zs, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = graph.add %s, %term : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

// The batch norm of a micro-batch is there in every micro-batch, so a sum over its samples needs no group. The square of a sum
// does.
// CHECK-LABEL: func.func @loss
// CHECK: graph.batch_norm
// CHECK: graph.group_sum
// CHECK-NOT: graph.group_sum
// CHECK: %[[PLAIN:[a-z]+]], %{{.*}} = graph.cross_entropy
// CHECK: graph.add %[[PLAIN]]
// expected-remark @below {{1 term of the loss is computed}}
module attributes {graph.loss_groups = 2 : i64} {
graph.state @w : tensor<2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x2xf32>, %l: tensor<4xi64>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2xf32>
  %p, %m, %v = graph.batch_norm %x, %w, %w [0] {eps = 1.0e-5, groups = 4 : i64} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
  %sum = graph.reduce sum %p [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %square = graph.mul %sum, %sum : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s, %c, %lse = graph.cross_entropy %p, %l : (tensor<4x2xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  %loss = graph.add %s, %square : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

// Without the attribute nothing changes.
// CHECK-LABEL: func.func @loss
// CHECK-NOT: graph.group_sum
// CHECK: return
graph.state @w : tensor<2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2xf32>
  %wide = graph.broadcast %w [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %p = graph.mul %x, %wide : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %sum = graph.reduce sum %p [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %loss = graph.mul %sum, %sum : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
