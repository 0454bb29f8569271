// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

func.func @argument(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{body must take the operands' types}}
  %r = exec.fused(%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<5xf32>):
    %y = graph.constant dense<0.0> : tensor<4xf32> : tensor<4xf32>
    exec.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @result(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = exec.fused(%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    // expected-error@+1 {{must yield the result types of exec.fused}}
    exec.yield %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// expected-error@+1 {{must have one buffer per argument and yielded value: 2, got: 1}}
exec.func @count buffers [memref<4xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4xf32>):
  %y = graph.relu %x : tensor<4xf32>
  exec.yield %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{buffer must have the shape and element type of 'tensor<4xf32>', got: memref<5xf32>}}
exec.func @shape buffers [memref<5xf32>, memref<4xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4xf32>):
  %y = graph.relu %x : tensor<4xf32>
  exec.yield %y : tensor<4xf32>
}

// -----

// A yielded value may be rounded to a narrower type as it is stored, and to no other; an argument has its own type.
// expected-error@+1 {{buffer must have the shape and element type of 'tensor<4xbf16>', got: memref<4xf32>}}
exec.func @widened buffers [memref<4xf32>, memref<4xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4xf32>):
  %y = graph.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
  exec.yield %y : tensor<4xbf16>
}

// -----

// expected-error@+1 {{accumulate must be 0, 1 or 2, got: 3}}
exec.func @mode buffers [memref<4xf32>, memref<4xf32>] accumulate [3] in_place [-1] {
^bb0(%x: tensor<4xf32>):
  %y = graph.relu %x : tensor<4xf32>
  exec.yield %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{in_place must name a buffer of equal type}}
exec.func @place buffers [memref<8xf32, strided<[2]>>, memref<8xf32>] accumulate [0] in_place [0] {
^bb0(%x: tensor<8xf32>):
  %y = graph.relu %x : tensor<8xf32>
  exec.yield %y : tensor<8xf32>
}
