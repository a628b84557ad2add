"""A fake provider of batch jobs on loopback, true on the wire: files, jobs with states, results, and embeddings beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from .servers import WIRES

if TYPE_CHECKING:
    from typing import Self

#: What may become of a text in a job.
LINES: Mapping[str, str] = {
    "right": "its vector",
    "error": "an error in its line",
    "status": "a line with the status 400",
    "empty": "a vector without numbers",
    "nan": "a vector with NaN",
    "missing": "no line at all",
    "garbage": "a line that is no JSON",
}


class Job(NamedTuple):
    """One job that was made: its name, its texts by their identities, and the body that made it."""

    name: str
    texts: dict[str, str]
    made_with: Any


class BatchServer:
    """Takes jobs as OpenAI, Voyage or Gemini do.

    Args:
        wire: `openai`, `voyage` or `gemini`.
        states: What a job says when it is asked after, in turn; the last for ever. None is one that runs once and then succeeds.
        plan: What becomes of a text, one of `LINES`.
        refuse: The status with which the making of a job is refused; 0 is not at all.
        hang: Whether it never answers how far a job is.
        cut: How many of the next downloads end in the middle.
        dimensions: Of the vectors.

    Attributes:
        url: The base URL, as it stands in config.
        jobs: Those that were made.
        direct: The texts that were embedded without a job.
        asked: Method and path of each request.
        cancelled: The names of jobs that were cancelled.
        hang_at: A path that is not answered, as long as it stands there.
    """

    def __init__(
        self,
        wire: str = "openai",
        *,
        states: Sequence[str] | None = None,
        plan: Callable[[str], str] = lambda text: "right",
        refuse: int = 0,
        hang: bool = False,
        cut: int = 0,
        dimensions: int = 8,
    ) -> None:
        google = wire == "gemini"
        self.wire = wire
        self.states = list(states or (("BATCH_STATE_RUNNING", "BATCH_STATE_SUCCEEDED") if google else ("in_progress", "completed")))
        self.plan, self.refuse, self.hang, self.cut = plan, refuse, hang, cut
        self.dimensions = dimensions
        self.jobs: list[Job] = []
        self.direct: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.cancelled: list[str] = []
        self.hang_at = ""
        self._came = Condition()
        self._paths: set[str] = set()
        self._files: dict[str, list[Any]] = {}
        self._times_asked: dict[str, int] = {}
        self._lock = Lock()
        self._stopped = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/{'v1beta' if google else 'v1'}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def texts(self) -> list[str]:
        """The texts of all jobs, in the order in which they came."""
        return [text for job in self.jobs for text in job.texts.values()]

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of `texts`, those of `HashEmbedder`."""
        from .._run import run
        from .fakes import HashEmbedder

        rows: list[list[float]] = run(HashEmbedder(self.dimensions).embed(texts, "document"), inline=True).tolist()
        return rows

    def answer(self, method: str, path: str, body: bytes, content_type: str) -> tuple[int, str]:
        """Return status and body of the answer to one request."""
        with self._lock:
            self.asked.append((method, path))
            if "files" in path and method == "POST":
                return 200, json.dumps(self._upload(body, content_type))
            if re.search(r"/batches$|:asyncBatchEmbedContent$", path):
                return self._make(json.loads(body))
            if match := re.search(r"/(batches/[^/:]+|batches/batch_\d+)[/:]cancel$", path):
                self.cancelled.append(self._name(match[1]))
                return 200, "{}"
            if match := re.search(r"/(batches/[^/:]+)$", path):
                return self._tell(self._name(match[1]))
            if match := re.search(r"/files/([^/:]+)(?:/content|:download)$", path):
                return self._results(match[1])
            return self._embed(json.loads(body))

    def wait_for(self, path: str, timeout_s: float) -> bool:
        """Block until `path` is asked for; false if it is not within `timeout_s`."""
        with self._came:
            return self._came.wait_for(lambda: path in self._paths, timeout_s)

    def wait_if_hanging(self, method: str, path: str) -> None:
        """Block until the server stops, where it does not answer."""
        with self._came:
            self._paths.add(path)
            self._came.notify_all()
        if path == self.hang_at or (self.hang and method == "GET" and "/batches/" in path):
            self._stopped.wait()

    def _name(self, path: str) -> str:
        return path if self.wire == "gemini" else path.removeprefix("batches/")

    def _upload(self, body: bytes, content_type: str) -> Any:
        boundary = content_type.partition("boundary=")[2].strip('"').encode()
        parts = [part.partition(b"\r\n\r\n") for part in body.split(b"--" + boundary)[1:-1]]
        assert content_type.startswith("multipart/related" if self.wire == "gemini" else "multipart/form-data"), content_type
        lines = [json.loads(line) for line in parts[-1][2].decode().splitlines() if line]
        identity = f"file{len(self._files)}"
        if self.wire == "gemini":
            assert json.loads(parts[0][2])["file"]["mimeType"] == "application/jsonl"
            self._files[f"files/{identity}"] = lines
            return {"file": {"name": f"files/{identity}", "state": "ACTIVE"}}
        assert b'name="purpose"' in parts[0][0]
        assert parts[0][2].strip() == b"batch"
        self._files[identity] = lines
        return {"id": identity, "object": "file", "purpose": "batch"}

    def _make(self, body: Any) -> tuple[int, str]:
        if self.refuse:
            return self.refuse, json.dumps({"error": {"message": f"{self.refuse}: no jobs here"}})
        google = self.wire == "gemini"
        lines = self._files[body["batch"]["inputConfig"]["file_name"] if google else body["input_file_id"]]
        name = f"{'batches/' if google else ''}batch_{len(self.jobs)}"
        if google:
            texts = {line["key"]: line["request"]["content"]["parts"][0]["text"] for line in lines}
        else:
            texts = {line["custom_id"]: line["body"]["input"] for line in lines}
        self.jobs.append(Job(name, texts, {"job": body, "line": lines[0]}))
        return 200, json.dumps(
            {"name": name, "metadata": {"state": self.states[0]}} if google else {"id": name, "status": self.states[0]}
        )

    def _tell(self, name: str) -> tuple[int, str]:
        if name not in [job.name for job in self.jobs]:
            return 404, json.dumps({"error": {"message": f"no such job: {name}"}})
        times = self._times_asked.get(name, 0)
        self._times_asked[name] = times + 1
        state = self.states[min(times, len(self.states) - 1)]
        number = name.rpartition("_")[2]
        ended = state.lower() in ("completed", "expired", "batch_state_succeeded", "batch_state_expired")
        if self.wire == "gemini":
            output = {"output": {"responsesFile": f"files/result{number}"}} if ended else {}
            return 200, json.dumps({"name": name, "metadata": {"state": state, **output}, "done": ended})
        answer: dict[str, Any] = {"id": name, "status": state}
        if ended:
            answer |= {"output_file_id": f"result{number}", "error_file_id": f"fault{number}"}
        if state == "failed":
            answer["errors"] = {"data": [{"message": "the file is not what it should be"}]}
        return 200, json.dumps(answer)

    def _results(self, file: str) -> tuple[int, str]:
        match = re.fullmatch(r"(result|fault)(\d+)", file)
        if not match:
            return 404, json.dumps({"error": {"message": "no such file"}})
        job = self.jobs[int(match[2])]
        vectors = self.vectors(list(job.texts.values()))
        lines = []
        for (identity, text), vector in reversed(list(zip(job.texts.items(), vectors, strict=True))):  # in no order
            turn = self.plan(text)
            if turn == "missing" or (self.wire != "gemini" and (turn in ("error", "status")) != (match[1] == "fault")):
                continue
            lines.append("no JSON" if turn == "garbage" else json.dumps(self._line(identity, turn, vector)))
        return 200, "\n".join(lines) + "\n"

    def _line(self, identity: str, turn: str, vector: list[float]) -> Any:
        row = {"empty": [], "nan": [float("nan"), *vector[1:]]}.get(turn, vector)
        fault = {"message": f"{turn} from a fake"}
        if self.wire == "gemini":
            return {
                "key": identity,
                **({"error": fault} if turn in ("error", "status") else {"response": {"embedding": {"values": row}}}),
            }
        if turn == "error":
            return {"custom_id": identity, "response": None, "error": fault}
        if turn == "status":
            return {"custom_id": identity, "response": {"status_code": 400, "body": {"error": fault}}, "error": None}
        return {"custom_id": identity, "response": {"status_code": 200, "body": {"data": [{"embedding": row}]}}, "error": None}

    def _embed(self, body: Any) -> tuple[int, str]:
        wire = WIRES["gemini" if self.wire == "gemini" else "openai"]
        texts = wire.texts(body)
        self.direct += texts
        return 200, json.dumps(wire.answer(list(enumerate(self.vectors(texts)))))


def _handler(server: BatchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            server.wait_if_hanging(self.command, path)
            status, text = server.answer(self.command, path, body, self.headers.get("Content-Type") or "")
            cut = server.cut > 0 and self.command == "GET" and "/files/" in path
            server.cut -= cut
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)
            self.close_connection = cut

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
            """Say nothing: what came is in `asked`."""

    return Handler
