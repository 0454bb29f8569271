// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

// A program a stage; what one sends the other receives, over channels of their own.
dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"pp", 2, rank>]
// CHECK: dist.program @step.0 mesh @mesh stage 0 over "pp"
dist.program @step.0 mesh @mesh stage 0 over "pp" {
  dist.phase @microbatch repeat 2 {
    %x = dist.input "x" of !dist.tensor<8xf32, @mesh, [{mb}]> : tensor<4xf32>
    // CHECK: dist.send %{{.*}} to 1 over "pp" channel 0 : tensor<4xf32>
    dist.send %x to 1 over "pp" channel 0 : tensor<4xf32>
    dist.yield
  }
}
// CHECK: dist.program @step.1 mesh @mesh stage 1 over "pp"
dist.program @step.1 mesh @mesh stage 1 over "pp" {
  dist.phase @microbatch repeat 2 {
    // CHECK: dist.receive from 0 over "pp" channel 0 : tensor<4xf32>
    %x = dist.receive from 0 over "pp" channel 0 : tensor<4xf32>
    dist.yield
  }
}
