#!/bin/bash
ARGS="--recompute-granularity selective"
ARGS+=" --sequence-parallel"
OPTS=(--use-distributed-optimizer)
OPTS+=(--accumulate-allreduce-grads-in-fp32)
torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py $ARGS ${OPTS[@]} --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \
  --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50257 \
  --micro-batch-size 4 --global-batch-size 512 --tensor-model-parallel-size 4 --bf16
