"""Batch jobs of OpenAI, and of Voyage, which nearly speaks as it does."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from .batch import Result, State
from .call import Call

_RUNNING = frozenset({"validating", "in_progress", "finalizing", "cancelling", "queued", "pending", "running"})
_FAILED = frozenset({"failed", "expired", "cancelled", "canceled"})
_BOUNDARY = "looseleaf-batch-lines"
_METADATA = {"source": "looseleaf"}


class OpenAIBatch:
    """`POST /files`, `POST /batches`, `GET /batches/{id}`, `GET /files/{id}/content`."""

    most_lines = 50_000
    most_bytes = 100_000_000

    def __init__(self, model: str, dimensions: int | None, prefix: str, input_type: str = "") -> None:
        self._body = {
            "model": model,
            **({"dimensions": dimensions} if dimensions else {}),
            **({"input_type": input_type} if input_type else {}),
        }
        self._prefix = prefix

    def line(self, identity: str, text: str) -> Any:
        """Return the line of one text."""
        return {
            "custom_id": identity,
            "method": "POST",
            "url": "/v1/embeddings",
            "body": {**self._body, "input": self._prefix + text},
        }

    def upload(self, base_url: str, content: bytes) -> Call:
        """Return the request that hands in the lines, as a form with a file."""
        name = f"memory-embeddings.{blake2b(content, digest_size=8).hexdigest()}.jsonl"
        head = (
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        body = head.encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode()
        return Call("POST", "/files", content=body, content_type=f"multipart/form-data; boundary={_BOUNDARY}")

    def create(self, uploaded: Any) -> Call:
        """Return the request that makes the job."""
        return Call("POST", "/batches", {"input_file_id": uploaded["id"], **self._job()}, once=True)

    def name(self, created: Any) -> str:
        """Return the job's name."""
        return str(created["id"])

    def ask(self, job: str) -> Call:
        """Return the request for a job's state."""
        return Call("GET", f"/batches/{job}")

    def state(self, answer: Any) -> State:
        """Return the state; a job that expired may have results all the same."""
        said = str(answer["status"]).lower()
        files = tuple(f"/files/{answer[key]}/content" for key in ("output_file_id", "error_file_id") if answer.get(key))
        if said in _RUNNING:
            return State("running", said)
        if said == "completed":
            return State("done", said, files) if files else State("failed", said, (), "it is completed and gave no file")
        if said in _FAILED:
            faults = (answer.get("errors") or {}).get("data") or []
            return State("failed", said, files, str(faults[0].get("message", "")) if faults else "")
        return State("unknown", said)

    def result(self, line: Any) -> Result:
        """Return what a line says; a status that is not there counts as good."""
        identity, response = line["custom_id"], line.get("response") or {}
        body = response.get("body") or {}
        fault = line.get("error") or body.get("error")
        status = response.get("status_code") or 200
        if fault or status >= 400:
            return Result(
                identity, None, str(fault.get("message", fault) if isinstance(fault, Mapping) else fault or f"status {status}")
            )
        data = body.get("data") or [{}]
        return Result(identity, data[0].get("embedding") or None, "an empty vector")

    def cancel(self, job: str) -> Call:
        """Return the request that ends a job."""
        return Call("POST", f"/batches/{job}/cancel", {})

    def _job(self) -> dict[str, Any]:
        return {"endpoint": "/v1/embeddings", "completion_window": "24h", "metadata": _METADATA}


class VoyageBatch(OpenAIBatch):
    """The model stands in the job, not in each line."""

    def __init__(self, model: str, dimensions: int | None, prefix: str, input_type: str = "") -> None:
        super().__init__(model, None, prefix)
        self._parameters = {
            "model": model, "input_type": input_type or "document", **({"output_dimension": dimensions} if dimensions else {}),
        }  # fmt: skip

    def line(self, identity: str, text: str) -> Any:
        """Return the line of one text."""
        return {"custom_id": identity, "body": {"input": self._prefix + text}}

    def _job(self) -> dict[str, Any]:
        return {**super()._job(), "completion_window": "12h", "request_params": self._parameters}
