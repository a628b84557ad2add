"""A query is words and quoted phrases; FTS5's syntax never reaches the user."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from looseleaf_memory_core.store.keyword import Keywords
from looseleaf_memory_core.store.query import match, parse_query
from looseleaf_memory_core.text import segment


def ask(query: str, *texts: str, limit: int = 10) -> list[int]:
    """Return the numbers of the texts that `query` finds, best first."""
    db = apsw.Connection(":memory:")
    Keywords.create(db, "words")
    db.executemany(
        "INSERT INTO words(rowid, body, heading) VALUES(?, ?, '')", ((place, segment(text)) for place, text in enumerate(texts, 1))
    )
    keywords = Keywords(db, "words")
    keywords.refresh(len(texts))
    return [hit.chunk for hit in keywords.plan(parse_query(query)).search(limit)]


@given(st.text(max_size=120))
@example('"')
@example('AND OR NOT NEAR(a, b) * ^ : { } -x col:"y"')
@example("a\x00b")
@example("\ud83d")
def test_any_string_is_a_query(query: str) -> None:
    """FQ-04 to FQ-12: a result for any Unicode string, never an exception or an FTS error."""
    assert isinstance(ask(query, "some text", "方案 a b c", query), list)


@given(st.text(max_size=60))
def test_a_text_is_found_by_itself(text: str) -> None:
    """Whatever a note says, its own words find it."""
    if parse_query(text).terms:
        assert ask(text, "unrelated filler", text)[0] == 2


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("DEC-0054", "Ticket DEC-0054 closed"),
        ('"DEC-0054"', "Ticket DEC-0054 closed"),
        ("current.md", "see current.md"),
        ("ubuntu 20.04", "ubuntu 20.04 lts"),
        ("38.101", "spec 38.101"),
        ("192.168.10.2", "dns 192.168.10.2"),
        ("status: done", "status: done"),
        ('timeout "error', "timeout error"),
        ("retry OR", "retry it"),
        ('"--error-on-warnings"', "run with --error-on-warnings"),
        ("tier1-test AND unicode", "tier1-test with unicode"),
        ("sp_new", "table sp_new"),
        ("chat-send", "the chat-send call"),
        ('"exact phrase"', "an exact phrase"),
        ("impo\u0302t", "impôt"),
        ("impôt", "impo\u0302t"),
        ("成语接龙", "今天玩成语接龙游戏"),
        ("しりとり", "今日は成語しりとりをした"),
        ("끝말잇기", "오늘 끝말잇기 게임을 했다"),
        ("飞书插件配置", "飞书配置 与 插件"),
        ("itgc", "重跑gen-itgc后50条"),
        ("gen", "重跑gen-itgc后50条"),
        ("评审会议", "明天下午三点开项目评审会议"),
        ("蛇", "我怕蛇"),
        ("ไทย", "ภาษาไทยง่าย"),
        ("हिन्दी", "यह हिन्दी है"),
        ("Grosse", "die Größe Große"),
        ("GRÖẞE", "größe"),
        ("istanbul", "İSTANBUL"),
        ("كتاب", "قرأت الكتاب"),
        ("search", "memorySearch"),
        ("memory_search", "call memory_search now"),
        ("10.27.34.240:19721", "host 10.27.34.240:19721 up"),
        ("ERR_X: a-b unavailable (code=853)", "ERR_X: a-b unavailable (code=853)"),
        ("@remote/pkg-name@5.7.81", "uses @remote/pkg-name@5.7.81"),
        ("Versicherung", "der Versicherungsvertrag"),
        ("allergy", "allergic to walnuts"),
        ("Gedächtnis", "das Gedaechtnis der Agenten"),
        ("Gedaechtnis", "das Gedächtnis der Agenten"),
        ("für Präferenzen", "Praeferenzen fuer alle"),
        ("-nginx", "restart nginx"),
        ("🐘", "an 🐘 here"),
    ],
)
def test_what_is_there_is_found(query: str, text: str) -> None:
    """FQ-04, FQ-05, FQ-06, FQ-08, FQ-09, FQ-10, FQ-13, CJ-01, CJ-02, CJ-05, CJ-09: first, among fillers."""
    fillers = ["some other note", "另外的笔记", "ein anderer Zettel", "one more", "nothing here"]
    assert ask(query, *fillers, text)[0] == 6


def test_the_real_note_beats_one_that_quotes_a_part() -> None:
    """CJ-04: a note with all the words ranks above one with few of them."""
    assert ask("飞书插件配置", "飞书 的 插件 在 配置 页面", "配置 很 多", "飞书 通知")[0] == 1


def test_questions_are_not_an_and_of_all_words() -> None:
    """A natural question finds the note that holds its content words."""
    assert ask("what did we decide about the gateway", "decided: the gateway moves", "unrelated")[0] == 1


def test_stop_words_are_those_of_the_query_s_language() -> None:
    """Spanish `son` is a word in an English query; a query of nothing but stop words keeps them."""
    assert [term for (term,) in parse_query("where is my son").terms] == ["son"]
    assert [term for (term,) in parse_query("wo ist der Schlüssel").terms] == ["schlussel"]
    assert [term for (term,) in parse_query("to be or not to be").terms] == ["to", "be", "or", "not"]
    assert [term for (term,) in parse_query("गेटवे किस मशीन पर है").terms] == ["गेटवे", "मशीन"]


def test_phrases_and_identifiers_are_exact() -> None:
    """Quoted phrases, else identifiers and the whole query, are what outranks similarity."""
    assert parse_query('the "night vault" x_y').exact == (("night", "vault"),)
    assert parse_query("find a828e60").exact == (("a828e60",), ("find", "a828e60"))
    assert parse_query("gateway").exact == ()
    assert parse_query("well known fact").exact == (("well", "known", "fact"),)


def test_a_pasted_page_is_a_query() -> None:
    """Thousands of words are cut, not refused."""
    assert ask(" ".join(f"word{number}" for number in range(5000)), "word3 word7", "nothing") == [1]


def test_an_expression_holds_only_quoted_tokens() -> None:
    """No quote or operator can be smuggled into FTS5."""
    assert match(("a", "b"), ("c",)) == '"a b" OR "c"'
