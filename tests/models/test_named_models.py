"""Models by name: folders, models inside biatt, and installed packages, which are never imported."""

from __future__ import annotations

from pathlib import Path

import pytest

import biatt
from biatt.errors import ModelError
from biatt.models.named_models import MODELS, find_model, named_models
from builders import random_parser


def install(
    folder: Path, name: str, *, value: str | None = None, needs: str = "", version: str = "1.0"
) -> None:
    """What pip leaves of a package with a model, in a folder of the path."""
    module = f"biatt_{name}"
    about = folder / f"{module}-{version}.dist-info"
    about.mkdir(parents=True)
    requires = f"Requires-Dist: biatt{needs}\n" if needs else ""
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: biatt-{name}\nVersion: {version}\nRequires-Dist: numpy>=99\n{requires}"
    )
    (about / "entry_points.txt").write_text(f"[biatt.models]\n{name} = {value or module}\n")
    random_parser().save(folder / module)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that Python finds packages in."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_installed_model_is_found_and_nothing_of_it_is_executed(site: Path, tmp_path: Path) -> None:
    install(site, "xx")
    program = f"open({str(tmp_path / 'executed')!r}, 'w')\nraise SystemExit(1)\n"
    (site / "biatt_xx" / "__init__.py").write_text(program)
    assert find_model("xx") == site / "biatt_xx"
    assert len(biatt.load("xx").parse_tokens([["a", "b"]])) == 1
    assert not (tmp_path / "executed").exists()
    found = {model.name: model for model in named_models()}
    assert found["xx"].package == "biatt-xx 1.0"
    assert found["en"].folder == MODELS / "en"


def test_folder_comes_before_a_package_and_biatt_before_both_names(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, "xx")
    install(site, "en")
    assert find_model("en") == MODELS / "en"
    assert [model.name for model in named_models()].count("en") == 1
    monkeypatch.chdir(tmp_path)
    random_parser().save("xx")
    assert find_model("xx") == Path("xx")


@pytest.mark.parametrize(
    ("needs", "fits"),
    [
        (">=0", True),
        (f">={biatt.__version__}", True),
        (f">={biatt.__version__}.0,<99", True),
        (">=98.1", False),
        ("<0.0.1", False),
        (" (>=98)", False),
        ("[serve]>=98; python_version > '3'", False),
    ],
)
def test_package_for_another_version_of_biatt_is_refused_in_one_sentence(
    site: Path, needs: str, fits: bool
) -> None:
    install(site, "xx", needs=needs)
    if fits:
        assert find_model("xx") == site / "biatt_xx"
        return
    with pytest.raises(
        ModelError, match=r"^The package biatt-xx 1\.0 needs biatt [<>=.\d]+, and this is biatt"
    ):
        find_model("xx")
    (problem,) = (model.problem for model in named_models() if model.name == "xx")
    assert problem


def test_two_packages_with_one_model_are_both_named(site: Path) -> None:
    install(site, "xx")
    install(site, "yy")
    (site / "biatt_yy-1.0.dist-info" / "entry_points.txt").write_text("[biatt.models]\nxx = biatt_yy\n")
    with pytest.raises(ModelError, match=r"biatt-.. 1\.0 and biatt-.. 1\.0 both have a model xx"):
        find_model("xx")


@pytest.mark.parametrize("value", ["biatt_absent", "../biatt_xx", "biatt_xx:Model", "/etc"])
def test_package_without_a_model_folder_is_an_error(site: Path, value: str) -> None:
    install(site, "xx", value=value)
    with pytest.raises(ModelError, match=r"The package biatt-xx 1\.0 has no model"):
        find_model("xx")


def test_editable_installation_is_found_on_the_path(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, "xx")
    (site / "biatt_xx").rename(tmp_path / "biatt_xx")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_model("xx") == tmp_path / "biatt_xx"


def test_auto_is_no_model_where_there_is_no_text() -> None:
    with pytest.raises(
        ModelError, match=r"^auto is no model that can be loaded: only biatt parse and requests .*\.$"
    ):
        biatt.load("auto")
