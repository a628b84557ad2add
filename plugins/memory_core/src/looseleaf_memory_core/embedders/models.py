"""What the models of the providers take, as data. Figures are those of the providers' own documentation."""

from __future__ import annotations

from dataclasses import dataclass

from looseleaf import Limits

_CAREFUL = Limits(texts=32, tokens=2048, request_tokens=32_000)


@dataclass(frozen=True, slots=True)
class Model:
    """One model.

    Attributes:
        dimensions: Of its vectors unless others are asked for; 0 is not known before the first answer.
        limits: What a request may hold.
        query: What it wants before a question.
        document: What it wants before a text.
    """

    dimensions: int = 0
    limits: Limits = _CAREFUL
    query: str = ""
    document: str = ""


_OPENAI = Limits(texts=2048, tokens=8191, request_tokens=300_000)
_VOYAGE = Limits(texts=1000, tokens=32_000, request_tokens=120_000)
_GEMINI = Limits(texts=100, tokens=2048, request_tokens=20_000)

#: By provider and model; names without their tag (`nomic-embed-text:latest` is `nomic-embed-text`).
MODELS: dict[str, dict[str, Model]] = {
    "openai": {
        "text-embedding-3-small": Model(1536, _OPENAI),
        "text-embedding-3-large": Model(3072, _OPENAI),
        "text-embedding-ada-002": Model(1536, _OPENAI),
    },
    "voyage": {
        "voyage-4-large": Model(1024, _VOYAGE),
        "voyage-4": Model(1024, Limits(texts=1000, tokens=32_000, request_tokens=320_000)),
        "voyage-4-lite": Model(1024, Limits(texts=1000, tokens=32_000, request_tokens=1_000_000)),
        "voyage-3-large": Model(1024, _VOYAGE),
        "voyage-3.5": Model(1024, Limits(texts=1000, tokens=32_000, request_tokens=320_000)),
        "voyage-3.5-lite": Model(1024, Limits(texts=1000, tokens=32_000, request_tokens=1_000_000)),
    },
    "mistral": {"mistral-embed": Model(1024, Limits(texts=128, tokens=8192, request_tokens=16_000))},
    "gemini": {
        "gemini-embedding-001": Model(3072, _GEMINI),
        "gemini-embedding-2-preview": Model(3072, Limits(texts=100, tokens=8192, request_tokens=80_000)),
    },
    "ollama": {
        "nomic-embed-text": Model(768, Limits(texts=32, tokens=2048, request_tokens=32_000), "search_query: ", "search_document: "),
        "mxbai-embed-large": Model(
            1024, Limits(texts=32, tokens=512, request_tokens=16_000), "Represent this sentence for searching relevant passages: "
        ),
        "embeddinggemma": Model(768, _CAREFUL, "task: search result | query: ", "title: none | text: "),
        "qwen3-embedding": Model(
            0,
            Limits(texts=32, tokens=32_000, request_tokens=64_000),
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
        ),
        "snowflake-arctic-embed2": Model(1024, Limits(texts=32, tokens=8192, request_tokens=32_000), "query: "),
        "bge-m3": Model(1024, Limits(texts=32, tokens=8192, request_tokens=32_000)),
        "all-minilm": Model(384, Limits(texts=64, tokens=256, request_tokens=16_000)),
    },
}


def known_model(provider: str, name: str) -> Model:
    """Return what is known of a model; one that is not listed gets careful limits."""
    plain = name.partition(":")[0].rpartition("/")[2]
    return MODELS.get(provider, {}).get(plain, Model())
