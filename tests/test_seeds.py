"""The source documents as notes: one question in each of their languages, by word and by meaning.

They are read from the folder beside the checkout, through extraPaths; where that is absent the tests say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import SHARED
from looseleaf import Notebook, load_settings, open_notebook
from looseleaf._run import run

SEEDS = SHARED / "seeds"
pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason=f"the source documents are not at {SEEDS}")
GERMAN, CHINESE, DUTCH, HINDI = "000_", "002_", "003_", "004_"


@pytest.fixture(scope="module")
def opened_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Notebook]]:
    root = tmp_path_factory.mktemp("seeds")
    (root / "workspace").mkdir()
    notebooks: dict[str, Notebook] = {}

    def make(provider: str) -> Notebook:
        if provider not in notebooks:
            environ = {
                "LOOSELEAF_STATE_DIR": str(root / provider),
                "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": provider,
                "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__EXTRAPATHS": f'[{{"path": "{SEEDS}", "pattern": "*.txt"}}]',
            }
            settings = load_settings(environ=environ, home=root).for_agent(workspace=root / "workspace")
            notebooks[provider] = open_notebook(settings)
            run(notebooks[provider].sync(), inline=True)
        return notebooks[provider]

    yield make
    for notebook in notebooks.values():
        run(notebook.aclose(), inline=True)


def check(notebook: Notebook, question: str, page: str, section: str) -> None:
    """Assert that the first hit is on `page`, and that its lines hold or follow the heading `section`."""
    hit = run(notebook.search(question), inline=True).hits[0]
    assert Path(hit.hit.path).name.startswith(page), hit.citation
    lines = next(SEEDS.glob(f"{page}*")).read_text("utf-8").split("\n")
    assert (
        "\n".join(lines[hit.start - 1 : hit.end]).startswith(hit.snippet.split("\n")[0])
        or hit.snippet.split("\n")[0] in lines[hit.start - 1]
    )
    headings = [number for number, line in enumerate(lines, 1) if section in line]
    assert any(hit.start - 60 <= number <= hit.end for number in headings), (hit.citation, headings)


@pytest.mark.parametrize(
    ("question", "page", "section"),
    [
        ("Halbwertszeit", GERMAN, "Decay"),
        ("半衰期", CHINESE, "時間衰退"),
        ("geheugenflush", DUTCH, "Automatische geheugenflush"),
        ("वॉचर", HINDI, "How the memory tools work"),
        ("Gedächtnis", GERMAN, "Memory"),
        ("Praeferenzen", GERMAN, "Wann Memory schreiben"),
    ],
)
@pytest.mark.parametrize("provider", ["none", "auto"])
def test_by_a_word_in_its_own_script(opened_with, provider: str, question: str, page: str, section: str) -> None:
    """An exact word finds the right page and the right section, with vectors and without."""
    check(opened_with(provider), question, page, section)


@pytest.mark.parametrize(
    ("question", "page", "section"),
    [
        ("Alte Aufzeichnungen sollen weniger zählen als neue", GERMAN, "Temporal"),
        ("圖片和聲音檔案也能被搜尋嗎", CHINESE, "Multimodal memory files"),
        ("Hoe bewaar ik iets blijvends dat iemand mij vertelt?", DUTCH, "Wanneer geheugen schrijven"),
    ],
)
def test_by_meaning_in_other_words(opened_with, question: str, page: str, section: str) -> None:
    """A question in other words than the page's finds the right section with the bundled embedder."""
    check(opened_with("auto"), question, page, section)


def test_by_meaning_in_hindi(tmp_path: Path) -> None:
    """The better bundled model answers in Hindi; the page is cut short, for it takes half a second a chunk."""
    (tmp_path / "w").mkdir()
    text = next(SEEDS.glob(f"{HINDI}*")).read_text("utf-8").split("\n")
    (tmp_path / "w" / "MEMORY.md").write_text("\n".join(text[:66]), "utf-8")
    environ = {"LOOSELEAF_STATE_DIR": str(tmp_path / "state"), "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": "bundled-e5"}
    notebook = open_notebook(load_settings(environ=environ, home=tmp_path).for_agent(workspace=tmp_path / "w"))
    run(notebook.sync(), inline=True)
    hit = run(notebook.search("जब कोई कहे कि यह मत भूलना तो क्या करना चाहिए?"), inline=True).hits[0]
    assert "याद रखो" in hit.hit.text
    run(notebook.aclose(), inline=True)
