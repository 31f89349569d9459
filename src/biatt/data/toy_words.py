"""Words of the toy treebank: its lexicon, their inflection, and phrases, lists of words with their heads."""

from __future__ import annotations

from dataclasses import dataclass

# A kind of word and its words, each with its plural or past tense where that is irregular.
LEXICON = """
person      gardener baker teacher girl boy doctor sailor farmer painter woman/women man/men child/children
animal      bird cat dog horse fox owl goose/geese mouse/mice
thing       book letter door box window apple picture chair boat lamp basket egg cake table
place       garden kitchen forest village house harbour market library field city
part        hat beard tail coat scar smile ribbon
tool        telescope key hammer knife/knives brush pen
name        Ada Ben Clara Emil Greta Hugo Ines Jonas
day         Monday Tuesday Friday Sunday
of-living   old young tall small clever quiet friendly strange beautiful
of-thing    old small red green broken heavy empty strange beautiful
feeling     happy tired hungry ill late proud
number      two three four
degree      very rather too
frequency   often never always sometimes
manner      quickly quietly carefully gladly again
past-time   yesterday recently
alone       sleep/slept sing/sang arrive laugh wait work dance disappear
on-living   see/saw watch draw/drew meet/met know/knew like find/found follow
on-thing    see/saw draw/drew open cut/cut break/broke paint like find/found carry/carried
giving      give/gave show send/sent lend/lent
putting     put/put hide/hid place
saying      say/said think/thought believe hope
"""
# The tools that one uses to do it; "with" any other describes the object.
TOOL_LIST = """
see         telescope
watch       telescope
open        key knife
cut         knife
break       hammer
paint       brush
draw        pen brush
"""


def _table(text: str) -> dict[str, list[str]]:
    return {kind: words for kind, *words in map(str.split, text.strip().split("\n"))}


WORDS = {kind: [word.partition("/")[0] for word in words] for kind, words in _table(LEXICON).items()}
IRREGULAR = dict(word.split("/") for word in LEXICON.split() if "/" in word)
TOOLS = _table(TOOL_LIST)

# Subject, object, possessive, features.
PRONOUNS = [
    ("we", "us", "our", "Number=Plur|Person=1"),
    ("he", "him", "his", "Gender=Masc|Number=Sing|Person=3"),
    ("she", "her", "her", "Gender=Fem|Number=Sing|Person=3"),
    ("they", "them", "their", "Number=Plur|Person=3"),
]
# Present of he, present of they, past of he, past of they.
AUXILIARIES = {"be": ("is", "are", "was", "were"), "do": ("does", "do", "did", "did")}
# The tags of the words that lead a phrase, by their relation to its top.
LEADERS = {"case": ("ADP", "IN"), "cc": ("CCONJ", "CC"), "mark": ("SCONJ", "IN")}


@dataclass(eq=False)
class ToyWord:
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str = "_"
    head: ToyWord | None = None
    relation: str = "root"


Phrase = list[ToyWord]  # in the order of speech; one word, its top, has no head yet


def top_of(phrase: Phrase) -> ToyWord:
    return next(word for word in phrase if word.head is None)


def under(head: ToyWord, relation: str, phrase: Phrase) -> Phrase:
    """The phrase, its top now a dependent of `head`."""
    top = top_of(phrase)
    top.head, top.relation = head, relation
    return phrase


def word_phrase(form: str, upos: str, xpos: str, feats: str = "_") -> Phrase:
    """A phrase of one word, which is its own lemma."""
    return [ToyWord(form, form, upos, xpos, feats)]


def adverb(head: ToyWord, form: str) -> Phrase:
    return under(head, "advmod", word_phrase(form, "ADV", "RB"))


def led_by(form: str, relation: str, phrase: Phrase) -> Phrase:
    """The phrase with a preposition, a conjunction or a subordinator before it."""
    upos, xpos = LEADERS[relation]
    return under(top_of(phrase), relation, word_phrase(form, upos, xpos)) + phrase


def with_s(stem: str) -> str:
    if stem.endswith("y") and stem[-2] not in "aeiou":
        return stem[:-1] + "ies"
    return stem + ("es" if stem.endswith(("ch", "sh", "x")) else "s")


def verb_form(lemma: str, tense: str, third: bool) -> ToyWord:
    """A verb in the past, the present or, with tense "base", the infinitive; `third` is for he, she or it."""
    upos = "AUX" if lemma in AUXILIARIES else "VERB"
    if tense == "base":
        return ToyWord(lemma, lemma, upos, "VB", "VerbForm=Inf")
    past = IRREGULAR.get(lemma, lemma + ("d" if lemma.endswith("e") else "ed"))
    forms = AUXILIARIES.get(lemma, (with_s(lemma), lemma, past, past))
    if tense == "past":
        return ToyWord(forms[2 if third else 3], lemma, upos, "VBD", "Mood=Ind|Tense=Past|VerbForm=Fin")
    if third:
        feats = "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"
        return ToyWord(forms[0], lemma, upos, "VBZ", feats)
    return ToyWord(forms[1], lemma, upos, "VBP", "Mood=Ind|Tense=Pres|VerbForm=Fin")


def is_third_singular(subject: Phrase) -> bool:
    top = top_of(subject)
    return "Number=Sing" in top.feats and not any(w.head is top and w.relation == "conj" for w in subject)
