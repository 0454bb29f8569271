// RUN: dtcc-opt %s -exec-chunk-exchanges=cluster=8xh100 | FileCheck %s
// RUN: dtcc-opt %s -exec-chunk-exchanges=parts=2 | FileCheck %s --check-prefix=TWO
// RUN: dtcc-opt %s -exec-chunk-exchanges=cluster=8xh100 -exec-fuse -exec-bufferize -exec-assign-streams -exec-plan-arena -exec-verify -o /dev/null

// Positions are shared out over tp between products. What the first product makes is summed and shared out, what the last two
// read is gathered; parts have positions of each rank, and the products walk the ranks.
spmd.mesh @mesh [#spmd.axis<"tp", 8, rank>]
spmd.program @step mesh @mesh {
  // CHECK-LABEL: spmd.phase @forward
  // CHECK: %[[ROWS:.*]] = graph.reshape %{{.*}} : (tensor<1x8192x2048xbf16>) -> tensor<1x8x[[PARTS:4|8]]x{{[0-9]+}}x2048xbf16>
  // CHECK: %[[PART:.*]] = graph.contract "aAbc,dc->aAbd"
  // CHECK: %[[WHOLE:.*]] = graph.reshape %[[PART]] {{.*}} -> tensor<1x{{1024|2048}}x16384xbf16>
  // CHECK: spmd.reduce_scatter sum %[[WHOLE]] dim 1 over ["tp"]
  // CHECK: graph.contract "aAbc,dc->aAbd"
  // CHECK: spmd.reduce_scatter
  // CHECK: graph.concat {{.*}}dim = 1
  // CHECK: spmd.all_gather
  // CHECK: spmd.all_gather
  // CHECK: graph.contract "aAbc,dc->aAbd"
  // Parts of both products follow each other.
  // TWO: spmd.all_gather
  // TWO: spmd.all_gather
  // TWO: %[[G0:.*]] = graph.reshape
  // TWO: %[[G1:.*]] = graph.reshape
  // TWO: graph.contract "aAbc,dc->aAbd" %[[G0]]
  // TWO: graph.contract "aAbc,dc->aAbd" %[[G0]]
  // TWO: graph.contract "aAbc,dc->aAbd" %[[G1]]
  // TWO: graph.contract "aAbc,dc->aAbd" %[[G1]]
  %0 = spmd.phase @forward {
    %x = spmd.input "x" of !spmd.tensor<1x8192x2048xbf16, @mesh, [{}, {}, {}]> {role = "data"} : tensor<1x8192x2048xbf16>
    %w = spmd.input "w" of !spmd.tensor<16384x2048xbf16, @mesh, [{}, {}]> {role = "data"} : tensor<16384x2048xbf16>
    %u = spmd.input "u" of !spmd.tensor<8448x16384xbf16, @mesh, [{}, {}]> {role = "data"} : tensor<8448x16384xbf16>
    %v = spmd.input "v" of !spmd.tensor<8448x16384xbf16, @mesh, [{}, {}]> {role = "data"} : tensor<8448x16384xbf16>
    %y = graph.contract "abc,dc->abd" %x, %w {origin = 1 : i64, phase = "F"} : (tensor<1x8192x2048xbf16>, tensor<16384x2048xbf16>) -> tensor<1x8192x16384xbf16>
    %s = spmd.reduce_scatter sum %y dim 1 over ["tp"] : tensor<1x8192x16384xbf16> -> tensor<1x1024x16384xbf16>
    %n = graph.neg %s {origin = 2 : i64, phase = "F"} : tensor<1x1024x16384xbf16>
    %g = spmd.all_gather %n dim 1 over ["tp"] : tensor<1x1024x16384xbf16> -> tensor<1x8192x16384xbf16>
    %p = graph.contract "abc,dc->abd" %g, %u {origin = 3 : i64, phase = "F"} : (tensor<1x8192x16384xbf16>, tensor<8448x16384xbf16>) -> tensor<1x8192x8448xbf16>
    %q = graph.contract "abc,dc->abd" %g, %v {origin = 4 : i64, phase = "F"} : (tensor<1x8192x16384xbf16>, tensor<8448x16384xbf16>) -> tensor<1x8192x8448xbf16>
    %m = graph.mul %p, %q {origin = 5 : i64, phase = "F"} : (tensor<1x8192x8448xbf16>, tensor<1x8192x8448xbf16>) -> tensor<1x8192x8448xbf16>
    spmd.yield %m : tensor<1x8192x8448xbf16>
  } : tensor<1x8192x8448xbf16>
  // Gradients have other work beside their exchanges.
  // CHECK-LABEL: spmd.phase @backward
  // CHECK: graph.contract "abd,dc->abc"
  // CHECK-NEXT: spmd.reduce_scatter
  // CHECK-NOT: graph.concat
  spmd.phase @backward {
    %x = spmd.input "x" of !spmd.tensor<1x8192x16384xbf16, @mesh, [{}, {}, {}]> {role = "data"} : tensor<1x8192x16384xbf16>
    %w = spmd.input "w" of !spmd.tensor<16384x2048xbf16, @mesh, [{}, {}]> {role = "data"} : tensor<16384x2048xbf16>
    %d = graph.contract "abd,dc->abc" %x, %w {origin = 1 : i64, phase = "I"} : (tensor<1x8192x16384xbf16>, tensor<16384x2048xbf16>) -> tensor<1x8192x2048xbf16>
    %s = spmd.reduce_scatter sum %d dim 1 over ["tp"] : tensor<1x8192x2048xbf16> -> tensor<1x1024x2048xbf16>
  }
  // A weight is gathered along what is an inner dimension of the product: parts of that would be copied together.
  // CHECK-LABEL: spmd.phase @inner
  // CHECK-NOT: graph.concat
  // TWO-LABEL: spmd.phase @inner
  // TWO-NOT: graph.concat
  %1 = spmd.phase @inner {
    %x = spmd.input "x" of !spmd.tensor<1x8192x2048xbf16, @mesh, [{}, {}, {}]> {role = "data"} : tensor<1x8192x2048xbf16>
    %w = spmd.input "w" of !spmd.tensor<2048x2048xbf16, @mesh, [{}, {}]> {role = "data"} : tensor<2048x2048xbf16>
    %g = spmd.all_gather %w dim 0 over ["tp"] : tensor<2048x2048xbf16> -> tensor<16384x2048xbf16>
    %p = graph.contract "abc,dc->abd" %x, %g {origin = 1 : i64, phase = "F"} : (tensor<1x8192x2048xbf16>, tensor<16384x2048xbf16>) -> tensor<1x8192x16384xbf16>
    spmd.yield %p : tensor<1x8192x16384xbf16>
  } : tensor<1x8192x16384xbf16>
}
