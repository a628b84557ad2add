"""Where a provider's keys come from: config, an existing OpenClaw state directory, the environment, the models' section."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from looseleaf import AgentSettings, NotConfigured
from looseleaf.settings import openclaw_folder, resolve_secret
from looseleaf.settings.surface import ModelProvider

#: By provider, in order of preference.
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "voyage": ("VOYAGE_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
}
_SECTION = {"gemini": "google"}
_SEPARATORS = re.compile(r"[\s,;]+")


def find_keys(provider: str, settings: AgentSettings, environ: Mapping[str, str], *, requested: bool) -> tuple[str, ...]:
    """Return the keys of `provider`, several if they are written with commas between them; none if there is none.

    Args:
        provider: Its name.
        settings: Of the agent.
        environ: The environment.
        requested: Whether `remote.*` is meant for this provider: not for a fallback, and not for one that `auto` tries.

    Raises:
        NotConfigured: a key refers to a variable that is not set.
    """
    remote = settings.search.remote.api_key
    if requested and remote:
        return _split(resolve_secret(remote, environ, key="agents.defaults.memorySearch.remote.apiKey"))
    if found := _from_profiles(provider, settings, environ):
        return found
    for name in VARIABLES.get(provider, ()):
        if value := environ.get(name, "").strip():
            return _split(value)
    configured = models_section(provider, settings)
    given = configured.api_key if configured else None
    if isinstance(given, str) and given.strip():
        where = f"models.providers.{_SECTION.get(provider, provider)}.apiKey"
        return _split(environ.get(given) or resolve_secret(given, environ, key=where))  # it may name a variable, as in OpenClaw
    return ()


def models_section(provider: str, settings: AgentSettings) -> ModelProvider | None:
    """Return `models.providers.<id>` of a provider; Gemini's is called `google`, and `gemini` is understood."""
    sections = settings.models.providers
    return sections.get(_SECTION.get(provider, provider)) or sections.get(provider)


def require_keys(provider: str, settings: AgentSettings, environ: Mapping[str, str], *, requested: bool) -> tuple[str, ...]:
    """Return the keys of `provider`.

    Raises:
        NotConfigured: there is none; says where one could be put.
    """
    keys = find_keys(provider, settings, environ, requested=requested)
    if not keys:
        variables = " or ".join(VARIABLES[provider])
        raise NotConfigured(
            f"No API key found for provider {provider}: set {variables}, or agents.defaults.memorySearch.remote.apiKey."
        )
    return keys


def _from_profiles(provider: str, settings: AgentSettings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the API keys that OpenClaw keeps for the agent; sign-ins of other kinds are none."""
    file = openclaw_folder(environ) / "agents" / settings.agent / "agent" / "auth-profiles.json"
    try:
        profiles: Any = json.loads(file.read_text("utf-8"))["profiles"]
        found = [
            str(profile["key"])
            for profile in profiles.values()
            if profile.get("type") == "api_key"
            and profile.get("provider") in (provider, _SECTION.get(provider))
            and profile.get("key")
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ()
    return tuple(dict.fromkeys(found))


def _split(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, _SEPARATORS.split(value))))
