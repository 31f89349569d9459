"""A small grammar of English that writes treebanks, for first steps and for tests.

A parser has to learn from them what no single word tells: that one saw a bird with a telescope, but met a man
with a telescope; whether the noun after "who" is the one seen or the one who saw; how far away the verb is
that "what" belongs to. Each sentence has one tree, which its words decide. Relations, tags and features are
those of Universal Dependencies, and XPOS holds Penn Treebank tags.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from biatt.data.sentence import Sentence

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
TOOLS_OF = """
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


_WORDS = {kind: [word.partition("/")[0] for word in words] for kind, words in _table(LEXICON).items()}
_IRREGULAR = dict(word.split("/") for word in LEXICON.split() if "/" in word)
_TOOLS_OF = _table(TOOLS_OF)

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

SHORTEST, LONGEST = 3, 20  # words


@dataclass(eq=False)
class _Word:
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str = "_"
    head: _Word | None = None
    relation: str = "root"


_Phrase = list[_Word]  # in the order of speech; one word, its top, has no head yet


def _top(phrase: _Phrase) -> _Word:
    return next(word for word in phrase if word.head is None)


def _under(head: _Word, relation: str, phrase: _Phrase) -> _Phrase:
    """The phrase, its top now a dependent of `head`."""
    top = _top(phrase)
    top.head, top.relation = head, relation
    return phrase


def _word(form: str, upos: str, xpos: str, feats: str = "_") -> _Phrase:
    """A phrase of one word, which is its own lemma."""
    return [_Word(form, form, upos, xpos, feats)]


def _adverb(head: _Word, form: str) -> _Phrase:
    return _under(head, "advmod", _word(form, "ADV", "RB"))


def _led_by(form: str, relation: str, phrase: _Phrase) -> _Phrase:
    """The phrase with a preposition, a conjunction or a subordinator before it."""
    upos, xpos = LEADERS[relation]
    return _under(_top(phrase), relation, _word(form, upos, xpos)) + phrase


def _with_s(stem: str) -> str:
    if stem.endswith("y") and stem[-2] not in "aeiou":
        return stem[:-1] + "ies"
    return stem + ("es" if stem.endswith(("ch", "sh", "x")) else "s")


def _verb(lemma: str, tense: str, third: bool) -> _Word:
    """A verb in the past, the present or, with tense "base", the infinitive; `third` is for he, she or it."""
    upos = "AUX" if lemma in AUXILIARIES else "VERB"
    if tense == "base":
        return _Word(lemma, lemma, upos, "VB", "VerbForm=Inf")
    past = _IRREGULAR.get(lemma, lemma + ("d" if lemma.endswith("e") else "ed"))
    forms = AUXILIARIES.get(lemma, (_with_s(lemma), lemma, past, past))
    if tense == "past":
        return _Word(forms[2 if third else 3], lemma, upos, "VBD", "Mood=Ind|Tense=Past|VerbForm=Fin")
    if third:
        feats = "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"
        return _Word(forms[0], lemma, upos, "VBZ", feats)
    return _Word(forms[1], lemma, upos, "VBP", "Mood=Ind|Tense=Pres|VerbForm=Fin")


def _is_third_singular(subject: _Phrase) -> bool:
    top = _top(subject)
    return "Number=Sing" in top.feats and not any(w.head is top and w.relation == "conj" for w in subject)


class _Speaker:
    """The rules, each a method; chance decides between them and chooses the words.

    A plain phrase has no noun with something after it, so that what follows belongs to the verb.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def maybe(self, probability: float) -> bool:
        return self.random.random() < probability

    def any(self, *kinds: str) -> str:
        return self.random.choice(_WORDS[self.random.choice(kinds)])

    # Nouns

    def noun_phrase(self, *kinds: str, noun: str = "", plain: bool = False, new: bool = False) -> _Phrase:
        """A noun of one of these kinds, or this one, and what belongs to it; a new one has no "the"."""
        kind = self.random.choice(kinds)
        noun = noun or self.any(kind)
        plural, living = self.maybe(0.25), kind in ("person", "animal")
        form = _IRREGULAR.get(noun, _with_s(noun)) if plural else noun
        number = "Number=Plur" if plural else "Number=Sing"
        top = _Word(form, noun, "NOUN", "NNS" if plural else "NN", number)
        adjectives: _Phrase = []
        fitting = _WORDS["of-living" if living else "of-thing"]
        for form in self.random.sample(fitting, self.random.choice([0, 0, 1, 2])):
            adjective = _word(form, "ADJ", "JJ", "Degree=Pos")
            degree = _adverb(adjective[0], self.any("degree")) if self.maybe(0.15) else []
            adjectives += _under(top, "amod", degree + adjective)
        determiner = self.determiner(top, following=[*adjectives, top][0].form, plural=plural, new=new)
        phrase = [*determiner, *adjectives, top]
        return phrase if plain else phrase + self.after_noun(phrase, kind)

    def determiner(self, noun: _Word, *, following: str, plural: bool, new: bool) -> _Phrase:
        if not new and self.maybe(0.1):
            _, _, form, feats = self.random.choice(PRONOUNS)
            return _under(noun, "nmod:poss", _word(form, "PRON", "PRP$", f"{feats}|Poss=Yes|PronType=Prs"))
        if not new and self.maybe(0.08):
            owner = self.name()
            return _under(noun, "nmod:poss", owner + _under(owner[0], "case", _word("'s", "PART", "POS")))
        if plural and self.maybe(0.3):
            return _under(noun, "nummod", _word(self.any("number"), "NUM", "CD", "NumType=Card"))
        if not new and self.maybe(0.5):
            word = _Word("the", "the", "DET", "DT", "Definite=Def|PronType=Art")
        elif not new and self.maybe(0.15):
            word = _Word("those" if plural else "that", "that", "DET", "DT", f"{noun.feats}|PronType=Dem")
        elif plural:
            word = _Word("some", "some", "DET", "DT", "PronType=Ind")
        else:
            form = "an" if following[0] in "aeiou" else "a"
            word = _Word(form, "a", "DET", "DT", "Definite=Ind|PronType=Art")
        return _under(noun, "det", [word])

    def after_noun(self, phrase: _Phrase, kind: str) -> _Phrase:
        top, dice = _top(phrase), self.random.random()
        if dice < 0.2:
            return self.relative_clause(phrase, kind)
        if dice < 0.3:
            return _under(top, "nmod", self.place())
        if dice < 0.4 and kind != "thing":
            return _under(top, "nmod", _led_by("with", "case", self.noun_phrase("part", plain=True)))
        if dice < 0.4:
            return _under(top, "nmod", _led_by("of", "case", self.noun_phrase("person", plain=True)))
        return []

    def name(self) -> _Phrase:
        return _word(self.any("name"), "PROPN", "NNP", "Number=Sing")

    def someone(self, *, subject: bool = False, plain: bool = False) -> _Phrase:
        dice = self.random.random()
        if dice < 0.18:
            return self.name()
        if dice < 0.36:
            nominative, accusative, _, feats = self.random.choice(PRONOUNS)
            form, case = (nominative, "Nom") if subject else (accusative, "Acc")
            return [_Word(form, nominative, "PRON", "PRP", f"Case={case}|{feats}|PronType=Prs")]
        if dice < 0.44:
            first, second = self.name(), self.noun_phrase("person", plain=True)
            return first + _under(first[0], "conj", _led_by("and", "cc", second))
        return self.noun_phrase("person", "person", "animal", plain=plain)

    def place(self) -> _Phrase:
        preposition = self.random.choice(["in", "near", "behind"])
        return _led_by(preposition, "case", self.noun_phrase("place", plain=True))

    # Verbs

    def tense(self) -> str:
        return self.random.choice(["past", "past", "present"])

    def verb_group(self, kind: str, tense: str, third: bool) -> _Phrase:
        """A verb, the last word, with its auxiliaries."""
        lemma = self.any(kind)
        if tense == "base" or self.maybe(0.75):
            verb = _verb(lemma, tense, third)
            return [*(_adverb(verb, self.any("frequency")) if self.maybe(0.1) else []), verb]
        verb = _verb(lemma, "base", third)
        if self.maybe(0.5):
            return [*_under(verb, "aux", _word("will", "AUX", "MD", "VerbForm=Fin")), verb]
        negation = _under(verb, "advmod", _word("not", "PART", "RB", "Polarity=Neg"))
        return [*_under(verb, "aux", [_verb("do", tense, third)]), *negation, verb]

    def end(self, verb: _Word) -> _Phrase:
        """When or how, if anything."""
        dice = self.random.random()
        if dice < 0.12:
            day = _word(self.any("day"), "PROPN", "NNP", "Number=Sing")
            return _under(verb, "obl", _led_by("on", "case", day))
        if dice < 0.4:
            kinds = ["manner", "past-time"] if verb.xpos == "VBD" else ["manner"]
            return _adverb(verb, self.any(*kinds))
        return []

    def predicate(self, tense: str, third: bool, *, plain: bool = False) -> _Phrase:
        acting = self.acting if plain else self.acting_at_length
        rules = [self.doing, acting, acting, self.using, self.using, self.giving, self.putting]
        return self.random.choice(rules if tense == "base" else [*rules, self.being])(tense, third)

    def doing(self, tense: str, third: bool) -> _Phrase:
        *before, verb = self.verb_group("alone", tense, third)
        place = _under(verb, "obl", self.place()) if self.maybe(0.3) else []
        return [*before, verb, *place, *self.end(verb)]

    def acting(self, tense: str, third: bool, *, plain: bool = True) -> _Phrase:
        living = self.maybe(0.5)
        *before, verb = self.verb_group("on-living" if living else "on-thing", tense, third)
        patient = self.someone(plain=plain) if living else self.noun_phrase("thing", plain=plain)
        closed = patient[-1] is not _top(patient)  # what came next could belong to the object as well
        return [*before, verb, *_under(verb, "obj", patient), *([] if closed else self.end(verb))]

    def acting_at_length(self, tense: str, third: bool) -> _Phrase:
        return self.acting(tense, third, plain=False)

    def using(self, tense: str, third: bool) -> _Phrase:
        """With a tool, which the verb uses or the object has."""
        living = self.maybe(0.5)
        *before, verb = self.verb_group("on-living" if living else "on-thing", tense, third)
        patient = self.noun_phrase(*(["person", "animal"] if living else ["thing"]), plain=True)
        useful = _TOOLS_OF.get(verb.lemma, [])
        tool = self.random.choice(useful) if useful and self.maybe(0.6) else self.any("tool")
        user, relation = (verb, "obl") if tool in useful else (_top(patient), "nmod")
        with_tool = _led_by("with", "case", self.noun_phrase("tool", noun=tool, plain=True))
        with_tool = _under(user, relation, with_tool)
        return [*before, verb, *_under(verb, "obj", patient), *with_tool]

    def giving(self, tense: str, third: bool) -> _Phrase:
        *before, verb = self.verb_group("giving", tense, third)
        gift = _under(verb, "obj", self.noun_phrase("thing", plain=True))
        receiver = self.someone(plain=True)
        if self.maybe(0.5):
            both = _under(verb, "iobj", receiver) + gift
        else:
            both = gift + _under(verb, "obl", _led_by("to", "case", receiver))
        return [*before, verb, *both, *self.end(verb)]

    def putting(self, tense: str, third: bool) -> _Phrase:
        *before, verb = self.verb_group("putting", tense, third)
        thing = _under(verb, "obj", self.noun_phrase("thing", plain=True))
        return [*before, verb, *thing, *_under(verb, "obl", self.place()), *self.end(verb)]

    def being(self, tense: str, third: bool) -> _Phrase:
        feeling = self.feeling()
        return _under(_top(feeling), "cop", [_verb("be", tense, third)]) + feeling

    def feeling(self) -> _Phrase:
        top = _word(self.any("feeling"), "ADJ", "JJ", "Degree=Pos")
        return (_adverb(top[0], self.any("degree")) if self.maybe(0.3) else []) + top

    # Clauses

    def clause(self, *, plain: bool = False) -> _Phrase:
        subject, tense, several = self.someone(subject=True, plain=plain), self.tense(), self.maybe(0.12)
        third = _is_third_singular(subject)
        first = self.predicate(tense, third, plain=plain or several)
        clause = _under(_top(first), "nsubj", subject) + first
        if several:
            second = _led_by("and", "cc", self.predicate(tense, third, plain=True))
            clause += _under(_top(clause), "conj", second)
        return clause

    def clause_without_object(self, kind: str) -> _Phrase:
        subject = self.someone(subject=True, plain=True)
        group = self.verb_group(kind, self.tense(), _is_third_singular(subject))
        return _under(group[-1], "nsubj", subject) + group

    def relative_clause(self, noun: _Phrase, kind: str) -> _Phrase:
        form = self.random.choice(["that", "who" if kind == "person" else "which"])
        pronoun = _word(form, "PRON", "WP" if form == "who" else "WDT", "PronType=Rel")
        if kind != "thing" and self.maybe(0.5):
            clause = self.predicate(self.tense(), _is_third_singular(noun), plain=True)
            relation = "nsubj"
        else:
            clause = self.clause_without_object("on-thing" if kind == "thing" else "on-living")
            relation = "obj"
        return _under(_top(noun), "acl:relcl", _under(_top(clause), relation, pronoun) + clause)

    def report(self) -> _Phrase:
        subject, said = self.someone(subject=True), self.clause()
        *before, verb = self.verb_group("saying", self.tense(), _is_third_singular(subject))
        said = _led_by("that", "mark", said) if self.maybe(0.6) else said
        return [*_under(verb, "nsubj", subject), *before, verb, *_under(verb, "ccomp", said)]

    def compound(self) -> _Phrase:
        first, second = self.clause(plain=True), self.clause()
        comma = _under(_top(second), "punct", _word(",", "PUNCT", ","))
        if self.maybe(0.5):
            first = _led_by(self.random.choice(["when", "because", "if"]), "mark", first)
            return [*_under(_top(second), "advcl", first), *comma, *second]
        second = comma + _led_by(self.random.choice(["and", "but"]), "cc", second)
        return first + _under(_top(first), "conj", second)

    def extraposition(self) -> _Phrase:
        """As in "a woman arrived yesterday who knows Ada", with an arc over the main verb."""
        subject = self.noun_phrase("person", plain=True, new=True)
        verb = _verb(self.any("alone"), "past", third=True)
        late = self.relative_clause(subject, "person")
        return [*_under(verb, "nsubj", subject), verb, *_adverb(verb, self.any("past-time")), *late]

    def question(self) -> _Phrase:
        subject = self.someone(subject=True, plain=True)
        third, be = _is_third_singular(subject), self.maybe(0.3)
        inner = self.feeling() if be else self.predicate("base", third)
        auxiliary = [_verb("be" if be else "do", self.tense(), third)]
        top = _top(inner)
        return [*_under(top, "cop" if be else "aux", auxiliary), *_under(top, "nsubj", subject), *inner]

    def object_question(self) -> _Phrase:
        """As in "what did Ada see" or, with an arc over the main verb, "what did Ada say that Ben saw"."""
        subject, far, thing = self.someone(subject=True, plain=True), self.maybe(0.4), self.maybe(0.6)
        third, kind = _is_third_singular(subject), "on-thing" if thing else "on-living"
        verb = _verb(self.any("saying" if far else kind), "base", third)
        asked = _word("what" if thing else "who", "PRON", "WP", "PronType=Int")
        if thing and self.maybe(0.5):
            asked = _word(self.any("thing"), "NOUN", "NN", "Number=Sing")
            asked = _under(asked[0], "det", _word("which", "DET", "WDT", "PronType=Int")) + asked
        said: _Phrase = []
        if far:
            said = self.clause_without_object(kind)
            asked = _under(_top(said), "obj", asked)
            said = _under(verb, "ccomp", _led_by("that", "mark", said) if self.maybe(0.5) else said)
        else:
            asked = _under(verb, "obj", asked)
        do = _under(verb, "aux", [_verb("do", self.tense(), third)])
        return [*asked, *do, *_under(verb, "nsubj", subject), verb, *said]

    def sentence(self) -> _Phrase:
        dice = self.random.random()
        if dice < 0.25:
            phrase, mark = self.question() if dice < 0.12 else self.object_question(), "?"
        else:
            rules = [self.clause] * 9 + [self.report] * 2 + [self.compound] * 3 + [self.extraposition]
            phrase, mark = self.random.choice(rules)(), "."
        if self.maybe(0.15):  # as in a hasty message
            return phrase
        phrase[0].form = phrase[0].form[0].upper() + phrase[0].form[1:]
        return phrase + _under(_top(phrase), "punct", _word(mark, "PUNCT", "."))


def generate(count: int, *, seed: int = 1) -> list[Sentence]:
    """This many sentences with their trees, the same ones for the same seed."""
    speaker = _Speaker(seed)
    sentences: list[Sentence] = []
    while len(sentences) < count:
        words = speaker.sentence()
        if SHORTEST <= len(words) <= LONGEST:
            sentences.append(_sentence(words, f"toy-{seed}-{len(sentences) + 1}"))
    return sentences


def _sentence(words: _Phrase, name: str) -> Sentence:
    number: dict[_Word | None, int] = {word: i for i, word in enumerate([None, *words])}
    rows, text = [], ""
    for word, following in zip(words, [*words[1:], None], strict=True):
        joined = following is not None and following.xpos in (".", ",", "POS")
        columns = [word.form, word.lemma, word.upos, word.xpos, word.feats]
        tree = [str(number[word.head]), word.relation]
        rows.append([str(number[word]), *columns, *tree, "_", "SpaceAfter=No" if joined else "_"])
        text += word.form + ("" if joined or following is None else " ")
    return Sentence(rows, [(0, f"# sent_id = {name}"), (0, f"# text = {text}")])
