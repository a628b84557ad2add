"""The whole config surface, key for key that of the seeds: plain frozen dataclasses with their defaults.

Nothing here imports pydantic: a machine without a config file starts from these defaults at once. `_validate.py` hands the same
classes to pydantic-settings when there is something to validate. Keys are camelCase in a config file; each field's comment says
its unit where the name does not. `OURS` marks what the seeds do not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from ._bounds import Bounds

Count = Annotated[int, Bounds(0)]
Positive = Annotated[int, Bounds(1)]
Share = Annotated[float, Bounds(0, 1)]

Secret = str  # `${NAME}` is resolved from the environment when it is used


def key_of(name: str) -> str:
    """Return the key in a config file of the field `name`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.title() for part in rest)


#: How pydantic reads a dataclass of settings.
STRICT: dict[str, Any] = {
    "alias_generator": key_of,
    "populate_by_name": False,
    "extra": "forbid",
    "arbitrary_types_allowed": True,
}


class _Strict:
    """Keys are camelCase, and an unknown one is an error."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT


class _Open(_Strict):
    """A subtree that holds keys of other programs beside ours."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {**STRICT, "extra": "ignore"}


@dataclass(frozen=True, slots=True)
class ExtraPath(_Strict):
    """A file or folder outside the memory layout; `pattern` says which files in it count."""

    path: str
    pattern: str = "**/*.md"


@dataclass(frozen=True, slots=True)
class Experimental(_Strict):
    session_memory: bool = False


@dataclass(frozen=True, slots=True)
class RemoteBatch(_Strict):
    enabled: bool = False
    wait: bool = True
    concurrency: Positive = 2
    poll_interval_ms: Count = 2000
    timeout_minutes: Positive = 60


@dataclass(frozen=True, slots=True)
class RemoteLimits(_Strict):
    """What is known better than our table: each replaces what stands there for the model. 0 is no limit."""

    texts: Positive | None = None
    tokens: Positive | None = None
    request_tokens: Positive | None = None
    request_bytes: Count | None = None
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    texts_per_minute: Count | None = None


@dataclass(frozen=True, slots=True)
class Remote(_Strict):
    base_url: str | None = None
    api_key: Secret | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # they may hold a key, too
    batch: RemoteBatch = field(default_factory=RemoteBatch)
    non_batch_concurrency: Positive | None = None
    limits: RemoteLimits = field(default_factory=RemoteLimits)  # OURS


@dataclass(frozen=True, slots=True)
class Local(_Strict):
    model_path: str | None = None
    model_cache_dir: str | None = None
    context_size: Positive | Literal["auto"] = 4096


@dataclass(frozen=True, slots=True)
class VectorStore(_Strict):
    enabled: bool = True
    extension_path: str | None = None


@dataclass(frozen=True, slots=True)
class FtsStore(_Strict):
    tokenizer: Literal["unicode61", "trigram"] = "unicode61"


@dataclass(frozen=True, slots=True)
class Store(_Strict):
    driver: Literal["sqlite"] = "sqlite"
    path: str | None = None
    vector: VectorStore = field(default_factory=VectorStore)
    fts: FtsStore = field(default_factory=FtsStore)


@dataclass(frozen=True, slots=True)
class Chunking(_Strict):
    tokens: Positive = 400
    overlap: Count = 80


@dataclass(frozen=True, slots=True)
class SyncSessions(_Strict):
    delta_bytes: Count = 100_000
    delta_messages: Count = 50
    post_compaction_force: bool = True
    archives: bool = False  # OURS: also transcripts that were set aside by a reset


@dataclass(frozen=True, slots=True)
class Sync(_Strict):
    on_session_start: bool = True
    on_search: bool = True
    watch: bool | Literal["poll"] = True
    watch_debounce_ms: Count = 1500
    interval_minutes: Count = 0
    embedding_batch_timeout_seconds: Positive | None = None
    sessions: SyncSessions = field(default_factory=SyncSessions)
    auto_reindex: bool = False  # OURS: pay a remote provider for new vectors without being asked


@dataclass(frozen=True, slots=True)
class Mmr(_Strict):
    enabled: bool = False
    lambda_: Share = 0.7


@dataclass(frozen=True, slots=True)
class TemporalDecay(_Strict):
    enabled: bool = False
    half_life_days: Positive = 30


@dataclass(frozen=True, slots=True)
class Hybrid(_Strict):
    enabled: bool = True
    vector_weight: Share | None = None  # unset: the ranker's own measured weights
    text_weight: Share | None = None
    candidate_multiplier: Annotated[int, Bounds(1, 20)] = 4
    mmr: Mmr = field(default_factory=Mmr)
    temporal_decay: TemporalDecay = field(default_factory=TemporalDecay)


@dataclass(frozen=True, slots=True)
class Rrf(_Strict):
    k: Annotated[float, Bounds(0, 10_000)] = 60.0


@dataclass(frozen=True, slots=True)
class QuerySettings(_Strict):
    max_results: Positive = 6
    min_score: Share = 0.35
    hybrid: Hybrid = field(default_factory=Hybrid)
    ranker: str = "balanced"  # OURS
    rrf: Rrf = field(default_factory=Rrf)  # OURS
    stages: tuple[str, ...] | None = None  # OURS: order of post-processors; unset follows the flags of `hybrid`
    stage_timeout_ms: Positive = 2000  # OURS: a post-processor that takes longer is skipped


@dataclass(frozen=True, slots=True)
class Cache(_Strict):
    enabled: bool = True
    max_entries: Positive | None = None
    max_bytes: Positive | None = None  # OURS


@dataclass(frozen=True, slots=True)
class Multimodal(_Strict):
    enabled: bool = False
    modalities: tuple[Literal["image", "audio", "all"], ...] | None = None
    max_file_bytes: Positive = 10_485_760

    def kinds(self) -> tuple[str, ...]:
        """Return which kinds of files count besides Markdown."""
        if not self.enabled:
            return ()
        chosen = self.modalities or ("all",)
        return tuple(kind for kind in ("image", "audio") if kind in chosen or "all" in chosen)


@dataclass(frozen=True, slots=True)
class Collection(_Strict):
    path: str
    name: str | None = None
    pattern: str = "**/*.md"


@dataclass(frozen=True, slots=True)
class ExtraCollections(_Strict):
    extra_collections: tuple[Collection, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall(_Strict):
    """OURS: what is recalled before a turn, without being asked."""

    enabled: bool = False
    budget_ms: Positive = 150
    max_results: Positive = 3
    min_score: Share = 0.6
    max_chars: Positive = 1500


@dataclass(frozen=True, slots=True)
class MemorySearch(_Strict):
    """`agents.defaults.memorySearch`, and the same for each agent."""

    enabled: bool = True
    sources: tuple[Literal["memory", "sessions"], ...] = ("memory",)
    extra_paths: tuple[str | ExtraPath, ...] = ()
    exclude_paths: tuple[str, ...] = ()  # OURS: globs of files that are never indexed
    evergreen_paths: tuple[str, ...] = ()  # OURS: globs of dated files that do not age
    experimental: Experimental = field(default_factory=Experimental)
    provider: str = "auto"
    fallback: str = "none"
    model: str | None = None
    output_dimensionality: Positive | None = None
    input_type: str | None = None
    query_input_type: str | None = None
    document_input_type: str | None = None
    query_prefix: str | None = None  # OURS: what the model wants before a question, where our table does not know it
    document_prefix: str | None = None  # OURS: and before a text
    remote: Remote = field(default_factory=Remote)
    local: Local = field(default_factory=Local)
    store: Store = field(default_factory=Store)
    chunking: Chunking = field(default_factory=Chunking)
    sync: Sync = field(default_factory=Sync)
    query: QuerySettings = field(default_factory=QuerySettings)
    cache: Cache = field(default_factory=Cache)
    multimodal: Multimodal = field(default_factory=Multimodal)
    qmd: ExtraCollections = field(default_factory=ExtraCollections)
    recall: Recall = field(default_factory=Recall)

    def with_sessions(self) -> bool:
        """Tell whether transcripts are searched: `sources` names them, and the experiment is on."""
        return "sessions" in self.sources and self.experimental.session_memory

    def extra_roots(self) -> list[tuple[str, str]]:
        """Return `extraPaths` as pairs of path and pattern, blanks left out."""
        pairs = [(item, "**/*.md") if isinstance(item, str) else (item.path, item.pattern) for item in self.extra_paths]
        return [pair for pair in dict.fromkeys(pairs) if pair[0].strip()]


@dataclass(frozen=True, slots=True)
class MemoryFlush(_Strict):
    enabled: bool = True
    soft_threshold_tokens: Count = 4000
    prompt: str | None = None
    system_prompt: str | None = None
    model: str | None = None
    force_flush_transcript_bytes: int | str = 2_097_152


@dataclass(frozen=True, slots=True)
class Compaction(_Open):
    reserve_tokens_floor: Count = 20_000
    memory_flush: MemoryFlush = field(default_factory=MemoryFlush)


@dataclass(frozen=True, slots=True)
class ContextLimits(_Open):
    memory_get_max_chars: Positive = 12_000


@dataclass(frozen=True, slots=True)
class AgentDefaults(_Open):
    workspace: str | None = None
    user_timezone: str | None = None
    bootstrap_max_chars: Positive = 20_000
    memory_search: MemorySearch = field(default_factory=MemorySearch)
    compaction: Compaction = field(default_factory=Compaction)
    context_limits: ContextLimits = field(default_factory=ContextLimits)


@dataclass(frozen=True, slots=True)
class AgentEntry(_Open):
    id: str
    default: bool = False
    workspace: str | None = None
    memory_search: MemorySearch | None = None
    compaction: Compaction | None = None


@dataclass(frozen=True, slots=True)
class Agents(_Open):
    defaults: AgentDefaults = field(default_factory=AgentDefaults)
    list: tuple[AgentEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Mcporter(_Strict):
    enabled: bool = False
    server_name: str = "qmd"
    start_daemon: bool = True


@dataclass(frozen=True, slots=True)
class QmdSessions(_Strict):
    enabled: bool = False
    export_dir: str | None = None
    retention_days: Positive | None = None


@dataclass(frozen=True, slots=True)
class QmdUpdate(_Strict):
    interval: str | int = "5m"
    debounce_ms: Count = 15_000
    on_boot: bool = True
    wait_for_boot_sync: bool = False
    embed_interval: str | int = "60m"
    command_timeout_ms: Positive = 30_000
    update_timeout_ms: Positive = 120_000
    embed_timeout_ms: Positive = 120_000
    startup: Literal["off", "idle", "immediate"] | None = None
    startup_delay_ms: Count = 120_000


@dataclass(frozen=True, slots=True)
class QmdLimits(_Strict):
    max_results: Positive = 6
    max_snippet_chars: Positive = 700
    max_injected_chars: Positive = 4000
    timeout_ms: Positive = 4000


@dataclass(frozen=True, slots=True)
class ScopeMatch(_Strict):
    channel: str | None = None
    chat_type: str | None = None
    key_prefix: str | None = None
    raw_key_prefix: str | None = None


@dataclass(frozen=True, slots=True)
class ScopeRule(_Strict):
    action: Literal["allow", "deny"]
    match: ScopeMatch = field(default_factory=ScopeMatch)


@dataclass(frozen=True, slots=True)
class Scope(_Strict):
    default: Literal["allow", "deny"] = "allow"
    rules: tuple[ScopeRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Qmd(_Strict):
    command: str | tuple[str, ...] = "qmd"
    daemon: bool = False
    mcporter: Mcporter = field(default_factory=Mcporter)
    search_mode: Literal["search", "vsearch", "query"] = "search"
    search_tool: str | None = None
    rerank: bool | None = None
    include_default_memory: bool = True
    paths: tuple[Collection, ...] = ()
    sessions: QmdSessions = field(default_factory=QmdSessions)
    update: QmdUpdate = field(default_factory=QmdUpdate)
    limits: QmdLimits = field(default_factory=QmdLimits)
    scope: Scope | None = None  # unset: direct chats in memory-qmd, every chat elsewhere


@dataclass(frozen=True, slots=True)
class Memory(_Strict):
    backend: Literal["builtin", "qmd"] = "builtin"
    citations: Literal["auto", "on", "off"] = "auto"
    qmd: Qmd = field(default_factory=Qmd)


@dataclass(frozen=True, slots=True)
class Slots(_Strict):
    memory: str = "memory-core"
    context_engine: str = "legacy"


@dataclass(frozen=True, slots=True)
class PluginLoad(_Strict):
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginEntry(_Open):
    enabled: bool | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plugins(_Strict):
    enabled: bool = True
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    load: PluginLoad = field(default_factory=PluginLoad)
    entries: Mapping[str, PluginEntry] = field(default_factory=dict)
    installs: Mapping[str, Any] = field(default_factory=dict)  # OpenClaw's own records; not read
    slots: Slots = field(default_factory=Slots)
    extensions: tuple[str, ...] = ()  # OURS: wrappers around the factories, outermost first
    strict: bool = False  # OURS: a broken stage raises instead of being skipped


@dataclass(frozen=True, slots=True)
class ModelProvider(_Open):
    base_url: str | None = None
    api_key: Any = field(default=None, repr=False)
    headers: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Models(_Open):
    providers: Mapping[str, ModelProvider] = field(default_factory=dict)
