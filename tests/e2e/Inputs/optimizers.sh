# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# optimizers.sh SOURCE FOLDER DATA: trains the mlp by each rule under two plans; the losses must agree to 1e-5, those of
# different rules must not.
set -eu
source=$1 folder=$2 data=$3
model=$source/tests/frontends/onnx/Inputs/mlp/loss.onnx
batch=$(python3 -c "import json; print(json.load(open('$data/../golden.json'))['batch'])")
number=0
for rule in lion:lr=1e-2,weight_decay=0.1 adagrad:lr=1e-2,lr_decay=0.1,weight_decay=0.1 adam:lr=1e-2,weight_decay=0.1 adamw:lr=1e-2,weight_decay=0.1 \
            sgd:lr=0.1,momentum=0.9,dampening=0.1,weight_decay=0.1 sgd:lr=0.1,momentum=0.9,nesterov=1 \
            sgd:lr=0.1,momentum=0.9 adafactor:lr=1e-1,weight_decay=0.1; do
  number=$((number + 1))
  for plan in dp=1 'dp=2,tp=2 --zero=1'; do
    ranks=${plan%% *}
    dtcc "$model" --bind=batch="$batch" --mesh=$plan --optimizer=$rule -o "$folder/program"
    "$folder/program" --data="$data" --steps=8 --metrics="$folder/$number-$ranks.jsonl" >/dev/null
  done
  "$source/tools/compare-losses" "$folder/$number-dp=1.jsonl" "$folder/$number-dp=2,tp=2.jsonl" 1e-5
  if [ $number -gt 1 ] && "$source/tools/compare-losses" "$folder/$number-dp=1.jsonl" \
    "$folder/$((number - 1))-dp=1.jsonl" 1e-5 >/dev/null 2>&1; then
    echo "optimizers.sh: $rule trains as the rule before it" >&2
    exit 1
  fi
done
