"""The packages of `packages/`: pip installs them, and biatt finds their models by name."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zlib
from pathlib import Path

import pytest

import biatt
from biatt.models.card_table import table_rows
from biatt.models.languages import LANGUAGES

ROOT = Path(__file__).parents[1]
PACKAGES = sorted((ROOT / "packages").glob("biatt-*"))
if not PACKAGES:
    pytest.skip("the packages of languages are not part of the package", allow_module_level=True)
LARGEST = 8_000_000  # bytes of a package, packed
LARGEST_OF_ALL = 80_000_000  # so that the repository stays small enough to clone
# What a copy of the sources does without.
IGNORED = shutil.ignore_patterns(".git", ".venv", ".hypothesis", ".*_cache", "packages", "site")
LONGEST = 3600  # seconds of processor time of a training with 100,000 words
RESULTS = {
    result["code"]: result
    for result in map(
        json.loads, (ROOT / "experiments" / "languages" / "results.jsonl").read_text("utf-8").splitlines()
    )
}


# Everyday text, and the roots of its sentences.
TEXTS = {
    "af": ("Die kinders het gister by die see gespeel. Hulle woon in Kaapstad.", ["gespeel", "woon"]),
    "da": ("Toget til Berlin kører klokken ni. Vi tog det, fordi flyet var aflyst!", ["kører", "tog"]),
    "fr": ("Nous avons pris le train, parce qu'il pleuvait. Elle habite à Paris.", ["pris", "habite"]),
    "ga": ("Tá an cat ina chodladh ar an mbord. Chonaic mé an fear inné.", ["Tá", "Chonaic"]),
    "is": ("Lestin fer klukkan níu. Við tókum hana vegna þess að flugvélin kom ekki.", ["fer", "tókum"]),
    "ja": ("昨日、東京で寿司を食べました！あなたはどこに行きますか？", ["食べ", "行き"]),
    "ko": ("나는 어제 서울에서 친구를 만났다. 날씨가 아주 좋았다!", ["만났다", "좋았다"]),
    "nb": ("Toget til Berlin går klokka ni. Vi tok det fordi flyet var innstilt.", ["går", "tok"]),
    "nl": ("De trein naar Berlijn vertrekt om negen uur. We hebben hem genomen.", ["vertrekt", "genomen"]),
    "pt": ("O trem para Berlim parte às nove horas. Você viu a bicicleta nova dela?", ["parte", "viu"]),
    "ru": ("Поезд в Берлин отправляется в девять часов. Мы сели на него.", ["отправляется", "сели"]),
    "sv": ("Tåget till Berlin går klockan nio. Har du sett hennes nya cykel?", ["går", "sett"]),
    "uk": ("Потяг до Берліна вирушає о дев'ятій годині. Ми поїхали додому.", ["вирушає", "поїхали"]),
}


def packed_size(folder: Path) -> int:
    """At most: a wheel is packed better, which takes longer."""
    return sum(len(zlib.compress(path.read_bytes(), level=1)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_packages_are_small() -> None:
    sizes = {folder.name: packed_size(folder) for folder in PACKAGES}
    assert len(sizes) >= 8
    assert max(sizes.values()) <= LARGEST, sizes
    assert sum(sizes.values()) <= LARGEST_OF_ALL


def card(code: str) -> str:
    return (ROOT / "packages" / f"biatt-{code}" / f"biatt_{code}" / "README.md").read_text("utf-8")


def test_every_package_has_a_result_and_the_scores_of_its_card_are_those() -> None:
    assert {f"biatt-{code}" for code in RESULTS} == {folder.name for folder in PACKAGES}
    for code, result in RESULTS.items():
        assert f"LAS {result['test']['LAS']:.2f} |" in card(code)


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_card_and_licence_name_source_authors_and_changes(folder: Path) -> None:
    code = folder.name.removeprefix("biatt-")
    licence = (folder / "LICENSE.txt").read_text("utf-8")
    for text in (card(code), licence):
        assert re.search(r"\nTrained on \[.+\]\(https://github\.com/\S+\), by \S+ .+, under \S", text)
        assert "\nChanges: " in text
    facts = table_rows(card(code))
    assert facts["language"] == LANGUAGES[code]
    assert "NC" not in facts["licence"]  # models of such treebanks are not for passing on
    if facts["licence"].startswith("CC "):
        assert "https://creativecommons.org/licenses/by" in licence
    else:
        assert facts["licence"] == "LGPL-LR"  # which wants its text beside every copy
        assert "TERMS AND CONDITIONS FOR COPYING, DISTRIBUTION AND MODIFICATION" in licence
    for word in ("/home", "/work", "/tmp"):
        assert word not in licence


def test_package_without_lemmas_claims_no_score_for_them() -> None:
    for code in ("da", "sv"):
        assert "Lemmas" not in table_rows(card(code))["scores"]
    assert "Lemmas" in table_rows(card("nl"))["scores"]


def test_languages_are_above_udpipe_1_in_accuracy_and_speed() -> None:
    peers = {code: result["udpipe"] for code, result in RESULTS.items() if "udpipe" in result}
    assert peers
    for code, peer in peers.items():
        assert RESULTS[code]["test"]["LAS"] > peer["test"]["LAS"], code
        assert RESULTS[code]["words/s"] > peer["words/s"], code


def test_trainings_took_less_than_an_hour_for_100_000_words() -> None:
    known = {code: result for code, result in RESULTS.items() if result["training seconds"] is not None}
    assert len(known) >= 8
    for code, result in known.items():
        assert result["training seconds"] <= LONGEST * max(1, result["training words"] / 100_000), code


def test_documents_name_every_language() -> None:
    page = (ROOT / "docs" / "models.md").read_text("utf-8")
    assert f"models of {len(PACKAGES)} other languages" in page
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    for code in RESULTS:
        assert f"(`{code}`)" in page
        assert LANGUAGES[code] in changes


@pytest.mark.slow
@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_model_parses_everyday_text_and_keeps_it(folder: Path) -> None:
    text, roots = TEXTS[folder.name.removeprefix("biatt-")]
    (module,) = folder.glob("biatt_*")
    document = biatt.load(module)(text)
    assert document.text == text
    assert [sentence.root and sentence.root.form for sentence in document] == roots


@pytest.mark.slow
def test_model_of_each_language_is_chosen_by_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in PACKAGES:
        module = folder.name.replace("-", "_")
        about = tmp_path / f"{module}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {folder.name}\nVersion: 1.0\n")
        name = folder.name.removeprefix("biatt-")
        (about / "entry_points.txt").write_text(f"[biatt.models]\n{name} = {module}\n")
        (tmp_path / module).symlink_to(folder / module)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert {code: biatt.choose_model(text).name for code, (text, _) in TEXTS.items()} == {
        code: code for code in TEXTS
    }


@pytest.mark.slow
def test_fresh_environment_parses_danish_offline(tmp_path: Path) -> None:
    """`pip install .` and `pip install packages/biatt-da`; dependencies are those of this environment."""
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    venv.create(tmp_path / "fresh", with_pip=False)
    python = tmp_path / "fresh" / "bin" / "python"
    place = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", place], check=True, capture_output=True, text=True).stdout.strip()
    sources = []
    for source in (ROOT, ROOT / "packages" / "biatt-da"):
        copy = tmp_path / "sources" / source.name  # pip may write beside the sources that it builds
        sources.append(shutil.copytree(source, copy, ignore=IGNORED))
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", found, *sources], check=True
    )
    others = sysconfig.get_path("purelib")
    (Path(found) / "dependencies.pth").write_text(f"import sys; sys.path.append({others!r})\n")
    run = functools.partial(
        subprocess.run,
        check=True,
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={"PATH": "", "PYTHONUTF8": "1", "BIATT_KERNELS": "plain", "http_proxy": "http://127.0.0.1:9"},
    )
    where = run([python, "-c", "import biatt; print(biatt.__file__)"]).stdout
    assert where.startswith(found)
    text = "Toget til Berlin kører klokken ni. Vi tog det i går."
    done = run([python, "-m", "biatt", "parse", "--model", "da", "--text", text, "--format", "conllu"])
    first, second = biatt.reads(done.stdout)
    assert [first.text, second.text] == ["Toget til Berlin kører klokken ni.", "Vi tog det i går."]
    assert first.root is not None
    assert first.root.form == "kører"
    assert "i går" in second.forms  # a word with a space, as in the treebank
    chosen = run([python, "-m", "biatt", "parse", "--model", "auto", "--text", text])
    assert "model da (Danish)" in chosen.stderr
    listed = json.loads(run([python, "-m", "biatt", "models", "--format", "json"]).stdout)["models"]
    assert [item["package"] for item in listed if item["name"] == "da"] == ["biatt-da 1.0"]
