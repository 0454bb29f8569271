// Rows beyond a rank's room for them (--moe-capacity): an error, or dropped in both directions and counted.
// DEFINE: %{model} = dtcc %s --precision=f32 --optimizer=sgd
// DEFINE: %{check} = %python %S/../Inputs/expert_capacity.py
// RUN: rm -rf %t && mkdir %t
// 64 picks over 4 ranks: the mean is 16, room 18. NumPy drops the same rows, and differences of its loss are the gradients.
// RUN: %{model} --mesh=dp=1,ep=4 --moe-capacity=1.1 -o %t/four
// RUN: %{check} %t/four --ranks=4 --room=18 --work=%t/data4
// Two experts on a rank, of which a token may pick both; work done again drops the same rows.
// RUN: %{model} --mesh=dp=1,ep=2 --zero=3 --recompute=full --moe-capacity=1.05 -o %t/two
// RUN: %{check} %t/two --ranks=2 --room=34 --work=%t/data2

// The default is an error, which says what would do.
// DEFINE: %{run} = --data=%t/data4 --weights=%t/data4/start.safetensors --steps=3
// RUN: not %t/four %{run} 2>&1 | FileCheck %s --check-prefix=STOP
// STOP: step 1: the experts of a rank are picked by {{[0-9]+}} rows, and it has room for 18: compile with --moe-capacity={{[0-9.]+}} or more, or drop the rows beyond the room (--on-moe-overflow=drop)
// RUN: %t/four %{run} --on-moe-overflow=drop | FileCheck %s --check-prefix=DROP
// DROP: step 1/3 {{.*}} rows of experts dropped
// An evaluation drops what a step would, and says so: it does not end a run whose own rows have room.
// RUN: %python %S/../Inputs/even_rows.py %t/data4/start.safetensors %t/even
// DEFINE: %{even} = --data=%t/even --weights=%t/data4/start.safetensors --steps=2 --lr=1e-4
// RUN: %t/four %{even} --metrics=%t/even.jsonl | FileCheck %s --check-prefix=EVEN --implicit-check-not=dropped
// EVEN: step 2/2
// RUN: %t/four %{even} --eval-data=%t/data4 --eval-every=1 --eval-steps=1 --metrics=%t/with.jsonl | FileCheck %s --check-prefix=EVAL
// EVAL: step 1/2 {{ *}}evaluation loss {{.*}}  {{[0-9]+}} rows of experts dropped
// EVAL: step 2/2  loss
// RUN: %python %S/../Inputs/same_steps.py %t/even.jsonl %t/with.jsonl
// DEFINE: %{only} = --eval-only --eval-data=%t/data4 --eval-steps=1 --weights=%t/data4/start.safetensors
// RUN: %t/four %{only} --on-moe-overflow=drop --metrics=%t/only.jsonl
// RUN: %python %S/../Inputs/evaluations.py like-step %t/only.jsonl %t/data4/threads1.jsonl
// RUN: grep -o '"dropped_rows":[0-9]*' %t/data4/threads1.jsonl | head -1 > %t/step && grep -o 'dropped_rows":[0-9]*' %t/only.jsonl | sed 's/^/"/' | diff - %t/step
// RUN: not %t/four %{only} 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: step 1: the experts of a rank are picked by {{[0-9]+}} rows, and it has room for 18
// RUN: not %t/four %{run} --on-moe-overflow=some 2>&1 | FileCheck %s --check-prefix=CHOICE
// CHOICE: --on-moe-overflow

// Memory is that of the room: 4 ranks of 18 rows, not of 64.
// RUN: %{model} --mesh=dp=1,ep=4 --moe-capacity=1.1 --no-eval --emit=spmd -o - | FileCheck %s
// CHECK: spmd.pack_picks %{{.*}} over ["ep"] experts 1 counts : tensor<8x4x2xi64> -> tensor<18x1xi64>, tensor<18xi64>
// CHECK: spmd.combine_rows %{{.*}} over ["ep"] experts 1 room 18 : (tensor<18x16xf32>, tensor<8x4x2xi64>) -> tensor<2x4x16xf32>

// A plan says it, and an option wins over the plan.
// RUN: %{model} --mesh=dp=1,ep=4 --moe-capacity=1.5 --emit=plan -o %t/plan.json
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t/plan.json
// PLAN: "dispatch": true,
// PLAN-NEXT: "capacity": 1.5
// RUN: %{model} --plan=%t/plan.json --no-eval --emit=spmd -o - | FileCheck %s --check-prefix=HELD
// HELD: room 24
// RUN: %{model} --plan=%t/plan.json --moe-capacity=2 --no-eval --emit=spmd -o - | FileCheck %s --check-prefix=OVER
// OVER: room 32
// RUN: %{model} --plan=%t/plan.json --moe-dispatch=gather --no-eval --emit=spmd -o %t/gathered && not grep room %t/gathered
// RUN: dtcc-plan show %t/four | FileCheck %s --check-prefix=SHOW
// SHOW: graph.experts {{.*}}, room for 1.10 of the mean rows
// RUN: sed 's/"capacity": 1.5/"capacity": 0.5/' %t/plan.json > %t/small.json
// RUN: not %{model} --plan=%t/small.json -o %t/none 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: expected a number of at least 1

// Bad values, and nothing to bound.
// RUN: not %{model} --mesh=dp=1,ep=4 --moe-capacity=some -o %t/none 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not %{model} --mesh=dp=1,ep=4 --moe-capacity=-1 -o %t/none 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: --moe-capacity must be a number of at least 0, got:
// RUN: not %{model} --mesh=dp=1,ep=4 --moe-capacity=0 -o %t/none 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: not %{model} --mesh=dp=1,ep=4 --moe-capacity=0.9 -o %t/none 2>&1 | FileCheck %s --check-prefix=LEAST
// LEAST: --moe-capacity must be at least 1, got: 0
// RUN: not %{model} --mesh=dp=1,ep=4 --moe-capacity=2 --moe-dispatch=gather -o %t/none 2>&1 | FileCheck %s --check-prefix=GATHER
// GATHER: --moe-capacity bounds the rows that ranks send to experts, and --moe-dispatch=gather sends all tokens: leave one of them out
// RUN: %{model} --mesh=dp=2 --moe-capacity=2 --emit=plan -o %t/plain.json 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: --moe-capacity bounds nothing: the plan splits no experts over ep, and a rank has only its own rows
// RUN: not %{model} --mesh=dp=1,ep=4 --moe-capacity=1 --verify -o %t/none 2>&1 | FileCheck %s --check-prefix=VERIFY
// VERIFY: has room for 16 rows and would receive {{[0-9]+}}: the rest would be dropped; give --moe-capacity at least {{[0-9.]+}} to verify the step

graph.state @router : tensor<4x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router.weight", saved_shape = array<i64: 4, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @in : tensor<4x2x6x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.in", saved_shape = array<i64: 4, 2, 6, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @out : tensor<4x16x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.out", saved_shape = array<i64: 4, 16, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<16x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head.weight", saved_shape = array<i64: 16, 5>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x4x16xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8x4xi64> {graph.name = "labels", graph.role = "labels", graph.bounds = array<i64: 0, 5, -100>}) -> (tensor<f32>, tensor<f32>) {
  %router = graph.read @router : tensor<4x16xf32>
  %scores = graph.contract "btc,ec->bte" %x, %router : (tensor<8x4x16xf32>, tensor<4x16xf32>) -> tensor<8x4x4xf32>
  %p = graph.softmax %scores [2] : tensor<8x4x4xf32>
  %r, %i = graph.top_k %p : (tensor<8x4x4xf32>) -> (tensor<8x4x2xf32>, tensor<8x4x2xi64>)
  %in = graph.read @in : tensor<4x2x6x16xf32>
  %out = graph.read @out : tensor<4x16x6xf32>
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<8x4x16xf32>, tensor<8x4x2xi64>, tensor<8x4x2xf32>, tensor<4x2x6x16xf32>, tensor<4x16x6xf32>) -> (tensor<8x4x16xf32>, tensor<8x4x2x2x6xf32>)
  %z = graph.add %x, %y : (tensor<8x4x16xf32>, tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
  %head = graph.read @head : tensor<16x5xf32>
  %logits = graph.contract "btn,nv->btv" %z, %head : (tensor<8x4x16xf32>, tensor<16x5xf32>) -> tensor<8x4x5xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x4x5xf32>, tensor<8x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
