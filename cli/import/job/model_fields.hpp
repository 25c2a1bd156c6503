#pragma once

/// Fields of an imported model's shape by their keys in `prequel/model/1`.

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Every field of a model's shape with its key in `prequel/model/1`, those of experts apart.
template <class Model, class Visit>
void each_shape_field(Model& model, const Visit& visit) {
  visit("num_hidden_layers", model.layers);
  visit("hidden_size", model.hidden);
  visit("num_attention_heads", model.heads);
  visit("num_key_value_heads", model.kv_heads);
  visit("head_dim", model.head_dim);
  visit("intermediate_size", model.ffn_hidden);
  visit("vocab_size", model.vocab);
  visit("max_position_embeddings", model.max_positions);
  visit("mlp", model.mlp);
  visit("position", model.position);
  visit("norm", model.norm);
  visit("bias", model.linear_bias);
  visit("qkv_bias", model.qkv_bias);
  visit("qk_norm", model.qk_norm);
  visit("post_norms", model.post_norms);
  visit("attention_sinks", model.attention_sinks);
  visit("parallel_block", model.parallel_block);
  visit("attn_logit_softcapping", model.score_cap);
  visit("final_logit_softcapping", model.logit_cap);
  visit("tie_word_embeddings", model.tied_embeddings);
  visit("embedding_norm", model.embedding_norm);
  visit("dropout", model.dropout);
  visit("attention_dropout", model.score_dropout);
  visit("sliding_window", model.window);
  visit("attention_chunk_size", model.chunk);
  visit("full_attention_every", model.full_every);
  visit("num_nextn_predict_layers", model.next_token_layers);
}
template <class Experts, class Visit>
void each_expert_field(Experts& experts, const Visit& visit) {
  visit("num_experts", experts.count);
  visit("num_experts_per_tok", experts.top_k);
  visit("moe_intermediate_size", experts.ffn_hidden);
  visit("shared_expert_intermediate_size", experts.shared_hidden);
  visit("shared_expert_gate", experts.shared_gate);
  visit("first_k_dense_replace", experts.first_dense);
  visit("moe_layer_freq", experts.every);
  visit("n_group", experts.groups);
  visit("topk_group", experts.groups_chosen);
}
template <class Latent, class Visit>
void each_latent_field(Latent& latent, const Visit& visit) {
  visit("kv_lora_rank", latent.kv_rank);
  visit("q_lora_rank", latent.q_rank);
  visit("qk_nope_head_dim", latent.nope);
  visit("qk_rope_head_dim", latent.rope);
  visit("v_head_dim", latent.value);
}
template <class Visit>
void each_model_field(ImportedModel& model, const Visit& visit) {
  each_shape_field(model, visit);
  each_expert_field(model.experts, visit);
  each_latent_field(model.latent, visit);
}

}  // namespace prequel
