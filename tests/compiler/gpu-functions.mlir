// RUN: dtcc %s --target=cuda --emit=ptx -o - | \
// RUN:   FileCheck %s --implicit-check-not=div.rn --implicit-check-not=rcp.rn --implicit-check-not=sqrt.rn

// Functions are instructions of GPUs where processors have polynomials, and sums that would cancel are known as a whole: of
// gelu one exponential and one reciprocal are left, of its other form one exponential. Halves are converted in pairs.
// CHECK-LABEL: .entry gelu(
// CHECK: ld.global.v4.b32
// CHECK-COUNT-8: ex2.approx.ftz.f32
// CHECK-NOT: ex2
// CHECK-COUNT-4: cvt.rn.bf16x2.f32
// CHECK-NOT: cvt.rn
// CHECK: st.global.v4.b32
// CHECK-LABEL: .entry softmax(
// CHECK: ex2.approx.ftz.f32
// CHECK: div.full.f32
// CHECK-LABEL: .entry tanh(
// CHECK-COUNT-4: rcp.approx.ftz.f32
// CHECK-LABEL: .entry root(
// CHECK-COUNT-4: rsqrt.approx.f32
spmd.mesh @mesh [#spmd.axis<"mb", 1, time>]
exec.func @gelu buffers [memref<1048576xbf16>, memref<1048576xbf16>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<1048576xbf16>):
  %0 = graph.gelu %x {form = #graph<gelu_form exact>} : tensor<1048576xbf16>
  exec.yield %0 : tensor<1048576xbf16>
}
exec.func @softmax buffers [memref<6x1024xf32>, memref<6x1024xf32>] accumulate [0] in_place [0] {
^bb0(%x: tensor<6x1024xf32>):
  %0 = graph.exp %x : tensor<6x1024xf32>
  %1 = graph.reduce #graph<reduce_kind sum> %0 [1] : (tensor<6x1024xf32>) -> tensor<6xf32>
  %2 = graph.broadcast %1 [0] : (tensor<6xf32>) -> tensor<6x1024xf32>
  %3 = graph.div %0, %2 : (tensor<6x1024xf32>, tensor<6x1024xf32>) -> tensor<6x1024xf32>
  exec.yield %3 : tensor<6x1024xf32>
}
exec.func @tanh buffers [memref<4096xf32>, memref<4096xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4096xf32>):
  %0 = graph.gelu %x {form = #graph<gelu_form tanh>} : tensor<4096xf32>
  exec.yield %0 : tensor<4096xf32>
}
exec.func @root buffers [memref<4096xf32>, memref<4096xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4096xf32>):
  %0 = graph.rsqrt %x : tensor<4096xf32>
  exec.yield %0 : tensor<4096xf32>
}
exec.program @step mesh @mesh {
  exec.arena @activations : 0
  exec.phase @microbatch repeat 1 {
  }
}
