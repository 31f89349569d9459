"""A small grammar of English that writes treebanks, for first steps and for tests.

A parser has to learn from them what no single word tells: that one saw a bird with a telescope, but met a man
with a telescope; whether the noun after "who" is the one seen or the one who saw; how far away the verb is
that "what" belongs to. Each sentence has one tree, which its words decide. Relations, tags and features are
those of Universal Dependencies, and XPOS holds Penn Treebank tags.
"""

from __future__ import annotations

import random

from biatt.data.sentence import Sentence
from biatt.data.toy_words import (
    IRREGULAR,
    PRONOUNS,
    TOOLS,
    WORDS,
    Phrase,
    ToyWord,
    adverb,
    is_third_singular,
    led_by,
    top_of,
    under,
    verb_form,
    with_s,
    word_phrase,
)

SHORTEST, LONGEST = 3, 20  # words


class _Speaker:
    """The rules, each a method; chance decides between them and chooses the words.

    A plain phrase has no noun with something after it, so that what follows belongs to the verb.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def maybe(self, probability: float) -> bool:
        return self.random.random() < probability

    def any(self, *kinds: str) -> str:
        return self.random.choice(WORDS[self.random.choice(kinds)])

    # Nouns

    def noun_phrase(self, *kinds: str, noun: str = "", plain: bool = False, new: bool = False) -> Phrase:
        """A noun of one of these kinds, or this one, and what belongs to it; a new one has no "the"."""
        kind = self.random.choice(kinds)
        noun = noun or self.any(kind)
        plural, living = self.maybe(0.25), kind in ("person", "animal")
        form = IRREGULAR.get(noun, with_s(noun)) if plural else noun
        number = "Number=Plur" if plural else "Number=Sing"
        top = ToyWord(form, noun, "NOUN", "NNS" if plural else "NN", number)
        adjectives: Phrase = []
        fitting = WORDS["of-living" if living else "of-thing"]
        for form in self.random.sample(fitting, self.random.choice([0, 0, 1, 2])):
            adjective = word_phrase(form, "ADJ", "JJ", "Degree=Pos")
            degree = adverb(adjective[0], self.any("degree")) if self.maybe(0.15) else []
            adjectives += under(top, "amod", degree + adjective)
        determiner = self.determiner(top, following=[*adjectives, top][0].form, plural=plural, new=new)
        phrase = [*determiner, *adjectives, top]
        return phrase if plain else phrase + self.after_noun(phrase, kind)

    def determiner(self, noun: ToyWord, *, following: str, plural: bool, new: bool) -> Phrase:
        if not new and self.maybe(0.1):
            _, _, form, feats = self.random.choice(PRONOUNS)
            return under(
                noun, "nmod:poss", word_phrase(form, "PRON", "PRP$", f"{feats}|Poss=Yes|PronType=Prs")
            )
        if not new and self.maybe(0.08):
            owner = self.name()
            return under(noun, "nmod:poss", owner + under(owner[0], "case", word_phrase("'s", "PART", "POS")))
        if plural and self.maybe(0.3):
            return under(noun, "nummod", word_phrase(self.any("number"), "NUM", "CD", "NumType=Card"))
        if not new and self.maybe(0.5):
            word = ToyWord("the", "the", "DET", "DT", "Definite=Def|PronType=Art")
        elif not new and self.maybe(0.15):
            word = ToyWord("those" if plural else "that", "that", "DET", "DT", f"{noun.feats}|PronType=Dem")
        elif plural:
            word = ToyWord("some", "some", "DET", "DT", "PronType=Ind")
        else:
            form = "an" if following[0] in "aeiou" else "a"
            word = ToyWord(form, "a", "DET", "DT", "Definite=Ind|PronType=Art")
        return under(noun, "det", [word])

    def after_noun(self, phrase: Phrase, kind: str) -> Phrase:
        top, dice = top_of(phrase), self.random.random()
        if dice < 0.2:
            return self.relative_clause(phrase, kind)
        if dice < 0.3:
            return under(top, "nmod", self.place())
        if dice < 0.4 and kind != "thing":
            return under(top, "nmod", led_by("with", "case", self.noun_phrase("part", plain=True)))
        if dice < 0.4:
            return under(top, "nmod", led_by("of", "case", self.noun_phrase("person", plain=True)))
        return []

    def name(self) -> Phrase:
        return word_phrase(self.any("name"), "PROPN", "NNP", "Number=Sing")

    def someone(self, *, subject: bool = False, plain: bool = False) -> Phrase:
        dice = self.random.random()
        if dice < 0.18:
            return self.name()
        if dice < 0.36:
            nominative, accusative, _, feats = self.random.choice(PRONOUNS)
            form, case = (nominative, "Nom") if subject else (accusative, "Acc")
            return [ToyWord(form, nominative, "PRON", "PRP", f"Case={case}|{feats}|PronType=Prs")]
        if dice < 0.44:
            first, second = self.name(), self.noun_phrase("person", plain=True)
            return first + under(first[0], "conj", led_by("and", "cc", second))
        return self.noun_phrase("person", "person", "animal", plain=plain)

    def place(self) -> Phrase:
        preposition = self.random.choice(["in", "near", "behind"])
        return led_by(preposition, "case", self.noun_phrase("place", plain=True))

    # Verbs

    def tense(self) -> str:
        return self.random.choice(["past", "past", "present"])

    def verb_group(self, kind: str, tense: str, third: bool) -> Phrase:
        """A verb, the last word, with its auxiliaries."""
        lemma = self.any(kind)
        if tense == "base" or self.maybe(0.75):
            verb = verb_form(lemma, tense, third)
            return [*(adverb(verb, self.any("frequency")) if self.maybe(0.1) else []), verb]
        verb = verb_form(lemma, "base", third)
        if self.maybe(0.5):
            return [*under(verb, "aux", word_phrase("will", "AUX", "MD", "VerbForm=Fin")), verb]
        negation = under(verb, "advmod", word_phrase("not", "PART", "RB", "Polarity=Neg"))
        return [*under(verb, "aux", [verb_form("do", tense, third)]), *negation, verb]

    def end(self, verb: ToyWord) -> Phrase:
        """When or how, if anything."""
        dice = self.random.random()
        if dice < 0.12:
            day = word_phrase(self.any("day"), "PROPN", "NNP", "Number=Sing")
            return under(verb, "obl", led_by("on", "case", day))
        if dice < 0.4:
            kinds = ["manner", "past-time"] if verb.xpos == "VBD" else ["manner"]
            return adverb(verb, self.any(*kinds))
        return []

    def predicate(self, tense: str, third: bool, *, plain: bool = False) -> Phrase:
        acting = self.acting if plain else self.acting_at_length
        rules = [self.doing, acting, acting, self.using, self.using, self.giving, self.putting]
        return self.random.choice(rules if tense == "base" else [*rules, self.being])(tense, third)

    def doing(self, tense: str, third: bool) -> Phrase:
        *before, verb = self.verb_group("alone", tense, third)
        place = under(verb, "obl", self.place()) if self.maybe(0.3) else []
        return [*before, verb, *place, *self.end(verb)]

    def acting(self, tense: str, third: bool, *, plain: bool = True) -> Phrase:
        living = self.maybe(0.5)
        *before, verb = self.verb_group("on-living" if living else "on-thing", tense, third)
        patient = self.someone(plain=plain) if living else self.noun_phrase("thing", plain=plain)
        closed = patient[-1] is not top_of(patient)  # what came next could belong to the object as well
        return [*before, verb, *under(verb, "obj", patient), *([] if closed else self.end(verb))]

    def acting_at_length(self, tense: str, third: bool) -> Phrase:
        return self.acting(tense, third, plain=False)

    def using(self, tense: str, third: bool) -> Phrase:
        """With a tool, which the verb uses or the object has."""
        living = self.maybe(0.5)
        *before, verb = self.verb_group("on-living" if living else "on-thing", tense, third)
        patient = self.noun_phrase(*(["person", "animal"] if living else ["thing"]), plain=True)
        useful = TOOLS.get(verb.lemma, [])
        tool = self.random.choice(useful) if useful and self.maybe(0.6) else self.any("tool")
        user, relation = (verb, "obl") if tool in useful else (top_of(patient), "nmod")
        with_tool = led_by("with", "case", self.noun_phrase("tool", noun=tool, plain=True))
        with_tool = under(user, relation, with_tool)
        return [*before, verb, *under(verb, "obj", patient), *with_tool]

    def giving(self, tense: str, third: bool) -> Phrase:
        *before, verb = self.verb_group("giving", tense, third)
        gift = under(verb, "obj", self.noun_phrase("thing", plain=True))
        receiver = self.someone(plain=True)
        if self.maybe(0.5):
            both = under(verb, "iobj", receiver) + gift
        else:
            both = gift + under(verb, "obl", led_by("to", "case", receiver))
        return [*before, verb, *both, *self.end(verb)]

    def putting(self, tense: str, third: bool) -> Phrase:
        *before, verb = self.verb_group("putting", tense, third)
        thing = under(verb, "obj", self.noun_phrase("thing", plain=True))
        return [*before, verb, *thing, *under(verb, "obl", self.place()), *self.end(verb)]

    def being(self, tense: str, third: bool) -> Phrase:
        feeling = self.feeling()
        return under(top_of(feeling), "cop", [verb_form("be", tense, third)]) + feeling

    def feeling(self) -> Phrase:
        top = word_phrase(self.any("feeling"), "ADJ", "JJ", "Degree=Pos")
        return (adverb(top[0], self.any("degree")) if self.maybe(0.3) else []) + top

    # Clauses

    def clause(self, *, plain: bool = False) -> Phrase:
        subject, tense, several = self.someone(subject=True, plain=plain), self.tense(), self.maybe(0.12)
        third = is_third_singular(subject)
        first = self.predicate(tense, third, plain=plain or several)
        clause = under(top_of(first), "nsubj", subject) + first
        if several:
            second = led_by("and", "cc", self.predicate(tense, third, plain=True))
            clause += under(top_of(clause), "conj", second)
        return clause

    def clause_without_object(self, kind: str) -> Phrase:
        subject = self.someone(subject=True, plain=True)
        group = self.verb_group(kind, self.tense(), is_third_singular(subject))
        return under(group[-1], "nsubj", subject) + group

    def relative_clause(self, noun: Phrase, kind: str) -> Phrase:
        form = self.random.choice(["that", "who" if kind == "person" else "which"])
        pronoun = word_phrase(form, "PRON", "WP" if form == "who" else "WDT", "PronType=Rel")
        if kind != "thing" and self.maybe(0.5):
            clause = self.predicate(self.tense(), is_third_singular(noun), plain=True)
            relation = "nsubj"
        else:
            clause = self.clause_without_object("on-thing" if kind == "thing" else "on-living")
            relation = "obj"
        return under(top_of(noun), "acl:relcl", under(top_of(clause), relation, pronoun) + clause)

    def report(self) -> Phrase:
        subject, said = self.someone(subject=True), self.clause()
        *before, verb = self.verb_group("saying", self.tense(), is_third_singular(subject))
        said = led_by("that", "mark", said) if self.maybe(0.6) else said
        return [*under(verb, "nsubj", subject), *before, verb, *under(verb, "ccomp", said)]

    def compound(self) -> Phrase:
        first, second = self.clause(plain=True), self.clause()
        comma = under(top_of(second), "punct", word_phrase(",", "PUNCT", ","))
        if self.maybe(0.5):
            first = led_by(self.random.choice(["when", "because", "if"]), "mark", first)
            return [*under(top_of(second), "advcl", first), *comma, *second]
        second = comma + led_by(self.random.choice(["and", "but"]), "cc", second)
        return first + under(top_of(first), "conj", second)

    def extraposition(self) -> Phrase:
        """As in "a woman arrived yesterday who knows Ada", with an arc over the main verb."""
        subject = self.noun_phrase("person", plain=True, new=True)
        verb = verb_form(self.any("alone"), "past", third=True)
        late = self.relative_clause(subject, "person")
        return [*under(verb, "nsubj", subject), verb, *adverb(verb, self.any("past-time")), *late]

    def question(self) -> Phrase:
        subject = self.someone(subject=True, plain=True)
        third, be = is_third_singular(subject), self.maybe(0.3)
        inner = self.feeling() if be else self.predicate("base", third)
        auxiliary = [verb_form("be" if be else "do", self.tense(), third)]
        top = top_of(inner)
        return [*under(top, "cop" if be else "aux", auxiliary), *under(top, "nsubj", subject), *inner]

    def object_question(self) -> Phrase:
        """As in "what did Ada see" or, with an arc over the main verb, "what did Ada say that Ben saw"."""
        subject, far, thing = self.someone(subject=True, plain=True), self.maybe(0.4), self.maybe(0.6)
        third, kind = is_third_singular(subject), "on-thing" if thing else "on-living"
        verb = verb_form(self.any("saying" if far else kind), "base", third)
        asked = word_phrase("what" if thing else "who", "PRON", "WP", "PronType=Int")
        if thing and self.maybe(0.5):
            asked = word_phrase(self.any("thing"), "NOUN", "NN", "Number=Sing")
            asked = under(asked[0], "det", word_phrase("which", "DET", "WDT", "PronType=Int")) + asked
        said: Phrase = []
        if far:
            said = self.clause_without_object(kind)
            asked = under(top_of(said), "obj", asked)
            said = under(verb, "ccomp", led_by("that", "mark", said) if self.maybe(0.5) else said)
        else:
            asked = under(verb, "obj", asked)
        do = under(verb, "aux", [verb_form("do", self.tense(), third)])
        return [*asked, *do, *under(verb, "nsubj", subject), verb, *said]

    def sentence(self) -> Phrase:
        dice = self.random.random()
        if dice < 0.25:
            phrase, mark = self.question() if dice < 0.12 else self.object_question(), "?"
        else:
            rules = [self.clause] * 9 + [self.report] * 2 + [self.compound] * 3 + [self.extraposition]
            phrase, mark = self.random.choice(rules)(), "."
        if self.maybe(0.15):  # as in a hasty message
            return phrase
        phrase[0].form = phrase[0].form[0].upper() + phrase[0].form[1:]
        return phrase + under(top_of(phrase), "punct", word_phrase(mark, "PUNCT", "."))


def generate(count: int, *, seed: int = 1) -> list[Sentence]:
    """This many sentences with their trees, the same ones for the same seed."""
    speaker = _Speaker(seed)
    sentences: list[Sentence] = []
    while len(sentences) < count:
        words = speaker.sentence()
        if SHORTEST <= len(words) <= LONGEST:
            sentences.append(_sentence(words, f"toy-{seed}-{len(sentences) + 1}"))
    return sentences


def _sentence(words: Phrase, name: str) -> Sentence:
    number: dict[ToyWord | None, int] = {word: i for i, word in enumerate([None, *words])}
    rows, text = [], ""
    for word, following in zip(words, [*words[1:], None], strict=True):
        joined = following is not None and following.xpos in (".", ",", "POS")
        columns = [word.form, word.lemma, word.upos, word.xpos, word.feats]
        tree = [str(number[word.head]), word.relation]
        rows.append([str(number[word]), *columns, *tree, "_", "SpaceAfter=No" if joined else "_"])
        text += word.form + ("" if joined or following is None else " ")
    return Sentence(rows, [(0, f"# sent_id = {name}"), (0, f"# text = {text}")])
