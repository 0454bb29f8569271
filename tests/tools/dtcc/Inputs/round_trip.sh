# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# round_trip.sh FOLDER BIND CLUSTER OPTION...: writes loss.onnx of FOLDER with the plan's placement and reads it back; both plans
# must be the same. The options hold parts of the plan, which reading the annotated model does without, but for the ZeRO stage:
# annotations do not say it, and plans of two stages may be as fast.
set -e
folder=$1 bind=$2 cluster=$3
shift 3
dtcc $folder/loss.onnx --bind=$bind --cluster=$cluster "$@" --emit=onnx -o $folder/annotated.onnx
dtcc $folder/loss.onnx --bind=$bind --cluster=$cluster "$@" --emit=plan -o $folder/given.json
zero=$(sed -n 's/.*"zero": \([0-3]\).*/\1/p' $folder/given.json)
dtcc $folder/annotated.onnx --bind=$bind --cluster=$cluster --zero=${zero:-0} --emit=plan -o $folder/read.json
cmp $folder/given.json $folder/read.json
