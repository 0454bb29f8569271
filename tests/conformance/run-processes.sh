#!/usr/bin/env bash
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# run-processes.sh N PROGRAM [arguments]: N processes with the variables that torchrun
# sets on one node. The status is that of the first process that failed.
count=$1
shift
export WORLD_SIZE=$count LOCAL_WORLD_SIZE=$count MASTER_ADDR=localhost MASTER_PORT=29500 TORCHELASTIC_RUN_ID=test-$$
children=()
for ((rank = 0; rank < count; ++rank)); do
  RANK=$rank LOCAL_RANK=$rank "$@" &
  children+=($!)
done
status=0
for child in "${children[@]}"; do
  wait "$child" || { one=$?; [ $status -ne 0 ] || status=$one; }
done
exit $status
