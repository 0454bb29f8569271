// RUN: dtcc-opt %s --graph-recover-composites --graph-canonicalize | FileCheck %s
// Variants of one attention: which are recovered, as what, and which are left alone.

// CHECK-LABEL: func.func @none
// CHECK: graph.attention %arg0, %arg1, %arg2 <> {scale = 5.000000e-01 : f64}
func.func @none(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %one = graph.constant dense<1.0> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.mul %scaled, %one : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// CHECK-LABEL: func.func @causal
// CHECK: graph.attention %arg0, %arg1, %arg2 <causal = true> {scale = 5.000000e-01 : f64}
func.func @causal(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// A key ahead: j <= i + 2.
// CHECK-LABEL: func.func @offset
// CHECK: graph.attention {{.*}} <causal = true, offset = 2>
func.func @offset(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %two = graph.constant dense<2> : tensor<2x3x8x8xi64> : tensor<2x3x8x8xi64>
  %i2 = graph.add %i, %two : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i2 : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// j < i: the first query sees nothing, and -inf makes that not a number.
// CHECK-LABEL: func.func @strict
// CHECK: graph.attention {{.*}} <causal = true, offset = -1> {empty_row = #graph<empty_row nan>
func.func @strict(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare lt %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// CHECK-LABEL: func.func @strict_guarded
// CHECK: graph.attention {{.*}} <causal = true, offset = -1> {empty_row = #graph<empty_row zero>
func.func @strict_guarded(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare lt %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %nan = graph.is_nan %p : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xi1>
  %zero = graph.constant dense<0.0> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %g = graph.select %nan, %zero, %p : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %g, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// A finite fill makes the empty row uniform; the guard is dead.
// CHECK-LABEL: func.func @strict_finite
// CHECK: graph.attention {{.*}} <causal = true, offset = -1> {scale
func.func @strict_finite(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare lt %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %nan = graph.is_nan %p : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xi1>
  %zero = graph.constant dense<0.0> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %g = graph.select %nan, %zero, %p : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %g, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// CHECK-LABEL: func.func @window
// CHECK: graph.attention {{.*}} <causal = true, window_left = 3>
func.func @window(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %d = graph.sub %i, %j : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi64>
  %three = graph.constant dense<3> : tensor<2x3x8x8xi64> : tensor<2x3x8x8xi64>
  %near = graph.compare lt %d, %three : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %both = graph.and %ok, %near : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xi1>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %both, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// CHECK-LABEL: func.func @window_negated
// CHECK: graph.attention {{.*}} <causal = true, window_left = 4>
func.func @window_negated(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %far = graph.compare gt %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %d = graph.sub %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi64>
  %four = graph.constant dense<-4> : tensor<2x3x8x8xi64> : tensor<2x3x8x8xi64>
  %old = graph.compare le %d, %four : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %hidden = graph.or %far, %old : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xi1>) -> tensor<2x3x8x8xi1>
  %ok = graph.not %hidden : tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// Added instead of selected.
// CHECK-LABEL: func.func @added
// CHECK: graph.attention {{.*}} <causal = true>
func.func @added(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %zeros = graph.constant dense<0.0> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %low = graph.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %bias = graph.select %ok, %zeros, %low : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %m = graph.add %bias, %scaled : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// CHECK-LABEL: func.func @softcap
// CHECK: graph.attention {{.*}} <causal = true> {scale = 5.{{0*}}e-01 : f64, softcap = 3.{{0*}}e+01 : f64}
func.func @softcap(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %cap = graph.constant dense<30.0> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %inner = graph.div %scaled, %cap : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %t = graph.tanh %inner : tensor<2x3x8x8xf32>
  %capped = graph.mul %t, %cap : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %capped, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// CHECK-LABEL: func.func @key
// CHECK: graph.attention %arg0, %arg1, %arg2 mask(%arg3) <key = true> {empty_row = #graph<empty_row nan>
func.func @key(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>, %mask: tensor<2x8xi1>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %b = graph.broadcast %mask [0, 3] : (tensor<2x8xi1>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %b, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// True where padded, and causal; a finite fill.
// CHECK-LABEL: func.func @padding
// CHECK: graph.attention %arg0, %arg1, %arg2 mask({{.*}}) <causal = true, key = true> {scale
func.func @padding(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>, %pad: tensor<2x8xi64>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %n = graph.cast %pad : (tensor<2x8xi64>) -> tensor<2x8xi1>
  %b = graph.broadcast %n [0, 3] : (tensor<2x8xi1>) -> tensor<2x3x8x8xi1>
  %seen = graph.not %b : tensor<2x3x8x8xi1>
  %both = graph.and %ok, %seen : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xi1>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %both, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// Packed sequences: causal alone would be wrong whatever the ids of a test happen to be.
// CHECK-LABEL: func.func @segments
// CHECK: graph.attention %arg0, %arg1, %arg2 mask(%arg3, %arg3) <causal = true, segment = true>
func.func @segments(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>, %ids: tensor<2x8xi64>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %si = graph.broadcast %ids [0, 2] : (tensor<2x8xi64>) -> tensor<2x3x8x8xi64>
  %sj = graph.broadcast %ids [0, 3] : (tensor<2x8xi64>) -> tensor<2x3x8x8xi64>
  %same = graph.compare eq %sj, %si : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %both = graph.and %ok, %same : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xi1>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %both, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// A mask of all pairs is no predicate.
// CHECK-LABEL: func.func @general
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @general(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>, %any: tensor<2x3x8x8xi1>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %any, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// A content bias.
// CHECK-LABEL: func.func @bias
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @bias(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>, %bias: tensor<2x3x8x8xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %m = graph.add %scaled, %bias : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// A finite constant that scores may reach is a bias, not a mask.
// CHECK-LABEL: func.func @finite
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @finite(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<-1.0e+04> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// Blocks are neither causal nor a window.
// CHECK-LABEL: func.func @blocks
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @blocks(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %four = graph.constant dense<4> : tensor<2x3x8x8xi64> : tensor<2x3x8x8xi64>
  %bi = graph.div %i, %four : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi64>
  %bj = graph.div %j, %four : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi64>
  %ok = graph.compare eq %bi, %bj : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// Causal, but nobody sees key 5.
// CHECK-LABEL: func.func @hole
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @hole(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %five = graph.constant dense<5> : tensor<2x3x8x8xi64> : tensor<2x3x8x8xi64>
  %hole = graph.compare ne %j, %five : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %both = graph.and %ok, %hole : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xi1>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %both, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// Probabilities that are returned.
// CHECK-LABEL: func.func @escaped
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @escaped(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> (tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32>) {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled = graph.mul %x, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %ok = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %scaled, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y, %p : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32>
}

// Keys and values repeated for groups of queries: two heads of keys, three queries each.
// CHECK-LABEL: func.func @grouped
// CHECK: graph.attention %arg0, %arg1, %arg2 <> {scale = 1.250000e-01 : f64} : (tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>)
// CHECK-NOT: graph.broadcast
// CHECK: return
func.func @grouped(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %v: tensor<2x8x2x4xf32>) -> tensor<2x8x2x3x4xf32> {
  %c = graph.constant dense<0.25> : tensor<2x2x3x4x8xf32> : tensor<2x2x3x4x8xf32>
  %half = graph.constant dense<0.5> : tensor<2x8x2x3x4xf32> : tensor<2x8x2x3x4xf32>
  %kg = graph.broadcast %k [0, 1, 2, 4] : (tensor<2x8x2x4xf32>) -> tensor<2x8x2x3x4xf32>
  %vg = graph.broadcast %v [0, 1, 2, 4] : (tensor<2x8x2x4xf32>) -> tensor<2x8x2x3x4xf32>
  %kt = graph.transpose %kg [0, 2, 3, 4, 1] : (tensor<2x8x2x3x4xf32>) -> tensor<2x2x3x4x8xf32>
  %ks = graph.mul %c, %kt : (tensor<2x2x3x4x8xf32>, tensor<2x2x3x4x8xf32>) -> tensor<2x2x3x4x8xf32>
  %qs = graph.mul %q, %half : (tensor<2x8x2x3x4xf32>, tensor<2x8x2x3x4xf32>) -> tensor<2x8x2x3x4xf32>
  %x = graph.contract "bthgd,bhgds->bhgts" %qs, %ks : (tensor<2x8x2x3x4xf32>, tensor<2x2x3x4x8xf32>) -> tensor<2x2x3x8x8xf32>
  %p = graph.softmax %x [4] : tensor<2x2x3x8x8xf32>
  %y = graph.contract "bhgts,bshge->bthge" %p, %vg : (tensor<2x2x3x8x8xf32>, tensor<2x8x2x3x4xf32>) -> tensor<2x8x2x3x4xf32>
  return %y : tensor<2x8x2x3x4xf32>
}

// A router's softmax has no product of the scores' shape.
// CHECK-LABEL: func.func @router
// CHECK: graph.softmax
func.func @router(%x: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x3xf32> {
  %p = graph.softmax %x [3] : tensor<2x8x3x4xf32>
  %y = graph.contract "btie,btje->btij" %p, %v : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x3xf32>
  return %y : tensor<2x8x3x3xf32>
}

// Layers of one model are read once where they are computed alike: the second is as the first, the third sees the
// other keys, the fourth has another scale.
// CHECK-LABEL: func.func @layers
// CHECK: %[[FIRST:.*]], %{{.*}} = graph.attention %arg0, %arg1, %arg2 <causal = true> {scale = 5.000000e-01 : f64}
// CHECK: %[[SECOND:.*]], %{{.*}} = graph.attention %[[FIRST]], %arg1, %arg2 <causal = true> {scale = 5.000000e-01 : f64}
// CHECK: %[[THIRD:.*]], %{{.*}} = graph.attention %[[SECOND]], %arg1, %arg2 <window_left = 1> {scale = 5.000000e-01 : f64}
// CHECK: graph.attention %[[THIRD]], %arg1, %arg2 <causal = true> {scale = 2.500000e-01 : f64}
func.func @layers(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x8x8xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x8x8xi64>
  %x1 = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c1 = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled1 = graph.mul %x1, %c1 : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %ok1 = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %m1 = graph.select %ok1, %scaled1, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p1 = graph.softmax %m1 [3] : tensor<2x3x8x8xf32>
  %y1 = graph.contract "bhts,bshe->bthe" %p1, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  %x2 = graph.contract "bthd,bshd->bhts" %y1, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c2 = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled2 = graph.mul %x2, %c2 : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %ok2 = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %m2 = graph.select %ok2, %scaled2, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p2 = graph.softmax %m2 [3] : tensor<2x3x8x8xf32>
  %y2 = graph.contract "bhts,bshe->bthe" %p2, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  %x3 = graph.contract "bthd,bshd->bhts" %y2, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c3 = graph.constant dense<0.5> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled3 = graph.mul %x3, %c3 : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %ok3 = graph.compare le %i, %j : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %m3 = graph.select %ok3, %scaled3, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p3 = graph.softmax %m3 [3] : tensor<2x3x8x8xf32>
  %y3 = graph.contract "bhts,bshe->bthe" %p3, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  %x4 = graph.contract "bthd,bshd->bhts" %y3, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %c4 = graph.constant dense<0.25> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %scaled4 = graph.mul %x4, %c4 : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %ok4 = graph.compare le %j, %i : (tensor<2x3x8x8xi64>, tensor<2x3x8x8xi64>) -> tensor<2x3x8x8xi1>
  %m4 = graph.select %ok4, %scaled4, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p4 = graph.softmax %m4 [3] : tensor<2x3x8x8xf32>
  %y4 = graph.contract "bhts,bshe->bthe" %p4, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y4 : tensor<2x8x3x4xf32>
}

// A stored mask that differs between heads: that of the middle one hides nothing.
// CHECK-LABEL: func.func @masks_of_heads
// CHECK-NOT: graph.attention
// CHECK: return
func.func @masks_of_heads(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %mask = graph.constant dense<[[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true]], [[true, true, true, true, true, true, true, true], [true, true, true, true, true, true, true, true], [true, true, true, true, true, true, true, true], [true, true, true, true, true, true, true, true], [true, true, true, true, true, true, true, true], [true, true, true, true, true, true, true, true], [true, true, true, true, true, true, true, true], [true, true, true, true, true, true, true, true]], [[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true]]]> : tensor<3x8x8xi1> : tensor<3x8x8xi1>
  %ok = graph.broadcast %mask [1, 2, 3] : (tensor<3x8x8xi1>) -> tensor<2x3x8x8xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.select %ok, %x, %fill : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// Scores that are bounded from below are others, however far the bound is.
// CHECK-LABEL: func.func @bounded_scores
// CHECK-NOT: graph.attention
// CHECK: return
func.func @bounded_scores(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %least = graph.constant dense<-50.0> : tensor<2x3x8x8xf32> : tensor<2x3x8x8xf32>
  %m = graph.max %x, %least : (tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %p = graph.softmax %m [3] : tensor<2x3x8x8xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// A stored mask with one row of its own, in which a causal one would see less.
// CHECK-LABEL: func.func @row_of_its_own
// CHECK-NOT: graph.attention
// CHECK: return
func.func @row_of_its_own(%q: tensor<2x72x3x4xf32>, %k: tensor<2x72x3x4xf32>, %v: tensor<2x72x3x4xf32>) -> tensor<2x72x3x4xf32> {
  %x = graph.contract "bthd,bshd->bhts" %q, %k : (tensor<2x72x3x4xf32>, tensor<2x72x3x4xf32>) -> tensor<2x3x72x72xf32>
  %i = graph.iota {dim = 2 : i64} : tensor<2x3x72x72xi64>
  %j = graph.iota {dim = 3 : i64} : tensor<2x3x72x72xi64>
  %before = graph.compare le %j, %i : (tensor<2x3x72x72xi64>, tensor<2x3x72x72xi64>) -> tensor<2x3x72x72xi1>
  %rows = graph.constant dense<[false, false, false, false, false, false, false, false, false, false, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false]> : tensor<72xi1> : tensor<72xi1>
  %whole = graph.broadcast %rows [2] : (tensor<72xi1>) -> tensor<2x3x72x72xi1>
  %ok = graph.or %before, %whole : (tensor<2x3x72x72xi1>, tensor<2x3x72x72xi1>) -> tensor<2x3x72x72xi1>
  %fill = graph.constant dense<0xFF800000> : tensor<2x3x72x72xf32> : tensor<2x3x72x72xf32>
  %m = graph.select %ok, %x, %fill : (tensor<2x3x72x72xi1>, tensor<2x3x72x72xf32>, tensor<2x3x72x72xf32>) -> tensor<2x3x72x72xf32>
  %p = graph.softmax %m [3] : tensor<2x3x72x72xf32>
  %y = graph.contract "bhts,bshe->bthe" %p, %v : (tensor<2x3x72x72xf32>, tensor<2x72x3x4xf32>) -> tensor<2x72x3x4xf32>
  return %y : tensor<2x72x3x4xf32>
}
