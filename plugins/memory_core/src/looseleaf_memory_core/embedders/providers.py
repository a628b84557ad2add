"""The remote providers by name: where each is, its usual model, its dialect, and what config changes about that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from looseleaf import AgentSettings, ConfigError
from looseleaf.settings import MemorySearch, resolve_secret
from looseleaf.types import Purpose

from .batch import BatchDialect
from .batch_gemini import GeminiBatch
from .batch_openai import OpenAIBatch, VoyageBatch
from .gemini import GeminiDialect
from .keys import find_keys, models_section, require_keys
from .models import known_model, overridden
from .ollama import OllamaDialect
from .openai import OpenAIDialect
from .remote import Dialect, Options, RemoteEmbedder


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider.

    Attributes:
        base_url: Where it is.
        model: What is used unless config says otherwise.
        dialect: How it is asked.
        types: What it calls a question and a text, where it wants to be told.
        needs_key: Whether it cannot be asked without one.
        batch: Makes the dialect of its batch jobs, from model, dimensions, prefix and input type; None if it has no such thing.
        prefixes: What may stand before a model's name in config, and is not sent.
    """

    base_url: str
    model: str
    dialect: Dialect
    types: tuple[str, str] = ("", "")
    needs_key: bool = True
    batch: Callable[[str, int | None, str, str], BatchDialect] | None = None
    prefixes: tuple[str, ...] = ()


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1", "text-embedding-3-small", OpenAIDialect(), batch=OpenAIBatch, prefixes=("openai/",)
    ),
    "voyage": Provider(
        "https://api.voyageai.com/v1",
        "voyage-4-large",
        OpenAIDialect("output_dimension"),
        ("query", "document"),
        batch=VoyageBatch,
        prefixes=("voyage/",),
    ),
    "mistral": Provider("https://api.mistral.ai/v1", "mistral-embed", OpenAIDialect(), prefixes=("mistral/",)),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta",
        "gemini-embedding-001",
        GeminiDialect(),
        ("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"),
        batch=GeminiBatch,
        prefixes=("models/", "gemini/", "google/"),
    ),
    "ollama": Provider("http://127.0.0.1:11434", "nomic-embed-text", OllamaDialect(), needs_key=False, prefixes=("ollama/",)),
}
_GEMINI_2_SIZES = (768, 1536, 3072)


def remote_embedder(name: str, settings: AgentSettings, environ: Mapping[str, str], *, fallback: bool = False) -> RemoteEmbedder:
    """Return the embedder of the provider `name`, as config has it.

    Args:
        name: One of `PROVIDERS`.
        settings: Of the agent.
        environ: Where keys are looked up.
        fallback: Whether it stands in for another: `remote.*` and `model` are then not meant for it.

    Raises:
        NotConfigured: there is no key.
        ConfigError: the options do not fit together.
    """
    provider = PROVIDERS[name]
    search = settings.search
    requested = not fallback and search.provider == name
    keys = (require_keys if provider.needs_key else find_keys)(name, settings, environ, requested=requested)
    configured = models_section(name, settings)
    base_url = (search.remote.base_url if requested else None) or (configured.base_url if configured else None)
    base_url = _base_url(name, base_url or provider.base_url)
    model = (search.model if requested else None) or provider.model
    if name != "openai" or base_url == provider.base_url:  # a router's models are called openai/… themselves
        for prefix in provider.prefixes:
            model = model.removeprefix(prefix)
    headers = {key: str(value) for key, value in (configured.headers.items() if configured else ())}
    if requested:
        headers |= search.remote.headers
    headers = {key: resolve_secret(value, environ, key=f"remote.headers.{key}") for key, value in headers.items()}
    dimensions = search.output_dimensionality if requested else None
    _check_dimensions(name, model, dimensions)
    known = known_model(name, model)
    if requested:
        known = overridden(known, search)
    if search.remote.non_batch_concurrency == 1 and requested:  # as its users mean it: one text at a time
        known = replace(known, limits=replace(known.limits, texts=1))
    given = search.remote.limits
    rated = requested and any((given.requests_per_minute, given.tokens_per_minute, given.texts_per_minute))
    types = _types(name, search)
    options = Options(name, model, base_url, dimensions, headers, known, types, rated)
    batch = provider.batch(model, dimensions, known.document, types["document"]) if provider.batch else None
    return RemoteEmbedder(provider.dialect, options, keys, batch)


def _types(name: str, search: MemorySearch) -> dict[Purpose, str]:
    """Return what is sent as the type of a question and of a text; config has the last word where a server speaks as OpenAI does."""
    query, document = PROVIDERS[name].types
    if name != "gemini":
        query = search.query_input_type or search.input_type or query
        document = search.document_input_type or search.input_type or document
    return {"query": query, "document": document}


def _base_url(name: str, url: str) -> str:
    url = url.rstrip("/")
    if name == "gemini":
        return url.partition("/openai")[0]
    return url.removesuffix("/v1") if name == "ollama" else url


def _check_dimensions(name: str, model: str, dimensions: int | None) -> None:
    if name == "gemini" and dimensions and "embedding-2" in model and dimensions not in _GEMINI_2_SIZES:
        from looseleaf.errors import Problem

        sizes = ", ".join(map(str, _GEMINI_2_SIZES))
        key = "agents.defaults.memorySearch.outputDimensionality"
        raise ConfigError([Problem(key, "", f"{model} gives vectors of {sizes} numbers, not {dimensions}")])
