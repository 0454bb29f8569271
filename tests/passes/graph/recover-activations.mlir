// RUN: dtcc-opt %s --graph-recover-composites | FileCheck %s

// CHECK-LABEL: func.func @silu
// CHECK-NEXT: graph.silu %arg0
// CHECK-NEXT: return
func.func @silu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = graph.logistic %x : tensor<2x3xf32>
  %y = graph.mul %x, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// The same by exponentials: x / (1 + exp(-x)).
// CHECK-LABEL: func.func @silu_exp
// CHECK-NEXT: graph.silu %arg0
// CHECK-NEXT: return
func.func @silu_exp(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %ones = graph.broadcast %one [] : (tensor<f32>) -> tensor<2x3xf32>
  %n = graph.neg %x : tensor<2x3xf32>
  %e = graph.exp %n : tensor<2x3xf32>
  %d = graph.add %ones, %e : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = graph.div %x, %d : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// In an unusual order: (1 + erf(x / 1.41421)) * (x * 0.5).
// CHECK-LABEL: func.func @gelu_exact
// CHECK-NEXT: graph.gelu %arg0 {form = #graph<gelu_form exact>}
// CHECK-NEXT: return
func.func @gelu_exact(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %root = graph.constant dense<1.41421354> : tensor<2x3xf32> : tensor<2x3xf32>
  %one = graph.constant dense<1.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %half = graph.constant dense<0.5> : tensor<2x3xf32> : tensor<2x3xf32>
  %d = graph.div %x, %root : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %e = graph.erf %d : tensor<2x3xf32>
  %a = graph.add %one, %e : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %h = graph.mul %x, %half : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = graph.mul %a, %h : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @gelu_tanh
// CHECK-NEXT: graph.gelu %arg0 {form = #graph<gelu_form tanh>}
// CHECK-NEXT: return
func.func @gelu_tanh(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = graph.constant dense<4.471500e-02> : tensor<2x3xf32> : tensor<2x3xf32>
  %s = graph.constant dense<0.797884583> : tensor<2x3xf32> : tensor<2x3xf32>
  %one = graph.constant dense<1.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %half = graph.constant dense<0.5> : tensor<2x3xf32> : tensor<2x3xf32>
  %x2 = graph.mul %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %x3 = graph.mul %x2, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %cx = graph.mul %c, %x3 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %i = graph.add %cx, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %si = graph.mul %i, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = graph.tanh %si : tensor<2x3xf32>
  %a = graph.add %t, %one : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %xa = graph.mul %x, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = graph.mul %xa, %half : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// x * logistic(1.702 x) is near gelu, and is not gelu.
// CHECK-LABEL: func.func @quick_gelu
// CHECK-NOT: {{graph.gelu|graph.silu}}
// CHECK: return
func.func @quick_gelu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = graph.constant dense<1.702> : tensor<2x3xf32> : tensor<2x3xf32>
  %cx = graph.mul %c, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = graph.logistic %cx : tensor<2x3xf32>
  %y = graph.mul %x, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// A gate without a join, and one whose sigmoid is read elsewhere.
// CHECK-LABEL: func.func @gates
// CHECK-NOT: graph.silu
// CHECK: return
func.func @gates(%x: tensor<2x3xf32>, %z: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %s = graph.logistic %x : tensor<2x3xf32>
  %y = graph.mul %x, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %g = graph.logistic %z : tensor<2x3xf32>
  %u = graph.mul %x, %g : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y, %s, %u : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @relu
// CHECK-NEXT: graph.relu %arg0
func.func @relu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = graph.constant dense<0.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %p = graph.compare gt %x, %zero : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %y = graph.select %p, %x, %zero : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// A bound near zero, which a logarithm or a quotient may need, is no relu.
// CHECK-LABEL: func.func @bound
// CHECK-NOT: graph.relu
// CHECK: return
func.func @bound(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %low = graph.constant dense<1.0e-12> : tensor<2x3xf32> : tensor<2x3xf32>
  %y = graph.max %x, %low : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// A relu that ends at 20 and a silu of what is at most 10 are equal to those without a bound only below it.
// CHECK-LABEL: func.func @bounds_above
// CHECK: graph.compare ge
// CHECK: graph.compare ge
// CHECK: return
func.func @bounds_above(%x: tensor<2x3xf32>, %z: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %zero = graph.constant dense<0.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %most = graph.constant dense<20.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %p = graph.compare le %x, %zero : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %r = graph.select %p, %zero, %x : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %q = graph.compare ge %r, %most : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %y = graph.select %q, %most, %r : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %ten = graph.constant dense<10.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %o = graph.compare ge %z, %ten : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %c = graph.select %o, %ten, %z : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = graph.logistic %c : tensor<2x3xf32>
  %g = graph.mul %c, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y, %g : tensor<2x3xf32>, tensor<2x3xf32>
}

// A gate whose slope differs from channel to channel is a silu in the first alone.
// CHECK-LABEL: func.func @slopes
// CHECK-NOT: graph.silu
// CHECK: return
func.func @slopes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %b = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : tensor<3xf32>
  %wide = graph.broadcast %b [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %bx = graph.mul %x, %wide : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = graph.logistic %bx : tensor<2x3xf32>
  %y = graph.mul %x, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// The same values with another gradient are no silu.
// CHECK-LABEL: func.func @stopped
// CHECK-NOT: graph.silu
func.func @stopped(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = graph.logistic %x : tensor<2x3xf32>
  %c = graph.stop_gradient %s : tensor<2x3xf32>
  %y = graph.mul %x, %c : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: return
  return %y : tensor<2x3xf32>
}
