JOB_NAME = "7b_train"
DO_ALERT = False

SEQ_LEN = 8192
HIDDEN_SIZE = 4096
NUM_ATTENTION_HEAD = 32
MLP_RATIO = 8 / 3
NUM_LAYER = 32
VOCAB_SIZE = 103168

MODEL_ONLY_FOLDER = "local:llm_ckpts/xxxx"
data = dict(
    seq_len=SEQ_LEN,
    micro_num=4,
    micro_bsz=2,
    pack_sample_into_one=False,
    total_steps=50000,
    rampup_batch_size="",
    train_folder=None,
)
model_type = "INTERNLM"
model = dict(
    checkpoint=False,
    num_attention_heads=NUM_ATTENTION_HEAD,
    embed_split_hidden=True,
    vocab_size=VOCAB_SIZE,
    hidden_size=HIDDEN_SIZE,
    num_layers=NUM_LAYER,
    mlp_ratio=MLP_RATIO,
    dtype="torch.bfloat16",
    norm_type="rmsnorm",
    use_flash_attn=True,
    num_chunks=1,
)
parallel = dict(
    zero1=dict(size=-1, fsdp=False),
    tensor=dict(size=2, mode="isp"),
    pipeline=dict(size=1, interleaved_overlap=True),
    weight=dict(size=4, overlap=True, memory_pool=True),
)
