// RUN: dtcc-opt %s --graph-lower-precision --split-input-file | FileCheck %s
// RUN: dtcc-opt %s --graph-lower-precision=compute=f16 --graph-differentiate=loss-scale=1024 --split-input-file \
// RUN:   | FileCheck %s --check-prefix=STEP

// Products in the compute type, statistics and parameters of norms in f32; the logits of a loss come out of their
// product in f32 at once. The table serves two ops and is converted once.
// CHECK-LABEL: func.func @loss
// CHECK: %[[W:.*]] = graph.read @wte : tensor<8x6xf32>
// CHECK: %[[H:.*]] = graph.cast %[[W]] : (tensor<8x6xf32>) -> tensor<8x6xbf16>
// CHECK: %[[X:.*]] = graph.embedding %[[H]], %{{.*}} -> tensor<2x3x6xbf16>
// CHECK-NOT: graph.cast
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = graph.layer_norm %[[X]], %{{.*}} : (tensor<2x3x6xbf16>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x6xbf16>, tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK: %[[B:.*]] = graph.cast %{{.*}} : (tensor<6xf32>) -> tensor<6xbf16>
// CHECK: %[[R:.*]] = graph.broadcast %[[B]] [2] : (tensor<6xbf16>) -> tensor<2x3x6xbf16>
// CHECK: %[[Z:.*]] = graph.add %[[Y]], %[[R]]
// CHECK: %[[L:.*]] = graph.contract "btc,vc->btv" %[[Z]], %[[H]] : (tensor<2x3x6xbf16>, tensor<8x6xbf16>) -> tensor<2x3x8xf32>
// CHECK: graph.cross_entropy %[[L]]

// The gradient of the table is a sum of two f32, of half operands; the seed is the scale.
// STEP-DAG: graph.state @loss_scale.scale : tensor<f32> {decay = false, init = #graph.init<constant, 1.024000e+03
// STEP-DAG: graph.state @loss_scale.streak
// STEP-DAG: graph.state @loss_scale.skipped
// STEP-LABEL: func.func @step
// STEP: %[[S:.*]] = graph.read @loss_scale.scale
// STEP: graph.mul %[[S]]
// STEP: %[[D:.*]] = graph.cast %{{.*}} : (tensor<2x3x8xf32>) -> tensor<2x3x8xf16>
// STEP: %[[A:.*]] = graph.contract "btv,btc->vc" %[[D]], {{.*}} : (tensor<2x3x8xf16>, tensor<2x3x6xf16>) -> tensor<8x6xf32>
// STEP: graph.reduce sum {{.*}} : (tensor<2x3x6xf16>) -> tensor<6xf32>
// STEP: %[[E:.*]] = graph.scatter_add {{.*}} : (tensor<2x3x6xf16>, tensor<2x3xi64>) -> tensor<8x6xf32>
// STEP: graph.add %[[A]], %[[E]]
// STEP: graph.update {{.*}}loss_scale = #graph.loss_scale<scale = @loss_scale.scale, streak = @loss_scale.streak, skipped = @loss_scale.skipped, unit = 1.250000e-01,
graph.state @wte : tensor<8x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wte", saved_shape = array<i64: 8, 6>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @g : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "g", saved_shape = array<i64: 6>, init = #graph.init<constant, 1.0, 0.0>}
graph.state @b : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "b", saved_shape = array<i64: 6>, init = #graph.init<zero, 0.0, 0.0>}
func.func @loss(%ids: tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<8x6xf32>
  %x = graph.embedding %w, %ids : (tensor<8x6xf32>, tensor<2x3xi64>) -> tensor<2x3x6xf32>
  %g = graph.read @g : tensor<6xf32>
  %b = graph.read @b : tensor<6xf32>
  %y, %mean, %rstd = graph.layer_norm %x, %g, %b [2] {eps = 1.0e-5 : f64} : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r = graph.broadcast %b [2] : (tensor<6xf32>) -> tensor<2x3x6xf32>
  %z = graph.add %y, %r : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
  %l = graph.contract "btc,vc->btv" %z, %w : (tensor<2x3x6xf32>, tensor<8x6xf32>) -> tensor<2x3x8xf32>
  %sum, %count, %lse = graph.cross_entropy %l, %ids : (tensor<2x3x8xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// -----

// What sums is f32, and what follows it too; constants follow. An exponential is taken in f32.
// CHECK-LABEL: func.func @loss
// CHECK: %[[P:.*]] = graph.contract {{.*}} -> tensor<2x3xbf16>
// CHECK: %[[WIDE:.*]] = graph.cast %[[P]] : (tensor<2x3xbf16>) -> tensor<2x3xf32>
// CHECK: %[[E:.*]] = graph.exp %[[WIDE]] : tensor<2x3xf32>
// CHECK: %[[Q:.*]] = graph.mul %[[E]], %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK: graph.reduce sum %[[Q]]
// CHECK: %[[M:.*]] = graph.mul %[[P]], %[[P]] : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>
// CHECK: graph.reduce sum %[[M]] [0, 1] : (tensor<2x3xbf16>) -> tensor<f32>
// STEP-LABEL: func.func @step
graph.state @w : tensor<4x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4, 3>, init = #graph.init<normal, 0.0, 0.02>}
func.func @loss(%x: tensor<2x4xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4x3xf32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<2x3xf32> : tensor<2x3xf32>
  %p = graph.contract "bk,kn->bn" %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %e = graph.exp %p : tensor<2x3xf32>
  %q = graph.mul %e, %half : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %a = graph.reduce sum %q [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %m = graph.mul %p, %p : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = graph.reduce sum %m [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %s = graph.add %a, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %s, %one : tensor<f32>, tensor<f32>
}

// -----

// Experts: rows and matrices in the compute type, which matrices are converted to once; what a router says in f32. Gradients
// of rows are halves, those of routing weights and of matrices f32.
// CHECK-LABEL: func.func @loss
// CHECK-DAG: %[[SCORES:.*]] = graph.contract "nc,ec->ne" {{.*}} : (tensor<6x4xbf16>, tensor<3x4xbf16>) -> tensor<6x3xf32>
// CHECK-DAG: %[[R:.*]], %[[I:.*]] = graph.top_k %{{.*}} : (tensor<6x3xf32>)
// CHECK-DAG: %[[IN:.*]] = graph.cast %{{.*}} : (tensor<3x2x5x4xf32>) -> tensor<3x2x5x4xbf16>
// CHECK-DAG: %[[OUT:.*]] = graph.cast %{{.*}} : (tensor<3x4x5xf32>) -> tensor<3x4x5xbf16>
// CHECK: %[[Y:.*]], %{{.*}} = graph.experts %[[X:.*]], %[[I]], %[[R]], %[[IN]], %[[OUT]] : (tensor<6x4xbf16>, tensor<6x2xi64>, tensor<6x2xf32>, tensor<3x2x5x4xbf16>, tensor<3x4x5xbf16>) -> (tensor<6x4xbf16>, tensor<6x2x2x5xbf16>)
// CHECK-NEXT: graph.add %[[X]], %[[Y]] : (tensor<6x4xbf16>, tensor<6x4xbf16>) -> tensor<6x4xbf16>
// STEP-LABEL: func.func @step
// STEP: graph.experts_grad {{.*}} -> (tensor<6x4xf16>, tensor<6x2xf32>, tensor<6x2x2x5xf16>)
// STEP: graph.experts_weight_grad {{.*}} -> (tensor<3x2x5x4xf32>, tensor<3x4x5xf32>)
// STEP-NOT: graph.cast {{.*}} -> tensor<3x2x5x4xf32>
graph.state @router : tensor<3x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router", saved_shape = array<i64: 3, 4>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @in : tensor<3x2x5x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "in", saved_shape = array<i64: 3, 2, 5, 4>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @out : tensor<3x4x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "out", saved_shape = array<i64: 3, 4, 5>, init = #graph.init<normal, 0.0, 0.02>}
func.func @loss(%data: tensor<6x4xf32>, %labels: tensor<6xi64>) -> (tensor<f32>, tensor<f32>) {
  %router = graph.read @router : tensor<3x4xf32>
  %embed = graph.contract "nc,dc->nd" %data, %router : (tensor<6x4xf32>, tensor<3x4xf32>) -> tensor<6x3xf32>
  %x = graph.contract "nd,dc->nc" %embed, %router : (tensor<6x3xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  %scores = graph.contract "nc,ec->ne" %x, %router : (tensor<6x4xf32>, tensor<3x4xf32>) -> tensor<6x3xf32>
  %p = graph.softmax %scores [1] : tensor<6x3xf32>
  %r, %i = graph.top_k %p : (tensor<6x3xf32>) -> (tensor<6x2xf32>, tensor<6x2xi64>)
  %in = graph.read @in : tensor<3x2x5x4xf32>
  %out = graph.read @out : tensor<3x4x5xf32>
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<6x2xf32>, tensor<3x2x5x4xf32>, tensor<3x4x5xf32>) -> (tensor<6x4xf32>, tensor<6x2x2x5xf32>)
  %z = graph.add %x, %y : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %sum, %count, %lse = graph.cross_entropy %z, %labels : (tensor<6x4xf32>, tensor<6xi64>) -> (tensor<f32>, tensor<f32>, tensor<6xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// -----

// Images: convolutions in the compute type, norms and maxima in that of their images, with statistics and parameters in f32.
// The sum over cells is f32. Gradients of images are halves, those of kernels and of the norm's parameters f32.
// CHECK-LABEL: func.func @loss
// CHECK: %[[K:.*]] = graph.cast %{{.*}} : (tensor<4x3x3x3xf32>) -> tensor<4x3x3x3xbf16>
// CHECK: %[[Y:.*]] = graph.convolution %{{.*}}, %[[K]] {{.*}} : (tensor<2x3x9x9xbf16>, tensor<4x3x3x3xbf16>) -> tensor<2x4x7x7xbf16>
// CHECK-NOT: graph.cast
// CHECK: %[[N:.*]], %{{.*}}, %{{.*}} = graph.batch_norm %[[Y]], {{.*}} : (tensor<2x4x7x7xbf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x7x7xbf16>, tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK: %[[M:.*]] = graph.max_pool %[[N]] {{.*}} : (tensor<2x4x7x7xbf16>) -> tensor<2x4x3x3xbf16>
// CHECK: graph.reduce sum %[[M]] {{.*}} : (tensor<2x4x3x3xbf16>) -> tensor<f32>
// STEP-LABEL: func.func @step
// STEP: graph.max_pool_grad {{.*}} : (tensor<2x4x3x3xf16>, tensor<2x4x7x7xf16>) -> tensor<2x4x7x7xf16>
// STEP: graph.batch_norm_grad {{.*}} -> tensor<2x4x7x7xf16>
// STEP: graph.batch_norm_param_grad {{.*}} -> (tensor<4xf32>, tensor<4xf32>)
// STEP: graph.convolution_kernel_grad {{.*}} : (tensor<2x4x7x7xf16>, tensor<2x3x9x9xf16>) -> tensor<4x3x3x3xf32>
graph.state @k : tensor<4x3x3x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "k", saved_shape = array<i64: 4, 3, 3, 3>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @s : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "s", saved_shape = array<i64: 4>, init = #graph.init<constant, 1.0, 0.0>}
func.func @loss(%x: tensor<2x3x9x9xf32>) -> (tensor<f32>, tensor<f32>) {
  %k = graph.read @k : tensor<4x3x3x3xf32>
  %s = graph.read @s : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %y = graph.convolution %x, %k {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>} : (tensor<2x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x7x7xf32>
  %n, %mean, %variance = graph.batch_norm %y, %s, %s [0, 2, 3] {eps = 1.0e-5 : f64} : (tensor<2x4x7x7xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x7x7xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %m = graph.max_pool %n {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>} : (tensor<2x4x7x7xf32>) -> tensor<2x4x3x3xf32>
  %sum = graph.reduce sum %m [0, 1, 2, 3] : (tensor<2x4x3x3xf32>) -> tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}
