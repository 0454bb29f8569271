// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

// CHECK: exec.product "ab,bc->ac" %{{.*}}, %{{.*}} bias %{{.*}} : tensor<8xf32> gelu : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32> keeps tensor<4x8xf32>
// CHECK: exec.product "ab,bc->ac" %{{.*}}, %{{.*}} slope %{{.*}} : tensor<4x8xf32> : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
// CHECK: exec.product "ba,bc->ac" %{{.*}}, %{{.*}} : tensor<2x4xbf16>, tensor<2x8xbf16> -> tensor<4x8xf32> sums tensor<8xf32>
func.func @products(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>, %b: tensor<8xf32>, %g: tensor<2x4xbf16>, %h: tensor<2x8xbf16>) {
  %y, %kept = exec.product "ab,bc->ac" %x, %w bias %b : tensor<8xf32> gelu : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32> keeps tensor<4x8xf32>
  %z = exec.product "ab,bc->ac" %x, %w slope %kept : tensor<4x8xf32> : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
  %dw, %db = exec.product "ba,bc->ac" %g, %h : tensor<2x4xbf16>, tensor<2x8xbf16> -> tensor<4x8xf32> sums tensor<8xf32>
  return
}
