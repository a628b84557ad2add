"""Batch jobs of Google's Gemini."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from .batch import Result, State
from .call import Call
from .gemini import request

_RUNNING = frozenset({"PENDING", "QUEUED", "RUNNING", "VALIDATING", "CANCELLING"})
_DONE = frozenset({"SUCCEEDED", "COMPLETED", "DONE"})
_FAILED = frozenset({"FAILED", "CANCELLED", "CANCELED", "EXPIRED"})
_BOUNDARY = "looseleaf-batch-lines"


class GeminiBatch:
    """`POST /upload/v1beta/files`, `POST models/<m>:asyncBatchEmbedContent`, `GET batches/<name>`, `GET files/<id>:download`."""

    most_lines = 50_000
    most_bytes = 100_000_000

    def __init__(self, model: str, dimensions: int | None, prefix: str, input_type: str = "") -> None:
        self._model = model
        self._kind = input_type
        self._dimensions = dimensions
        self._prefix = prefix

    def line(self, identity: str, text: str) -> Any:
        """Return the line of one text."""
        return {"key": identity, "request": request(self._model, [{"text": self._prefix + text}], self._kind, self._dimensions)}

    def upload(self, base_url: str, content: bytes) -> Call:
        """Return the request that hands in the lines, as a file with its description before it."""
        name = f"memory-embeddings.{blake2b(content, digest_size=8).hexdigest()}.jsonl"
        about = json.dumps({"file": {"displayName": name, "mimeType": "application/jsonl"}})
        body = (
            f"--{_BOUNDARY}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{about}\r\n"
            f"--{_BOUNDARY}\r\nContent-Type: application/jsonl\r\n\r\n"
        ).encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode()  # fmt: skip
        host, _, version = base_url.rpartition("/")
        path = f"{host}/upload/{version}/files?uploadType=multipart"
        return Call("POST", path, content=body, content_type=f"multipart/related; boundary={_BOUNDARY}")

    def create(self, uploaded: Any) -> Call:
        """Return the request that makes the job."""
        file = (uploaded.get("file") or uploaded)["name"]
        batch = {"displayName": f"looseleaf {file}", "inputConfig": {"file_name": file}}
        return Call("POST", f"/models/{self._model}:asyncBatchEmbedContent", {"batch": batch}, once=True)

    def name(self, created: Any) -> str:
        """Return the job's name."""
        return str(created["name"])

    def ask(self, job: str) -> Call:
        """Return the request for a job's state."""
        return Call("GET", f"/{_with('batches/', job)}")

    def state(self, answer: Any) -> State:
        """Return the state, wherever this version of the interface puts it."""
        about = answer.get("metadata") or {}
        said = str(answer.get("state") or about.get("state") or ("DONE" if answer.get("done") and not answer.get("error") else ""))
        word = said.upper().removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        fault = answer.get("error") or about.get("error") or {}
        reason = str(fault.get("message", fault)) if isinstance(fault, Mapping) else str(fault)
        if word in _RUNNING:
            return State("running", said)
        file = _file(answer) or _file(about)
        files = (f"/{_with('files/', file)}:download",) if file else ()
        if word in _DONE:
            return State("done", said, files) if files else State("failed", said, (), "it succeeded and gave no file")
        if word in _FAILED or fault:
            return State("failed", said or "error", files, reason if fault else "")
        return State("unknown", said or "nothing")

    def result(self, line: Any) -> Result:
        """Return what a line says."""
        identity = line.get("key") or line.get("custom_id") or line.get("request_id") or ""
        response = line.get("response") or {}
        fault = line.get("error") or line.get("status") or response.get("error")
        if fault:
            return Result(identity, None, str(fault.get("message", fault) if isinstance(fault, Mapping) else fault))
        embedding = line.get("embedding") or response.get("embedding") or {}
        return Result(identity, embedding.get("values") or None, "an empty vector")

    def cancel(self, job: str) -> Call:
        """Return the request that ends a job."""
        return Call("POST", f"/{_with('batches/', job)}:cancel", {})


def _file(answer: Mapping[str, Any]) -> str:
    """Return the file of the results, from the places where it has been seen."""
    for outer, keys in (
        ("outputConfig", ("file", "fileId", "fileName")),
        ("output", ("responsesFile",)),
        ("response", ("responsesFile",)),
    ):
        inner = answer.get(outer) or {}
        for key in keys:
            if inner.get(key):
                return str(inner[key])
    return ""


def _with(prefix: str, name: str) -> str:
    return name if name.startswith(prefix) else prefix + name
