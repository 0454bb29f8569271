// RUN: dtcc-opt %s --graph-recover-composites | FileCheck %s

// CHECK-LABEL: func.func @rms
// CHECK: graph.rms_norm %arg0, %arg1 [1] {eps = 9.9999997473787516E-6 : f64}
// CHECK-NEXT: return
func.func @rms(%x: tensor<3x8xf32>, %w: tensor<8xf32>) -> tensor<3x8xf32> {
  %sq = graph.mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %sum = graph.reduce sum %sq [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %n = graph.constant dense<8.0> : tensor<3xf32> : tensor<3xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<3xf32> : tensor<3xf32>
  %ms = graph.div %sum, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %a = graph.add %ms, %eps : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %d = graph.sqrt %a : tensor<3xf32>
  %b = graph.broadcast %d [0] : (tensor<3xf32>) -> tensor<3x8xf32>
  %y = graph.div %x, %b : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %wb = graph.broadcast %w [1] : (tensor<8xf32>) -> tensor<3x8xf32>
  %z = graph.mul %wb, %y : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %z : tensor<3x8xf32>
}

// Without a weight the scale is 1.
// CHECK-LABEL: func.func @rms_alone
// CHECK: %[[ONE:.*]] = graph.constant dense<1.0{{.*}}> : tensor<8xf32>
// CHECK: graph.rms_norm %arg0, %[[ONE]]
func.func @rms_alone(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %sq = graph.mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %sum = graph.reduce sum %sq [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %n = graph.constant dense<8.0> : tensor<3xf32> : tensor<3xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<3xf32> : tensor<3xf32>
  %ms = graph.div %sum, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %a = graph.add %ms, %eps : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %d = graph.sqrt %a : tensor<3xf32>
  %b = graph.broadcast %d [0] : (tensor<3xf32>) -> tensor<3x8xf32>
  %y = graph.div %x, %b : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// eps outside of the root is another op; so is another divisor.
// CHECK-LABEL: func.func @eps_outside
// CHECK-NOT: graph.rms_norm
// CHECK: return
func.func @eps_outside(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %sq = graph.mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %sum = graph.reduce sum %sq [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %n = graph.constant dense<8.0> : tensor<3xf32> : tensor<3xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<3xf32> : tensor<3xf32>
  %ms = graph.div %sum, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %root = graph.sqrt %ms : tensor<3xf32>
  %d = graph.add %root, %eps : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %b = graph.broadcast %d [0] : (tensor<3xf32>) -> tensor<3x8xf32>
  %y = graph.div %x, %b : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
// CHECK-LABEL: func.func @divisor
// CHECK-NOT: graph.rms_norm
// CHECK: return
func.func @divisor(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %sq = graph.mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %sum = graph.reduce sum %sq [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %n = graph.constant dense<7.0> : tensor<3xf32> : tensor<3xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<3xf32> : tensor<3xf32>
  %ms = graph.div %sum, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %a = graph.add %ms, %eps : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %d = graph.sqrt %a : tensor<3xf32>
  %b = graph.broadcast %d [0] : (tensor<3xf32>) -> tensor<3x8xf32>
  %y = graph.div %x, %b : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// The statistics are read elsewhere.
// CHECK-LABEL: func.func @escaped
// CHECK-NOT: graph.rms_norm
// CHECK: return
func.func @escaped(%x: tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<3xf32>) {
  %sq = graph.mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %sum = graph.reduce sum %sq [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %n = graph.constant dense<8.0> : tensor<3xf32> : tensor<3xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<3xf32> : tensor<3xf32>
  %ms = graph.div %sum, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %a = graph.add %ms, %eps : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %d = graph.sqrt %a : tensor<3xf32>
  %b = graph.broadcast %d [0] : (tensor<3xf32>) -> tensor<3x8xf32>
  %y = graph.div %x, %b : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y, %ms : tensor<3x8xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @layer
// CHECK: graph.layer_norm %arg0, %arg1, %arg2 [1] {eps = 9.9999997473787516E-6 : f64}
// CHECK-NEXT: return
func.func @layer(%x: tensor<3x8xf32>, %w: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<3x8xf32> {
  %total = graph.reduce sum %x [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %n = graph.constant dense<8.0> : tensor<3xf32> : tensor<3xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<3xf32> : tensor<3xf32>
  %two = graph.constant dense<2.0> : tensor<3x8xf32> : tensor<3x8xf32>
  %mean = graph.div %total, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %mb = graph.broadcast %mean [0] : (tensor<3xf32>) -> tensor<3x8xf32>
  %cx = graph.sub %x, %mb : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %sq = graph.pow %cx, %two : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %sum = graph.reduce sum %sq [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %var = graph.div %sum, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %a = graph.add %var, %eps : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %i = graph.rsqrt %a : tensor<3xf32>
  %ib = graph.broadcast %i [0] : (tensor<3xf32>) -> tensor<3x8xf32>
  %y = graph.mul %cx, %ib : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %wb = graph.broadcast %w [1] : (tensor<8xf32>) -> tensor<3x8xf32>
  %z = graph.mul %y, %wb : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %bb = graph.broadcast %bias [1] : (tensor<8xf32>) -> tensor<3x8xf32>
  %u = graph.add %bb, %z : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %u : tensor<3x8xf32>
}
