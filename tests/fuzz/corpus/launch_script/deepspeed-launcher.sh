#!/bin/bash
ZERO=2
cat > ds.json <<EOF
{"train_batch_size": 512, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": $ZERO},
 "bf16": {"enabled": true}}
EOF
deepspeed --num_nodes 8 --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config ds.json --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \
  --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50257 \
  --micro-batch-size 4 --global-batch-size 512 --tensor-model-parallel-size 4 --bf16
