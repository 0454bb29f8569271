// RUN: dtcc-opt "--exec-fold-epilogues=bias=true gelu=true bias-gradient=true" %s | FileCheck %s
// RUN: dtcc-opt "--exec-fold-epilogues=bias=true" %s | FileCheck %s --check-prefix=BIAS
// RUN: dtcc-opt --exec-fold-epilogues %s | FileCheck %s --check-prefix=NONE

// NONE-NOT: exec.product
// BIAS-COUNT-1: exec.product
// BIAS-NOT: exec.product

spmd.mesh @mesh [#spmd.axis<"mb", 1, time>]
spmd.bucket parameter @params.0 : 4096 x bf16
spmd.bucket parameter @params.1 : 1024 x f32
spmd.bucket gradient @grads.0 : 4096 x f32 of @params.0
spmd.program @step mesh @mesh {

// What gelu is taken of is kept for its gradient; its gradient is a product too; the gradients of weight and bias are one.
// CHECK-LABEL: spmd.phase @layer
// CHECK: %[[W:.*]] = spmd.view @params.0[0]
// CHECK: %[[B:.*]] = spmd.view @params.0[512]
// CHECK: %[[Y:.*]], %[[KEPT:.*]] = exec.product "abc,cd->abd" %[[X:.*]], %[[W]] bias %[[B]] : tensor<32xbf16> gelu : tensor<2x4x16xbf16>, tensor<16x32xbf16> -> tensor<2x4x32xbf16> keeps tensor<2x4x32xbf16>
// CHECK: %[[DX:.*]] = exec.product "abd,dc->abc" %{{.*}}, %{{.*}} slope %[[KEPT]] : tensor<2x4x32xbf16> : tensor<2x4x16xbf16>, tensor<16x32xbf16> -> tensor<2x4x32xbf16>
// The sum stands behind the input's gradient, before which it was: what hides behind the weight's gradient still does.
// CHECK: %[[DIN:.*]] = graph.contract "abd,cd->abc" %[[DX]], %[[W]]
// CHECK: spmd.accumulate %{{.*}} into @grads.0[2048]
// CHECK: %[[DW:.*]], %[[DB:.*]] = exec.product "abc,abd->cd" %[[X]], %[[DX]] : tensor<2x4x16xbf16>, tensor<2x4x32xbf16> -> tensor<16x32xf32> sums tensor<32xf32>
// CHECK: spmd.accumulate %[[DB]] into @grads.0[512]
// CHECK: spmd.accumulate %[[DW]] into @grads.0[0]
  spmd.phase @layer {
    %x = spmd.view @params.0[1024] : tensor<2x4x16xbf16>
    %w = spmd.view @params.0[0] : tensor<16x32xbf16>
    %b = spmd.view @params.0[512] : tensor<32xbf16>
    %product = graph.contract "abc,cd->abd" %x, %w : (tensor<2x4x16xbf16>, tensor<16x32xbf16>) -> tensor<2x4x32xbf16>
    %rows = graph.broadcast %b [2] : (tensor<32xbf16>) -> tensor<2x4x32xbf16>
    %sum = graph.add %product, %rows : (tensor<2x4x32xbf16>, tensor<2x4x32xbf16>) -> tensor<2x4x32xbf16>
    %y = graph.gelu %sum {form = #graph<gelu_form tanh>} : tensor<2x4x32xbf16>
    %v = spmd.view @params.0[2048] : tensor<16x32xbf16>
    %dz = spmd.view @params.0[3072] : tensor<2x4x16xbf16>
    %dy = graph.contract "dc,abd->abc" %v, %dz : (tensor<16x32xbf16>, tensor<2x4x16xbf16>) -> tensor<2x4x32xbf16>
    %dx = graph.gelu_grad %sum, %dy {form = #graph<gelu_form tanh>} : tensor<2x4x32xbf16>
    %db = graph.reduce #graph<reduce_kind sum> %dx [0, 1] : (tensor<2x4x32xbf16>) -> tensor<32xf32>
    spmd.accumulate %db into @grads.0[512] : tensor<32xf32>
    %din = graph.contract "abd,cd->abc" %dx, %w : (tensor<2x4x32xbf16>, tensor<16x32xbf16>) -> tensor<2x4x16xbf16>
    %dv = graph.contract "abc,abd->dc" %y, %din : (tensor<2x4x32xbf16>, tensor<2x4x16xbf16>) -> tensor<16x32xf32>
    spmd.accumulate %dv into @grads.0[2048] : tensor<16x32xf32>
    %dw = graph.contract "abd,abc->cd" %dx, %x : (tensor<2x4x32xbf16>, tensor<2x4x16xbf16>) -> tensor<16x32xf32>
    spmd.accumulate %dw into @grads.0[0] : tensor<16x32xf32>
  }

// A bias of several dimensions of a product that no kernel reads; the factor whose letters stand last is rhs.
// CHECK-LABEL: spmd.phase @bias
// CHECK: exec.product "ca,bce->abe" %{{.*}}, %{{.*}} bias %{{.*}} : tensor<2x8xf32>
  spmd.phase @bias {
    %x = spmd.view @params.1[0] : tensor<4x3xf32>
    %w = spmd.view @params.1[64] : tensor<2x4x8xf32>
    %b = spmd.view @params.1[128] : tensor<2x8xf32>
    %product = graph.contract "bce,ca->abe" %w, %x : (tensor<2x4x8xf32>, tensor<4x3xf32>) -> tensor<3x2x8xf32>
    %rows = graph.broadcast %b [1, 2] : (tensor<2x8xf32>) -> tensor<3x2x8xf32>
    %sum = graph.add %rows, %product : (tensor<3x2x8xf32>, tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
    %parts:2 = graph.unstack %sum {dim = 1 : i64} : (tensor<3x2x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>)
    spmd.accumulate %parts#0 into @grads.0[0] : tensor<3x8xf32>
    spmd.accumulate %parts#1 into @grads.0[64] : tensor<3x8xf32>
  }

// Left alone: a bias that a kernel adds in passing, a bias that is none of the library's (it does not stand last), gelu by
// erf, gelu of rows that do not divide by 8, gelu of products wider than their factors, a sum that is read before the
// product could make it, and one of another type.
// CHECK-LABEL: spmd.phase @alone
// CHECK-NOT: exec.product
  spmd.phase @alone {
    %x = spmd.view @params.0[0] : tensor<4x16xbf16>
    %w = spmd.view @params.0[64] : tensor<16x12xbf16>
    %b = spmd.view @params.0[512] : tensor<12xbf16>
    %product = graph.contract "ac,cd->ad" %x, %w : (tensor<4x16xbf16>, tensor<16x12xbf16>) -> tensor<4x12xbf16>
    %rows = graph.broadcast %b [1] : (tensor<12xbf16>) -> tensor<4x12xbf16>
    %sum = graph.add %product, %rows : (tensor<4x12xbf16>, tensor<4x12xbf16>) -> tensor<4x12xbf16>
    %wide = graph.cast %sum : (tensor<4x12xbf16>) -> tensor<4x12xf32>
    spmd.accumulate %wide into @grads.0[0] : tensor<4x12xf32>
    %turned = graph.contract "ac,cd->da" %x, %w : (tensor<4x16xbf16>, tensor<16x12xbf16>) -> tensor<12x4xf32>
    %c = spmd.view @params.1[600] : tensor<12xf32>
    %columns = graph.broadcast %c [0] : (tensor<12xf32>) -> tensor<12x4xf32>
    %other = graph.add %turned, %columns : (tensor<12x4xf32>, tensor<12x4xf32>) -> tensor<12x4xf32>
    spmd.accumulate %other into @grads.0[64] : tensor<12x4xf32>
    %v = spmd.view @params.0[1024] : tensor<16x32xbf16>
    %second = graph.contract "ac,cd->ad" %x, %v : (tensor<4x16xbf16>, tensor<16x32xbf16>) -> tensor<4x32xbf16>
    %exact = graph.gelu %second {form = #graph<gelu_form exact>} : tensor<4x32xbf16>
    %third = graph.contract "ac,cd->ad" %x, %w : (tensor<4x16xbf16>, tensor<16x12xbf16>) -> tensor<4x12xbf16>
    %narrow = graph.gelu %third {form = #graph<gelu_form tanh>} : tensor<4x12xbf16>
    %fourth = graph.contract "ac,cd->ad" %x, %v : (tensor<4x16xbf16>, tensor<16x32xbf16>) -> tensor<4x32xf32>
    %widened = graph.gelu %fourth {form = #graph<gelu_form tanh>} : tensor<4x32xf32>
    %early = graph.reduce #graph<reduce_kind sum> %exact [0] : (tensor<4x32xbf16>) -> tensor<32xf32>
    %read = graph.neg %early : tensor<32xf32>
    spmd.accumulate %read into @grads.0[128] : tensor<32xf32>
    %dw = graph.contract "ad,ac->cd" %exact, %x : (tensor<4x32xbf16>, tensor<4x16xbf16>) -> tensor<16x32xf32>
    spmd.accumulate %dw into @grads.0[1024] : tensor<16x32xf32>
    %short = graph.reduce #graph<reduce_kind sum> %narrow [0] : (tensor<4x12xbf16>) -> tensor<12xbf16>
    %dv = graph.contract "ad,ac->cd" %narrow, %x : (tensor<4x12xbf16>, tensor<4x16xbf16>) -> tensor<16x12xf32>
    spmd.accumulate %dv into @grads.0[2048] : tensor<16x12xf32>
    %wider = graph.cast %short : (tensor<12xbf16>) -> tensor<12xf32>
    spmd.accumulate %wider into @grads.0[160] : tensor<12xf32>
    spmd.accumulate %widened into @grads.0[256] : tensor<4x32xf32>
  }
}
