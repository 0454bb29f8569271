// A sum over a million cells is as exact as one over a thousand: the loss is that of f64, rounded once.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy; numpy.save('x.npy', numpy.random.default_rng(1).standard_normal((5, 262147), numpy.float32))"
// RUN: dtcc %s --precision=f32 --optimizer=sgd:lr=0 -o run && ./run --data=. --steps=1 --metrics=run.jsonl
// RUN: %python -c "import json, numpy; \
// RUN:   loss = next(row['loss'] for row in map(json.loads, open('run.jsonl')) if 'loss' in row); \
// RUN:   true = (numpy.load('x.npy').astype(float) ** 2).mean(); assert abs(loss / true - 1) < 5e-7, (loss, true)"
graph.state @w : tensor<262147xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 262147>, init = #graph.init<zero>}
func.func @loss(%x: tensor<5x262147xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<262147xf32>
  %rows = graph.broadcast %w [1] : (tensor<262147xf32>) -> tensor<5x262147xf32>
  %d = graph.sub %x, %rows : (tensor<5x262147xf32>, tensor<5x262147xf32>) -> tensor<5x262147xf32>
  %squares = graph.mul %d, %d : (tensor<5x262147xf32>, tensor<5x262147xf32>) -> tensor<5x262147xf32>
  %sum = graph.reduce sum %squares [0, 1] : (tensor<5x262147xf32>) -> tensor<f32>
  %count = graph.constant dense<1310735.0> : tensor<f32> : tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
