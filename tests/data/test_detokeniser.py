"""The rules that restore spaces: natural text in many languages, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.conll import reads
from biatt.data.detokeniser import lacks_spaces, spaces_between, with_spaces
from biatt.data.raw_text import raw_text
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate


def joined(tokens: str, upos: list[str] | None = None) -> str:
    forms = tokens.split()
    spaces = [*spaces_between(forms, upos or ()), False]
    return "".join(form + " " * space for form, space in zip(forms, spaces, strict=True))


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ('" Vi er bedst , " siger hun .', '"Vi er bedst," siger hun.'),
        ("Han sagde : » Kom ! «", "Han sagde: »Kom!«"),
        ("« Oui » , dit-il .", "«Oui», dit-il."),
        ("„ So “ und “ so ” .", "„So“ und “so”."),
        ("' skarpladdad miljö ' .", "'skarpladdad miljö'."),
        ("Er kam ( spät ) [ 3 ] an .", "Er kam (spät) [3] an."),
        ("Det kostar 24.000 kr. i dag - trods alt .", "Det kostar 24.000 kr. i dag - trods alt."),
        ("1990 - 95 , 3,5 % og 1/5 .", "1990-95, 3,5% og 1/5."),
        ("Øst- og Central-Europa , f.eks. her ...", "Øst- og Central-Europa, f.eks. her..."),
        ("l' homme d' aujourd'hui qu' elle", "l'homme d'aujourd'hui qu'elle"),
        ("and / or $ 5 # 3", "and/or $5 #3"),
        ("ha' det 's avonds 'n dag", "ha' det 's avonds 'n dag"),
        ('he ended it . "', 'he ended it."'),
        ("当駅 は 、 NHK の 「 駅 」 です 。", "当駅は、NHKの「駅」です。"),
        ("Windows XP を 使う 人", "Windows XPを使う人"),
        ("Suske & Wiske , deel 1 ; deel 2", "Suske & Wiske, deel 1; deel 2"),
        ("¿ Qué ? ¡ No !", "¿Qué? ¡No!"),
    ],
)
def test_text_reads_naturally(tokens: str, text: str) -> None:
    assert joined(tokens) == text


def test_clitics_are_told_by_their_tags() -> None:
    assert joined("She does n't see Ann 's dog") == "She doesn't see Ann 's dog"
    assert joined("Ann 's dog", ["PROPN", "PART", "NOUN"]) == "Ann's dog"
    assert joined("'s avonds", ["DET", "NOUN"]) == "'s avonds"


def test_toy_treebank_gets_its_spaces_back() -> None:
    sentences = generate(60, seed=3)
    bare = [s.with_rows([[*row[:9], "_"] for row in s.rows]) for s in sentences]
    for sentence in bare:
        sentence.verbatim = []
    assert lacks_spaces(bare)
    assert not lacks_spaces(sentences)
    assert raw_text(map(with_spaces, bare)) == raw_text(sentences).replace("\n\n", " ")


def test_conllx_becomes_conllu_with_text() -> None:
    (sentence,) = reads(
        "1\tI_dag\t_\tRG\tRG\t_\t2\tmod\t_\t_\n2\tsover\t_\tV\tVA\t_\t0\tROOT\t_\t_\n3\t.\t_\tX\tXP\t_\t2\tpnct\t_\t_\n\n",
        format="conllx",
    )
    assert lacks_spaces([sentence])
    assert with_spaces(sentence).to_text() == (
        "# text = I dag sover.\n"
        "1\tI dag\t_\tRG\tRG\t_\t2\tmod\t_\t_\n"
        "2\tsover\t_\tV\tVA\t_\t0\tROOT\t_\tSpaceAfter=No\n"
        "3\t.\t_\tX\tXP\t_\t2\tpnct\t_\t_\n\n"
    )


def test_multiword_tokens_addresses_and_other_misc_are_kept() -> None:
    (sentence,) = reads(
        "# text = old\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tA=1\n1\tde\t_\tADP\t_\t_\t0\troot\t_\t_\n"
        "2\tle\t_\tDET\t_\t_\t1\tdet\t_\t_\n3\t,\t_\tPUNCT\t_\t_\t1\tpunct\t_\tB=2\n"
        "4\tx.be/a_b\t_\tX\t_\t_\t1\tdep\t_\t_\n5\t.\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"
    )
    found = with_spaces(sentence)
    assert found.text == "du, x.be/a_b."
    assert found.comments == ["# text = du, x.be/a_b."]
    assert found.tokens[0].row[9] == "A=1|SpaceAfter=No"
    assert found.rows[2][9] == "B=2"
    assert sentence.comments == ["# text = old"]


@given(st.lists(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1), min_size=1, max_size=8))
def test_any_tokens_keep_their_characters_and_columns(forms: list[str]) -> None:
    sentence = Sentence.from_words(forms)
    found = with_spaces(sentence)
    assert found.text.replace(" ", "") == "".join(found.forms).replace(" ", "")
    assert [form.replace(" ", "_") for form in found.forms] == forms
    assert with_spaces(Sentence.from_words(found.forms)).text == found.text


def test_sentence_without_words_is_kept() -> None:
    assert with_spaces(Sentence([], [(0, "# only")])).comments == ["# only"]
