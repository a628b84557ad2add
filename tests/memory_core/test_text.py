"""Normalising and segmenting: the same words give the same tokens in every form and script."""

from __future__ import annotations

import re
from unicodedata import normalize

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from looseleaf_memory_core.text import clean, is_unspaced, segment, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memory_search", "memory search"),
        ("192.168.10.2", "192 168 10 2"),
        ("sqlite-vec", "sqlite vec"),
        ("don't", "don t"),
        ("a828e60", "a828e60"),
        ("memorySearch.enabled", "memory search memorysearch enabled"),
        ("iPhone", "i phone iphone"),
        ("HTTPServer", "httpserver"),
        ("Straße München", "strasse munchen"),
        ("ÉCOLE İSTANBUL ısparta", "ecole istanbul isparta"),
        ("Ærø Łódź þing", "aero lodz thing"),
        ("Ελλάδα άλφα", "ελλαδα αλφα"),
        ("ёлка йод", "елка йод"),
        ("成语接龙", "成语 语接 接龙"),
        ("蛇", "蛇"),
        ("重跑gen-itgc后50条", "重跑 gen itgc 后 50 条"),
        ("しりとり", "しり りと とり"),
        ("끝말잇기", "끝말 말잇 잇기"),
        ("हिन्दी मेमोरी", "हिन्दी मेमोरी"),
        ("क्‍ष", "क्ष"),
        ("ภาษาไทย", "ภา าษ ษา าไ ไท ทย"),
        ("الكتاب كِتَاب والمدرسة", "كتاب كتاب مدرسه"),
        ("שָׁלוֹם", "שלום"),
        ("ＡＢＣ１２ ｶﾞ", "abc12 ガ"),
        ("१० ٣", "10 3"),
        ("a\u00adb", "ab"),
        ("🐘 and 👩‍💻", "🐘 and 👩 💻"),
        ("x\x00y \ud83d z", "x y z"),
        ("ﬁle №5", "file no5"),
        ("", ""),
        ("—…!?", ""),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    """FQ-10, CJ-05, CJ-08: identifiers by part, CJK in pairs, marks inside words, accents folded."""
    assert " ".join(tokens(text)) == expected


@given(st.text(max_size=80))
@example("impôt")
@example("ガ")
@example("각")
def test_the_form_of_a_text_does_not_matter(text: str) -> None:
    """FQ-13: composed and decomposed text give the same tokens, and so does another case where case is only case."""
    assert tokens(normalize("NFC", text)) == tokens(normalize("NFD", text))


@given(st.text(max_size=200))
@example("ᎠꭰƢẞ")
def test_fts5_sees_our_tokens(text: str) -> None:
    """What `tokens` says is what FTS5's tokenizer makes of the segmented text, whatever the text."""
    db = apsw.Connection(":memory:")
    seen = db.fts5_tokenizer("ascii", [])(
        segment(text).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    assert list(seen) == tokens(text)


@given(st.text(max_size=200))
def test_segmenting_twice_changes_nothing_but_spaces(text: str) -> None:
    """Tokens hold no quote, operator or space, so they can stand in an FTS5 expression."""
    for token in tokens(text):
        assert not re.search(r"[\s\x00-\x2f\x3a-\x60\x7b-\x7f]", token)


def test_scripts_without_spaces_are_known() -> None:
    """Chinese, Japanese, Korean, Thai; not Hindi, Arabic or Latin."""
    assert all(is_unspaced(word) for word in ("方案", "しり", "끝말", "ไทย", "gen后"))
    assert not any(is_unspaced(word) for word in ("हिन्दी", "كتاب", "word", ""))


@given(st.text(max_size=60))
def test_clean_text_can_be_encoded(text: str) -> None:
    """FQ-12: no lone surrogate and no NUL reaches an embedder; everything else stays."""
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert len(cleaned) == len(text)
