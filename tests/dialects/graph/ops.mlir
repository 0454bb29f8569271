// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s
// Every op in its syntax, read, printed and read again.

// CHECK: graph.state @wte : tensor<257x66xf32> {decay = true, init = #graph.init<normal, 0.{{0*}}e+00, 2.0{{0*}}e-02>
graph.state @wte : tensor<257x66xf32> {role = #graph<role parameter>, trainable = true, decay = true,
    saved_name = "transformer.wte.weight", saved_shape = array<i64: 257, 66>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @b : tensor<2x3xf32> {role = #graph<role parameter>, trainable = true, decay = false,
    saved_name = "b", saved_shape = array<i64: 6>, value = dense<0.0> : tensor<2x3xf32>}
graph.state @mean : tensor<3xf32> {role = #graph<role buffer>, trainable = false, decay = false,
    saved_name = "mean", saved_shape = array<i64: 3>, init = #graph.init<zero>}
// CHECK: graph.state @started {{.*}}slots = [dense<[1.0{{0*}}e+00, 2.0{{0*}}e+00]> : tensor<2xf32>]
graph.state @started : tensor<1x2xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "started",
    saved_shape = array<i64: 2>, init = #graph.init<zero>, slots = [dense<[1.0, 2.0]> : tensor<2xf32>]}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<2x3xf32>, %i: tensor<2x3xi64>, %p: tensor<2x3xi1>) {
  // CHECK: graph.neg %{{.*}} : tensor<2x3xf32>
  %0 = graph.neg %x : tensor<2x3xf32>
  %1 = graph.gelu %x {form = #graph<gelu_form tanh>} : tensor<2x3xf32>
  %2 = graph.gelu_grad %x, %x {form = #graph<gelu_form exact>} : tensor<2x3xf32>
  // CHECK: graph.add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = graph.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = graph.rem %i, %i : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3xi64>
  %5 = graph.not %p : tensor<2x3xi1>
  %6 = graph.is_nan %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.compare {{ *}}le %{{.*}}, %{{.*}} : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3xi1>
  %7 = graph.compare le %i, %i : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3xi1>
  %8 = graph.select %7, %x, %0 : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %9 = graph.cast %i : (tensor<2x3xi64>) -> tensor<2x3xf32>
  // CHECK: graph.dropout %{{.*}} {global_shape = array<i64: 4, 3>, id = 7 : i64, offset_axes = {{\[\[}}"dp"], []], ratio = 1.{{0*}}e-01 : f64}
  %10 = graph.dropout %x {ratio = 0.1, id = 7, global_shape = array<i64: 4, 3>, offset_axes = [["dp"], []]} : tensor<2x3xf32>
  // CHECK: graph.uniform %{{.*}} {id = 8 : i64} : tensor<2x3xf32>
  %11 = graph.uniform %x {id = 8} : tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x3xf32>, %i: tensor<2x3xi64>) {
  // CHECK: graph.constant dense<1.{{0*}}e+00> : tensor<2x3xf32> : tensor<2x3xf32>
  %0 = graph.constant dense<1.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %1 = graph.iota {dim = 1 : i64} : tensor<2x3xi64>
  %2 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK: graph.transpose %{{.*}} {{\[}}1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = graph.transpose %x [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = graph.broadcast %x [0, 2] : (tensor<2x3xf32>) -> tensor<2x5x3xf32>
  %5 = graph.slice %x [0, 2] [1, -1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.pad %{{.*}} {{\[}}0, 1] {{\[}}0, 2] 0.{{0*}}e+00 : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %6 = graph.pad %x [0, 1] [0, 2] 0.0 : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %7 = graph.shift %i {dim = 1 : i64, amount = 1 : i64, fill = -100 : i64} : tensor<2x3xi64>
  %8 = graph.concat %x, %5 {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %9 = graph.stack %x, %5 {dim = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2x3xf32>
  // CHECK: graph.unstack %{{.*}} {dim = 0 : i64} : (tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %10:2 = graph.unstack %x {dim = 0 : i64} : (tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %11 = graph.gather %x, %i {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<2x3x3xf32>
  return
}

// CHECK-LABEL: func.func @contraction
func.func @contraction(%x: tensor<2x3xf32>, %w: tensor<3x4x5xf32>, %ids: tensor<2x7xi32>, %table: tensor<9x4xf32>) {
  // CHECK: graph.contract "bk,kgn->bgn" %{{.*}}, %{{.*}}
  %0 = graph.contract "bk,kgn->bgn" %x, %w : (tensor<2x3xf32>, tensor<3x4x5xf32>) -> tensor<2x4x5xf32>
  // CHECK: graph.reduce max %{{.*}} {{\[}}0, 2] : (tensor<2x4x5xf32>) -> tensor<4xf32>
  %1 = graph.reduce max %0 [0, 2] : (tensor<2x4x5xf32>) -> tensor<4xf32>
  %2 = graph.softmax %0 [2] {log} : tensor<2x4x5xf32>
  %3 = graph.cumsum %x {dim = 1 : i64} : tensor<2x3xf32>
  %4 = graph.embedding %table, %ids {row_axes = ["tp"]} : (tensor<9x4xf32>, tensor<2x7xi32>) -> tensor<2x7x4xf32>
  %5 = graph.scatter_add %4, %ids : (tensor<2x7x4xf32>, tensor<2x7xi32>) -> tensor<9x4xf32>
  return
}

// CHECK-LABEL: func.func @experts
func.func @experts(%p: tensor<2x7x4xf32>, %x: tensor<2x7x6xf32>, %in: tensor<4x2x3x6xf32>, %out: tensor<4x6x3xf32>) {
  // CHECK: graph.top_k %{{.*}} : (tensor<2x7x4xf32>) -> (tensor<2x7x2xf32>, tensor<2x7x2xi64>)
  %r, %i = graph.top_k %p : (tensor<2x7x4xf32>) -> (tensor<2x7x2xf32>, tensor<2x7x2xi64>)
  // CHECK: graph.grouped_contract "btc,egfc->btkgf" rows "btk" %{{.*}}, %{{.*}}, %{{.*}} {group_axes = ["ep"]}
  %0 = graph.grouped_contract "btc,egfc->btkgf" rows "btk" %x, %in, %i {group_axes = ["ep"]} : (tensor<2x7x6xf32>, tensor<4x2x3x6xf32>, tensor<2x7x2xi64>) -> tensor<2x7x2x2x3xf32>
  %1 = graph.grouped_contract "btc,btkgf->egfc" rows "btk" %x, %0, %i : (tensor<2x7x6xf32>, tensor<2x7x2x2x3xf32>, tensor<2x7x2xi64>) -> tensor<4x2x3x6xf32>
  // CHECK: graph.experts %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<2x7x6xf32>, tensor<2x7x2xi64>, tensor<2x7x2xf32>, tensor<4x2x3x6xf32>, tensor<4x6x3xf32>) -> (tensor<2x7x6xf32>, tensor<2x7x2x2x3xf32>)
  %2:3 = graph.experts_grad %y, %i, %r, %in, %out, %h {expert_axes = ["ep"]} : (tensor<2x7x6xf32>, tensor<2x7x2xi64>, tensor<2x7x2xf32>, tensor<4x2x3x6xf32>, tensor<4x6x3xf32>, tensor<2x7x2x2x3xf32>) -> (tensor<2x7x6xf32>, tensor<2x7x2xf32>, tensor<2x7x2x2x3xf32>)
  %3:2 = graph.experts_weight_grad %y, %x, %i, %r, %h, %2#2 : (tensor<2x7x6xf32>, tensor<2x7x6xf32>, tensor<2x7x2xi64>, tensor<2x7x2xf32>, tensor<2x7x2x2x3xf32>, tensor<2x7x2x2x3xf32>) -> (tensor<4x2x3x6xf32>, tensor<4x6x3xf32>)
  return
}

// Rows of halves; routing weights, their gradient and those of matrices in f32.
// CHECK-LABEL: func.func @half_experts
func.func @half_experts(%x: tensor<2x6xbf16>, %i: tensor<2x2xi64>, %r: tensor<2x2xf32>, %in: tensor<4x2x3x6xbf16>, %out: tensor<4x6x3xbf16>) {
  // CHECK: graph.experts %{{.*}} -> (tensor<2x6xbf16>, tensor<2x2x2x3xbf16>)
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<2x6xbf16>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<4x2x3x6xbf16>, tensor<4x6x3xbf16>) -> (tensor<2x6xbf16>, tensor<2x2x2x3xbf16>)
  // CHECK: graph.experts_grad %{{.*}} -> (tensor<2x6xbf16>, tensor<2x2xf32>, tensor<2x2x2x3xbf16>)
  %0:3 = graph.experts_grad %y, %i, %r, %in, %out, %h : (tensor<2x6xbf16>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<4x2x3x6xbf16>, tensor<4x6x3xbf16>, tensor<2x2x2x3xbf16>) -> (tensor<2x6xbf16>, tensor<2x2xf32>, tensor<2x2x2x3xbf16>)
  // CHECK: graph.experts_weight_grad %{{.*}} -> (tensor<4x2x3x6xf32>, tensor<4x6x3xbf16>)
  %1:2 = graph.experts_weight_grad %y, %x, %i, %r, %h, %0#2 : (tensor<2x6xbf16>, tensor<2x6xbf16>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<2x2x2x3xbf16>, tensor<2x2x2x3xbf16>) -> (tensor<4x2x3x6xf32>, tensor<4x6x3xbf16>)
  // CHECK: graph.grouped_contract "nc,nkgf->egfc" rows "nk" %{{.*}} -> tensor<4x2x3x6xf32>
  %2 = graph.grouped_contract "nc,nkgf->egfc" rows "nk" %x, %h, %i : (tensor<2x6xbf16>, tensor<2x2x2x3xbf16>, tensor<2x2xi64>) -> tensor<4x2x3x6xf32>
  return
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<2x7x4xf32>, %scale: tensor<4xf32>) {
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {{\[}}2] {eps = {{.*}} : f64}
  %y, %mean, %rstd = graph.layer_norm %x, %scale, %scale [2] {eps = 1.0e-5} : (tensor<2x7x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x4xf32>, tensor<2x7xf32>, tensor<2x7xf32>)
  %0 = graph.layer_norm_grad %y, %x, %scale, %mean, %rstd [2] : (tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<4xf32>, tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<2x7x4xf32>
  %1:2 = graph.layer_norm_param_grad %y, %x, %mean, %rstd [2] : (tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7xf32>, tensor<2x7xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %z, %r = graph.rms_norm %x, %scale [2] {eps = 1.0e-6} : (tensor<2x7x4xf32>, tensor<4xf32>) -> (tensor<2x7x4xf32>, tensor<2x7xf32>)
  %2 = graph.rms_norm_grad %z, %x, %scale, %r [2] : (tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<4xf32>, tensor<2x7xf32>) -> tensor<2x7x4xf32>
  %3 = graph.rms_norm_param_grad %z, %x, %r [2] : (tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %v: tensor<2x6x3x8xf32>, %bias: tensor<3x2x5x6xf32>,
                     %key: tensor<2x6xi1>, %cos: tensor<5x4xf32>, %x: tensor<2x5x2x4xf32>) {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}}) <causal = true, offset = 1, key = true> {scale = 5.{{0*}}e-01 : f64}
  %out, %lse = graph.attention %q, %k, %v mask(%key) <causal = true, offset = 1, key = true> {scale = 0.5}
    : (tensor<2x5x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x8xf32>, tensor<2x6xi1>) -> (tensor<2x5x3x2x8xf32>, tensor<2x3x2x5xf32>)
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} <>
  %out2, %lse2 = graph.attention %q, %k, %v bias %bias <> {scale = 0.5, empty_row = #graph<empty_row zero>}
    : (tensor<2x5x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x8xf32>, tensor<3x2x5x6xf32>) -> (tensor<2x5x3x2x8xf32>, tensor<2x3x2x5xf32>)
  %g:3 = graph.attention_grad %q, %k, %v mask(%key) out %out, %lse, %out <causal = true, offset = 1, key = true> {scale = 0.5}
    : (tensor<2x5x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x8xf32>, tensor<2x6xi1>, tensor<2x5x3x2x8xf32>, tensor<2x3x2x5xf32>, tensor<2x5x3x2x8xf32>)
      -> (tensor<2x5x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x8xf32>)
  // CHECK: graph.rotary %{{.*}}, %{{.*}}, %{{.*}} {{\[}}1, 3] {inverse, pair = 2 : i64}
  %r = graph.rotary %x, %cos, %cos [1, 3] {pair = 2 : i64, inverse} : (tensor<2x5x2x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<2x5x2x4xf32>
  return
}

// CHECK-LABEL: func.func @losses
func.func @losses(%logits: tensor<2x3x9xf32>, %labels: tensor<2x3xi64>) {
  // CHECK: graph.cross_entropy %{{.*}}, %{{.*}} {ignore_index = -100 : i64}
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<2x3x9xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
  // On a shard the whole number of classes may be larger than the local one.
  %d = graph.cross_entropy_grad %logits, %labels, %lse {classes = 17 : i64, class_axes = ["tp"]} : (tensor<2x3x9xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x3x9xf32>
  %m, %s, %t = graph.cross_entropy_stats %logits, %labels {classes = 17 : i64, class_axes = ["tp"]} : (tensor<2x3x9xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %merged = graph.cross_entropy_merge %m, %m, %s : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %loss, %n, %l = graph.cross_entropy_loss %m, %s, %t, %labels : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
  return
}

// CHECK-LABEL: func.func @training
func.func @training(%count: tensor<f32>, %x: tensor<3xf32>) {
  %0 = graph.read @wte : tensor<257x66xf32>
  graph.write @mean, %x : tensor<3xf32>
  // CHECK: graph.update %{{.*}}, (%{{.*}}) to {{\[}}@wte] {clip = 1.{{0*}}e+00 : f64, optimizer = #graph.adam<lr = {{.*}}, beta1 = {{.*}}, decoupled = true>}
  %norm = graph.update %count, (%0) to [@wte] {clip = 1.0, optimizer = #graph.adam<lr = 1.0e-3, beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, decoupled = true>}
    : (tensor<f32>, tensor<257x66xf32>) -> tensor<f32>
  %norm2 = graph.update %count, () to [] {optimizer = #graph.sgd<lr = 1.0e-3, momentum = 0.9, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>) -> tensor<f32>
  // CHECK: graph.update {{.*}} {early, optimizer
  %normEarly = graph.update %count, () to [] {early, optimizer = #graph.sgd<lr = 1.0e-3, momentum = 0.9, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>) -> tensor<f32>
  // CHECK: graph.update {{.*}}#graph.adam<{{.*}}decoupled = true, raw_eps = true, decay_last = true, post_decay = 1.2{{.*}}e-01, start = -1>
  %norm3 = graph.update %count, () to [] {optimizer = #graph.adam<lr = 1.0e-3, beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, decoupled = true, raw_eps = true, decay_last = true, post_decay = 0.125, start = -1>} : (tensor<f32>) -> tensor<f32>
  // CHECK: graph.update {{.*}}#graph.adagrad<{{.*}}weight_decay = 0.0{{0*}}e+00, start = 2>
  %norm4 = graph.update %count, () to [] {optimizer = #graph.adagrad<lr = 1.0e-3, lr_decay = 0.5, eps = 1.0e-8, weight_decay = 0.0, start = 2>} : (tensor<f32>) -> tensor<f32>
  // CHECK: graph.update {{.*}}average = 0.9{{[0-9]+}} : f64{{.*}}#graph.muon<lr = 2.0{{0*}}e-02, {{.*}}rest = #graph.lamb<{{.*}}always_adapt = false, trust_clip = true>>
  %norm5 = graph.update %count, () to [] {average = 0.99 : f64, optimizer = #graph.muon<lr = 0.02, momentum = 0.95, weight_decay = 0.1, nesterov = true, steps = 5, a = 3.4445, b = -4.775, c = 2.0315, eps = 1.0e-7, match_rms = false, rest = #graph.lamb<lr = 1.0e-3, beta1 = 0.9, beta2 = 0.999, eps = 1.0e-6, weight_decay = 0.01, always_adapt = false, trust_clip = true>>} : (tensor<f32>) -> tensor<f32>
  return
}
