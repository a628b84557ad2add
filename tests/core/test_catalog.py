"""What is installed is found without importing any of it."""

from __future__ import annotations

import sys
from pathlib import Path

from looseleaf._catalog import Catalog, Entry, cached_scan, scan


def test_entries_are_found_without_importing_them(site: Path) -> None:
    """A scan lists names, distributions and versions, and loads no plugin."""
    catalog = scan([str(site)])
    (entry,) = catalog.claims("embedder", "fake")
    assert entry == Entry("embedder", "fake", "fake_good", "fake-good", "1.2")
    assert "fake_good" not in sys.modules
    assert "broken" in catalog.names("embedder")


def test_the_same_folder_twice_shows_a_plugin_once(site: Path, tmp_path: Path) -> None:
    """PL-02: a lib64 link to lib must not make a name look claimed twice."""
    (tmp_path / "lib64").symlink_to(site)
    catalog = scan([str(site), str(tmp_path / "lib64"), str(site)])
    assert len(catalog.claims("embedder", "fake")) == 1


def test_two_distributions_with_one_name_are_both_listed(site: Path) -> None:
    """PL-04: who wins is never left to the order of files."""
    claims = scan([str(site)]).claims("memory", "twin-slot")
    assert {entry.distribution for entry in claims} == {"fake-twin", "fake-other-twin"}


def test_a_damaged_distribution_hides_no_other(site: Path) -> None:
    """A dist-info that cannot be read is passed over."""
    assert scan([str(site)]).names("ranker") == ["fake-ranker", "half"]


def test_a_missing_kind_or_name_is_empty() -> None:
    """Asking for what is not there is no error."""
    assert Catalog([]).claims("ranker", "nobody") == ()
    assert Catalog([Entry("no-such-kind", "x", "y", "z", "1")]).names("memory") == []


def test_the_cached_scan_equals_the_scan(tmp_path: Path) -> None:
    """The cache gives what a scan gives, and a damaged one is made anew."""
    cache = tmp_path / "cache" / "plugins.json"
    first = cached_scan(cache)
    assert cached_scan(cache).entries("ranker") == first.entries("ranker") == scan().entries("ranker")
    cache.write_text("{", "utf-8")
    assert cached_scan(cache).names("memory") == scan().names("memory")


def test_the_cached_scan_notices_a_new_folder(tmp_path: Path, monkeypatch) -> None:
    """A package installed since the last scan is found at once."""
    cache = tmp_path / "plugins.json"
    cached_scan(cache)
    new = tmp_path / "new"
    info = new / "newcomer-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: newcomer\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text("[looseleaf.ranker]\nnewcomer = newcomer\n", "utf-8")
    monkeypatch.syspath_prepend(str(new))
    assert "newcomer" in cached_scan(cache).names("ranker")


def test_a_cache_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    """A file where the folder should be is passed over."""
    (tmp_path / "cache").write_text("", "utf-8")
    assert cached_scan(tmp_path / "cache" / "plugins.json").names("memory")
