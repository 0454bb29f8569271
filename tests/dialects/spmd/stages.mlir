// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

// A program a stage; what one sends the other receives, over channels of their own.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// CHECK: spmd.program @step.0 mesh @mesh stage 0 over "pp"
spmd.program @step.0 mesh @mesh stage 0 over "pp" {
  spmd.phase @microbatch repeat 2 {
    %x = spmd.input "x" of !spmd.tensor<8xf32, @mesh, [{mb}]> : tensor<4xf32>
    // CHECK: spmd.send %{{.*}} to 1 over "pp" channel 0 : tensor<4xf32>
    spmd.send %x to 1 over "pp" channel 0 : tensor<4xf32>
    spmd.yield
  }
}
// CHECK: spmd.program @step.1 mesh @mesh stage 1 over "pp"
spmd.program @step.1 mesh @mesh stage 1 over "pp" {
  spmd.phase @microbatch repeat 2 {
    // CHECK: spmd.receive from 0 over "pp" channel 0 : tensor<4xf32>
    %x = spmd.receive from 0 over "pp" channel 0 : tensor<4xf32>
    spmd.yield
  }
}
