"""Chunks: exact substrings, within the budget, at the places a reader would cut."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from looseleaf_memory_core.chunk import chunk, estimate_cost

PIECES = st.sampled_from(
    [
        "word ",
        "方案",
        "हिन्दी ",
        "# Heading\n",
        "## Sub\n",
        "\n",
        "\n\n",
        "\r\n",
        "```\n",
        "- item\n",
        "👩‍💻",
        "🇩🇪🇫🇷",
        "e\u0301",
        "x" * 50,
        ". ",
        "\x0b",
        "\u2028",
        "\ud83d",
    ]
)
TEXTS = st.lists(PIECES, max_size=120).map("".join)
SIZES = st.tuples(st.integers(8, 60), st.integers(0, 7))


@given(TEXTS, SIZES)
@example("a" * 3000, (400, 80))
@example("\n" * 50, (8, 4))
@example("\r\n", (8, 0))
def test_chunks_keep_every_promise(text: str, sizes: tuple[int, int]) -> None:
    """CH-01, CH-02, CH-09: substrings within the budget, overlap counted in; every character; right lines; always forward."""
    limit, overlap = sizes
    chunks = chunk(text, tokens=limit, overlap=overlap)
    covered = 0
    for number, piece in enumerate(chunks):
        end = piece.begin + len(piece.text)
        assert text[piece.begin : end] == piece.text
        assert piece.text
        assert estimate_cost(piece.text) <= 4 * limit
        assert piece.begin <= covered < end
        if number:
            assert piece.begin > chunks[number - 1].begin
            assert estimate_cost(text[piece.begin : covered]) <= 4 * overlap
        assert piece.start == text.count("\n", 0, piece.begin) + 1
        assert piece.end == text.count("\n", 0, end - 1) + 1
        covered = end
    assert covered == len(text)


@given(
    st.lists(st.sampled_from(["👩‍💻", "🇩🇪", "e\u0301", "각", "क्षि", "👍🏽", "\r\n", "a"]), min_size=1, max_size=80),
    st.integers(20, 40),
)
def test_a_cut_never_falls_inside_a_grapheme(clusters: list[str], limit: int) -> None:
    """Flags, skin tones, joined emoji, marks and CRLF stay whole."""
    text = "".join(clusters)
    edges, place = {0}, 0
    for cluster in clusters:
        place += len(cluster)
        edges.add(place)
    for piece in chunk(text, tokens=limit, overlap=5):
        assert piece.begin in edges
        assert piece.begin + len(piece.text) in edges


def test_a_long_line_is_repeated_only_in_part() -> None:
    """CH-01: 3,000 letters on one line give chunks within 1,600 characters."""
    chunks = chunk("a" * 3000)
    assert max(len(piece.text) for piece in chunks) <= 1600
    assert {(piece.start, piece.end) for piece in chunks} == {(1, 1)}


def test_the_end_of_a_text_after_a_long_line_is_kept() -> None:
    """A 1,600-character paragraph followed by `end` loses nothing (behaviour.md §14)."""
    assert chunk("a" * 1600 + "\nend")[-1].text.endswith("\nend")


def test_the_number_of_chunks_stays_near_size_by_step() -> None:
    """CH-10: 1,000 lines do not become 1,000 chunks."""
    text = "\n".join(["word " * 10] * 1000)
    assert len(text) / 1600 <= len(chunk(text)) <= 1.3 * len(text) / 1280


def test_wide_text_counts_a_token_a_character() -> None:
    """CH-03: a Chinese chunk holds about 400 characters, not 1,600."""
    assert max(len(piece.text) for piece in chunk("方案已经决定了。" * 300)) <= 400


def test_a_procedure_stays_under_its_heading() -> None:
    """CH-08: the cut falls before the heading, and each piece carries it."""
    steps = "".join(f"{number}. step of the procedure that is described at some length here\n" for number in range(1, 13))
    text = "# Ops\n\n" + "filler line of text\n" * 60 + "\n## Deploy\n\n" + steps
    chunks = chunk(text)
    assert [piece.heading for piece in chunks] == ["Ops", "Ops > Deploy"]
    assert chunks[1].text.startswith("## Deploy")
    assert chunks[1].start == text[: text.index("## Deploy")].count("\n") + 1


def test_a_comment_in_a_fence_is_no_heading() -> None:
    """`# comment` inside a code fence neither cuts nor names."""
    text = "# Real\n\n```sh\n# comment\nls\n```\n\ntext\n"
    assert [piece.heading for piece in chunk(text)] == ["Real"]
    assert [piece.heading for piece in chunk("```\n# a\n```\n# B\n" + "x\n" * 3, tokens=4, overlap=0)][-1] == "B"


def test_headings_nest() -> None:
    """The path of headings follows their levels."""
    text = "# A\n" + "x " * 30 + "\n## B\n" + "x " * 30 + "\n### C\n" + "x " * 30 + "\n## D\n" + "x " * 30
    assert [piece.heading for piece in chunk(text, tokens=20, overlap=0)][-1] == "A > D"


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "\r\n"])
def test_nothing_is_no_error(text: str) -> None:
    """Blank text gives blank chunks or none."""
    assert "".join(piece.text for piece in chunk(text)) == text


def test_only_lf_ends_a_line() -> None:
    """CH-11: form feeds, NEL and U+2028 stay inside their line."""
    (piece,) = chunk("a\x0bb\x0cc\x85d\u2028e\nf")
    assert (piece.start, piece.end) == (1, 2)
