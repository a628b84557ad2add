"""An OpenClaw home of real size: its config, in JSON5 with everything that other parts of it keep there, a workspace and transcripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_HEAD = """// OpenClaw writes plain JSON; people add comments, single quotes and trailing commas.
{
  meta: { lastTouchedVersion: '2026.2.9', lastTouchedAt: "2026-02-10T09:12:44.120Z", },
  wizard: { lastRunAt: "2026-01-03T18:00:00.000Z", lastRunCommand: 'onboard', lastRunMode: 'local', },
  /* what is secret stays in the environment */
  gateway: { port: 18789, mode: 'local', bind: 'loopback', auth: { mode: 'token', token: '${OPENCLAW_GATEWAY_TOKEN}', }, tailscale: { mode: 'off', }, },
"""


def openclaw_home(home: Path) -> Path:
    """Make `home/.openclaw`, and return the config's path."""
    root = home / ".openclaw"
    workspace, sessions = root / "workspace", root / "agents" / "main" / "sessions"
    (workspace / "memory").mkdir(parents=True)
    sessions.mkdir(parents=True)
    for name in ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md"):
        (workspace / name).write_text(f"# {name}\n\nThe gateway in {name} is no memory.\n")
    (workspace / "MEMORY.md").write_text("# Long-term\n\n- The gateway runs on the Mac Studio in the study.\n")
    for day in range(1, 11):
        (workspace / "memory" / f"2026-02-{day:02}.md").write_text(f"# Day {day}\n\nWatered the walnut tree, visit number {day}.\n")
    for number in range(3):
        turns = [("user", f"What did the dentist say, part {number}?"), ("assistant", "Come back in the spring.")]
        lines: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": f"s{number}", "cwd": str(workspace)}]
        lines += [
            {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}} for role, text in turns
        ]
        (sessions / f"s{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (sessions / "sessions.json").write_text(json.dumps({"agent:main:main": {"sessionId": "s2", "updatedAt": 1770714764120}}))
    config = root / "openclaw.json"
    config.write_text(_HEAD + json.dumps(_rest(), indent=2)[1:].rstrip()[:-1].rstrip() + ",\n}\n", "utf-8")
    return config


def _rest() -> dict[str, Any]:
    """Return the parts of the config below its head: what looseleaf reads, amid what it does not."""
    model = {"name": "A model", "reasoning": True, "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 8192}
    models = [{"id": f"model-{number}", **model, "cost": {"input": 0, "output": 0, "cacheRead": 0}} for number in range(120)]
    groups = {
        f"-100{number}": {"requireMention": True, "allowFrom": ["*"], "systemPrompt": "Be short. " * 8} for number in range(120)
    }
    search = {
        "enabled": True,
        "provider": "none",
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": True},
        "query": {"maxResults": 8, "hybrid": {"enabled": True, "vectorWeight": 0.7, "textWeight": 0.3, "candidateMultiplier": 4}},
        "cache": {"enabled": True, "maxEntries": 50000},
        "sync": {"onSessionStart": True, "onSearch": True, "watch": True, "watchDebounceMs": 1500},
    }
    return {
        "env": {"shellEnv": {"enabled": True, "timeoutMs": 15000}, "vars": {"EDITOR": "vi"}},
        "auth": {
            "profiles": {"anthropic:default": {"provider": "anthropic", "mode": "oauth"}},
            "order": {"anthropic": ["anthropic:default"]},
        },
        "models": {
            "mode": "merge",
            "providers": {
                "router": {
                    "baseUrl": "https://router.example/v1",
                    "apiKey": "${ROUTER_KEY}",
                    "api": "openai-completions",
                    "models": models,
                }
            },
        },
        "agents": {
            "defaults": {
                "model": {"primary": "anthropic/a", "fallbacks": ["router/model-1"]},
                "models": {
                    f"router/model-{number}": {"alias": f"m{number}", "params": {"temperature": 0.2}} for number in range(60)
                },
                "userTimezone": "Europe/Vienna",
                "timeFormat": "24",
                "bootstrapMaxChars": 20000,
                "contextPruning": {"mode": "cache-ttl", "ttl": "1h"},
                "compaction": {
                    "mode": "safeguard",
                    "reserveTokensFloor": 24000,
                    "memoryFlush": {"enabled": True, "softThresholdTokens": 6000},
                },
                "heartbeat": {"every": "30m", "target": "last"},
                "maxConcurrent": 4,
                "subagents": {"maxConcurrent": 8, "archiveAfterMinutes": 60},
                "sandbox": {"mode": "non-main", "scope": "agent", "docker": {"image": "sandbox", "setupCommand": "true"}},
                "memorySearch": search,
            },
            "list": [
                {
                    "id": "main",
                    "default": True,
                    "name": "Main",
                    "identity": {"name": "Claw", "theme": "lobster", "emoji": "🦞", "avatar": "avatars/claw.png"},
                    "groupChat": {"mentionPatterns": ["@claw", "克劳"]},
                    "tools": {"profile": "full", "deny": ["browser"]},
                },
                {"id": "work", "workspace": "~/.openclaw/workspace-work", "model": "router/model-2", "sandbox": {"mode": "all"}},
            ],
        },
        "bindings": [{"agentId": "work", "match": {"channel": "slack", "accountId": "*"}}],
        "session": {"dmScope": "main", "reset": {"mode": "daily", "atHour": 4}, "sendPolicy": {"default": "allow", "rules": []}},
        "channels": {
            "telegram": {"enabled": True, "botToken": "${TELEGRAM_BOT_TOKEN}", "dmPolicy": "pairing", "groups": groups},
            "discord": {"enabled": True, "token": "${DISCORD_TOKEN}", "guilds": {"1": {"channels": {"general": {"allow": True}}}}},
        },
        "memory": {"citations": "auto"},
        "hooks": {"internal": {"enabled": True, "entries": {"session-memory": {"enabled": True}}}},
        "tools": {"web": {"search": {"enabled": True}}, "exec": {"ask": "on-miss"}},
        "skills": {"load": {"extraDirs": []}, "entries": {"weather": {"enabled": True, "env": {"KEY": "${WEATHER_KEY}"}}}},
        "plugins": {
            "allow": ["memory-core", "telegram", "discord"],
            "slots": {"memory": "memory-core"},
            "entries": {"telegram": {"enabled": True, "config": {"x": 1}}, "discord": {"enabled": True}},
            "installs": {"voice": {"source": "npm", "spec": "voice@1.2.0", "installPath": "~/.openclaw/extensions/voice"}},
        },
        "cron": {"enabled": True, "maxConcurrentRuns": 2},
        "messages": {"ackReactionScope": "group-mentions", "tts": {"auto": "off"}},
        "browser": {"enabled": False},
        "logging": {"level": "info", "redactSensitive": "tools"},
        "update": {"channel": "stable"},
    }
