// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

// CHECK-LABEL: func.func @parts
func.func @parts(%q: tensor<2x4x3x2x4xbf16>, %k: tensor<2x4x3x4xbf16>, %v: tensor<2x4x3x8xbf16>, %key: tensor<2x4xi1>,
                 %dout: tensor<2x4x3x2x8xbf16>) {
  // CHECK: %[[O:.*]], %[[L:.*]] = graph.attention_part %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}}) <key = true> {chunks = 4 : i64, key_axes = ["cp"], length = 8 : i64, query_length = 8 : i64, row_axes = ["cp"], scale = 5.{{0*}}e-01 : f64}
  %o, %l = graph.attention_part %q, %k, %v mask(%key) <key = true>
      {scale = 0.5, length = 8 : i64, query_length = 8 : i64, chunks = 4 : i64, row_axes = ["cp"], key_axes = ["cp"]}
    : (tensor<2x4x3x2x4xbf16>, tensor<2x4x3x4xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4xi1>) -> (tensor<2x4x3x2x8xf32>, tensor<2x3x2x4xf32>)
  // CHECK: graph.attention_part %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}}) onto(%[[O]], %[[L]]) <key = true> {{.*}}shift = 1 : i64
  %o1, %l1 = graph.attention_part %q, %k, %v mask(%key) onto(%o, %l) <key = true>
      {scale = 0.5, length = 8 : i64, query_length = 8 : i64, shift = 1 : i64, chunks = 4 : i64, row_axes = ["cp"], key_axes = ["cp"]}
    : (tensor<2x4x3x2x4xbf16>, tensor<2x4x3x4xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4xi1>, tensor<2x4x3x2x8xf32>, tensor<2x3x2x4xf32>) -> (tensor<2x4x3x2x8xf32>, tensor<2x3x2x4xf32>)
  // CHECK: graph.attention_part_grad %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}}) out %{{.*}}, %{{.*}}, %{{.*}} <key = true>
  %dq, %dk, %dv = graph.attention_part_grad %q, %k, %v mask(%key) out %dout, %l1, %dout <key = true> {scale = 0.5, length = 8 : i64, query_length = 8 : i64}
    : (tensor<2x4x3x2x4xbf16>, tensor<2x4x3x4xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4xi1>, tensor<2x4x3x2x8xbf16>, tensor<2x3x2x4xf32>, tensor<2x4x3x2x8xbf16>)
      -> (tensor<2x4x3x2x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x8xf32>)
  return
}

// CHECK-LABEL: func.func @order
func.func @order(%x: tensor<8x32xi64>) -> tensor<8x32xi64> {
  // CHECK: graph.reorder %{{.*}} dim 1 chunks 4 : (tensor<8x32xi64>) -> tensor<8x32xi64>
  %y = graph.reorder %x dim 1 chunks 4 : (tensor<8x32xi64>) -> tensor<8x32xi64>
  // CHECK: graph.reorder %{{.*}} dim 1 chunks 4 {inverse} : (tensor<8x32xi64>) -> tensor<8x32xi64>
  %z = graph.reorder %y dim 1 chunks 4 {inverse} : (tensor<8x32xi64>) -> tensor<8x32xi64>
  // On a shard: chunks 1 and 2 on the first of two, 0 and 3 on the second.
  // CHECK: graph.reorder %{{.*}} dim 1 chunks 4 {offset_axes = ["cp"]} : (tensor<8x32xi64>) -> tensor<8x16xi64>
  %s = graph.reorder %x dim 1 chunks 4 {offset_axes = ["cp"]} : (tensor<8x32xi64>) -> tensor<8x16xi64>
  return %z : tensor<8x32xi64>
}
