"""What the models of the providers take, as data. Figures are those of the providers' own documentation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from looseleaf import Limits
from looseleaf.settings import MemorySearch

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


_OPENAI = Limits(texts=2048, tokens=8191, request_tokens=300_000, requests_per_minute=3000, tokens_per_minute=1_000_000)
_VOYAGE = Limits(texts=1000, tokens=32_000, request_tokens=120_000, requests_per_minute=2000, tokens_per_minute=3_000_000)
_VOYAGE_MORE = replace(_VOYAGE, request_tokens=320_000, tokens_per_minute=8_000_000)
_VOYAGE_LITE = replace(_VOYAGE, request_tokens=1_000_000, tokens_per_minute=16_000_000)
_GEMINI = Limits(texts=100, tokens=2048, request_tokens=20_000, tokens_per_minute=1_000_000, texts_per_minute=3000)

#: Models that one provider alone has. The rates are those of the first paid step, kept to once a provider is busy.
MODELS: dict[str, dict[str, Model]] = {
    "openai": {
        "text-embedding-3-small": Model(1536, _OPENAI),
        "text-embedding-3-large": Model(3072, _OPENAI),
        "text-embedding-ada-002": Model(1536, _OPENAI),
    },
    "voyage": {
        "voyage-4-large": Model(1024, _VOYAGE),
        "voyage-4": Model(1024, _VOYAGE_MORE),
        "voyage-4-lite": Model(1024, _VOYAGE_LITE),
        "voyage-3-large": Model(1024, _VOYAGE),
        "voyage-3.5": Model(1024, _VOYAGE_MORE),
        "voyage-3.5-lite": Model(1024, _VOYAGE_LITE),
    },
    "mistral": {"mistral-embed": Model(1024, Limits(texts=128, tokens=8192, request_tokens=16_000))},
    "gemini": {
        "gemini-embedding-001": Model(3072, _GEMINI),
        "gemini-embedding-2-preview": Model(3072, replace(_GEMINI, tokens=8192, request_tokens=80_000)),
    },
}

_BGE = "Represent this sentence for searching relevant passages: "
_ARCTIC = Model(0, Limits(texts=32, tokens=8192, request_tokens=32_000), "query: ")

#: Open models by a part of their name, whoever serves them: Ollama, a server that speaks as OpenAI does, or a file.
FAMILIES: dict[str, Model] = {
    "nomic-embed": Model(768, Limits(texts=32, tokens=2048, request_tokens=32_000), "search_query: ", "search_document: "),
    "mxbai-embed-large": Model(1024, Limits(texts=32, tokens=512, request_tokens=16_000), _BGE),
    "embeddinggemma": Model(768, _CAREFUL, "task: search result | query: ", "title: none | text: "),
    "qwen3-embedding": Model(
        0,
        Limits(texts=32, tokens=32_000, request_tokens=64_000),
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
    ),
    "arctic-embed2": _ARCTIC,
    "arctic-embed-m-v2": _ARCTIC,
    "arctic-embed-l-v2": _ARCTIC,
    "arctic-embed": Model(0, Limits(texts=32, tokens=512, request_tokens=16_000), _BGE),
    "bge-m3": Model(1024, Limits(texts=32, tokens=8192, request_tokens=32_000)),
    "bge-small-en": Model(384, Limits(texts=32, tokens=512, request_tokens=16_000), _BGE),
    "bge-base-en": Model(768, Limits(texts=32, tokens=512, request_tokens=16_000), _BGE),
    "bge-large-en": Model(1024, Limits(texts=32, tokens=512, request_tokens=16_000), _BGE),
    "e5-": Model(0, Limits(texts=32, tokens=512, request_tokens=16_000), "query: ", "passage: "),
    "all-minilm": Model(384, Limits(texts=64, tokens=256, request_tokens=16_000)),
}


def known_model(provider: str, name: str) -> Model:
    """Return what is known of a model, by its name without what stands before and after it; others get careful limits."""
    plain = name.replace("\\", "/").rpartition("/")[2].partition(":")[0].lower()
    if known := MODELS.get(provider, {}).get(plain):
        return known
    return next((model for part, model in FAMILIES.items() if part in plain), Model())


def overridden(model: Model, search: MemorySearch) -> Model:
    """Return `model` with what config knows better."""
    given = {name: value for name, value in asdict(search.remote.limits).items() if value is not None}
    query, document = search.query_prefix, search.document_prefix
    return Model(
        model.dimensions,
        replace(model.limits, **given),
        model.query if query is None else query,
        model.document if document is None else document,
    )
