#!/bin/bash
GPUS=8
NNODES=$(scontrol show hostnames | wc -l)
torchrun --nnodes $NNODES --nproc-per-node $GPUS pretrain_gpt.py $EXTRA_ARGS --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \
  --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50257 \
  --micro-batch-size 4 --global-batch-size 512 --tensor-model-parallel-size 4 --bf16
