"""Make a BERT embedding model of some hundred kilobytes, random weights and a real tokenizer, as a GGUF file."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import numpy as np

CONTEXT, WIDTH, INNER, HEADS, LAYERS = 64, 32, 64, 2, 2
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = ["the", "gateway", "runs", "on", "router", "bread", "note", "question"]


def write_model(path: Path) -> Path:
    """Write the model to `path`; texts of more than 64 tokens are too long for it."""
    from gguf import GGUFWriter, PoolingType, TokenType

    letters = string.ascii_lowercase + string.digits
    pieces = [*_SPECIAL, *(f"\u2581{part}" for part in [*letters, *string.punctuation, *_WORDS]), *letters]
    random = np.random.default_rng(7)
    writer = GGUFWriter(path, "bert")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_type_count(2)
    writer.add_token_list(pieces)
    writer.add_token_types([TokenType.CONTROL if piece in _SPECIAL else TokenType.NORMAL for piece in pieces])
    for add, name in ((writer.add_pad_token_id, "[PAD]"), (writer.add_unk_token_id, "[UNK]"), (writer.add_bos_token_id, "[CLS]"),
                      (writer.add_sep_token_id, "[SEP]"), (writer.add_eos_token_id, "[SEP]"), (writer.add_mask_token_id, "[MASK]")):  # fmt: skip
        add(pieces.index(name))

    def matrix(name: str, *shape: int) -> None:
        writer.add_tensor(f"{name}.weight", (random.standard_normal(shape) * 0.3).astype(np.float32))

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(WIDTH, np.float32))

    matrix("token_embd", len(pieces), WIDTH)
    matrix("position_embd", CONTEXT, WIDTH)
    matrix("token_types", 2, WIDTH)
    norm("token_embd_norm")
    shapes: dict[str, tuple[int, int]] = {
        **dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (WIDTH, WIDTH)), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER),
    }  # fmt: skip
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            matrix(f"blk.{layer}.{name}", *shape)
            writer.add_tensor(f"blk.{layer}.{name}.bias", np.zeros(shape[0], np.float32))
        norm(f"blk.{layer}.attn_output_norm")
        norm(f"blk.{layer}.layer_output_norm")
    finish: list[Any] = [writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file, writer.close]
    for step in finish:
        step()
    return path
