// Recurrent layers keep tensors of f32 in programs of 16 bits, and may round the factors of their products. The gradient of the
// recurrent weights is a product in 16 bits whose result is f32.
// RUN: dtcc-opt %s --graph-lower-precision | FileCheck %s
// RUN: dtcc-opt %s --graph-lower-precision --graph-differentiate --graph-verify-step | FileCheck %s --check-prefix=STEP
// RUN: dtcc-opt %s --graph-lower-precision=compute=f16 --graph-differentiate=loss-scale=1024 --graph-verify-step \
// RUN:   | FileCheck %s --check-prefix=F16

// One copy of the gradient in 16 bits serves the recurrent weights, those of the inputs, and the inputs.
// CHECK-LABEL: func.func @loss
// CHECK: %[[P:.*]] = graph.add {{.*}} -> tensor<5x4x4x6xbf16>
// CHECK: %[[WIDE:.*]] = graph.cast %[[P]] : (tensor<5x4x4x6xbf16>) -> tensor<5x4x4x6xf32>
// CHECK: graph.recurrence lstm %[[WIDE]], %{{.*}}, %{{.*}}, %{{.*}} {product_type = bf16} : (tensor<5x4x4x6xf32>, tensor<4x6x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<5x4x6xf32>, tensor<5x4x6xf32>, tensor<5x4x4x6xf32>)
// STEP-LABEL: func.func @step
// STEP: %[[H:.*]], %{{.*}}, %{{.*}} = graph.recurrence lstm
// STEP: %[[D:.*]], %{{.*}}, %{{.*}} = graph.recurrence_grad lstm {{.*}} product_type = bf16
// STEP: %[[HALF:.*]] = graph.cast %[[D]] {{.*}}phase = "I"} : (tensor<5x4x4x6xf32>) -> tensor<5x4x4x6xbf16>
// STEP-NOT: graph.cast %[[D]]
// STEP: %[[LATER:.*]] = graph.slice %[[H]]
// STEP: %[[LATERHALF:.*]] = graph.cast %[[LATER]] {{.*}} -> tensor<4x4x6xbf16>
// STEP: %[[BEFORE:.*]] = graph.concat %{{.*}}, %[[LATERHALF]] {{.*}} -> tensor<5x4x6xbf16>
// STEP: graph.contract "tbgh,tbk->ghk" %[[HALF]], %[[BEFORE]] {{.*}}phase = "W"} : (tensor<5x4x4x6xbf16>, tensor<5x4x6xbf16>) -> tensor<4x6x6xf32>
// STEP-NOT: graph.cast %[[D]]
// STEP: graph.contract "tbgh,tbi->ghi" %[[HALF]], %{{.*}} {{.*}} -> tensor<4x6x6xf32>
// F16-LABEL: func.func @step
// F16: graph.recurrence_grad lstm {{.*}} product_type = f16
// F16: graph.contract "tbgh,tbk->ghk" {{.*}} : (tensor<5x4x4x6xf16>, tensor<5x4x6xf16>) -> tensor<4x6x6xf32>
graph.state @u : tensor<4x6x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "u", saved_shape = array<i64: 24, 6>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @w : tensor<4x6x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 24, 6>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @b : tensor<4x6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "b", saved_shape = array<i64: 24>, init = #graph.init<zero>}
func.func @loss(%x: tensor<5x4x6xf32>, %s: tensor<4x6xf32>, %labels: tensor<5x4xi64>) -> (tensor<f32>, tensor<f32>) {
  %u = graph.read @u : tensor<4x6x6xf32>
  %w = graph.read @w : tensor<4x6x6xf32>
  %b = graph.read @b : tensor<4x6xf32>
  %p = graph.contract "tbi,ghi->tbgh" %x, %u : (tensor<5x4x6xf32>, tensor<4x6x6xf32>) -> tensor<5x4x4x6xf32>
  %r = graph.broadcast %b [2, 3] : (tensor<4x6xf32>) -> tensor<5x4x4x6xf32>
  %q = graph.add %p, %r : (tensor<5x4x4x6xf32>, tensor<5x4x4x6xf32>) -> tensor<5x4x4x6xf32>
  %h, %c, %g = graph.recurrence lstm %q, %w, %s, %s : (tensor<5x4x4x6xf32>, tensor<4x6x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<5x4x6xf32>, tensor<5x4x6xf32>, tensor<5x4x4x6xf32>)
  %sum, %count, %lse = graph.cross_entropy %h, %labels : (tensor<5x4x6xf32>, tensor<5x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<5x4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
