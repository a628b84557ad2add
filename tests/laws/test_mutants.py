"""The laws bite: every seeded fault is found by the law that is named for it, within 200 examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, settings

from laws.mutants import Mutant, embedders, memory, plugins, postprocessors, rankers

MUTANTS = [*rankers.MUTANTS, *postprocessors.MUTANTS, *embedders.MUTANTS, *memory.MUTANTS, *plugins.MUTANTS]
SOUND = [rankers.SOUND, *postprocessors.SOUND, *embedders.SOUND, memory.SOUND, plugins.SOUND]
EXAMPLES = 200

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", autouse=True)
def _no_shrinking() -> Iterator[None]:
    """A fault is found or not: how small its example can be made is not asked here."""
    settings.register_profile("mutants", settings.get_profile("default"), phases=[Phase.generate], database=None, derandomize=True)
    settings.load_profile("mutants")
    yield
    settings.load_profile("default")


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The faulty distributions are on sys.path."""
    folder = tmp_path_factory.mktemp("site")
    plugins.install(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.law}-{mutant.name}")
def test_every_fault_is_found(mutant: Mutant, record_mutant: Any) -> None:
    """The law that is named fails, after so many examples as the table at the end says."""
    law = next(law for law in mutant.laws if law.name == mutant.law)
    tried = 0

    def counted(*given: Any, **drawn: Any) -> None:
        nonlocal tried
        tried += 1
        law.check(*given, **drawn)

    with pytest.raises(Exception) as failure:  # noqa: PT011 - whatever the fault raises
        replace(law, check=counted)(mutant.make, max_examples=EXAMPLES)
    assert law.says in "".join(failure.value.__notes__)
    record_mutant(mutant.name, law.name, tried)


@pytest.mark.parametrize(
    ("sound", "law"), [pytest.param(sound, law, id=f"{sound.name}-{law.name}") for sound in SOUND for law in sound.laws]
)
def test_the_sound_ones_pass(sound: Mutant, law: Any) -> None:
    """A law that fails for what the mutants are made from would find anything."""
    law(sound.make)
