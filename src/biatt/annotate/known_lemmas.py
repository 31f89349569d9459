"""Lemmas of the words of a treebank, and the choice of a plausible lemma for other words.

A network chooses a lemma by a rule (`lemmas.py`). It is wrong for irregular words that are rare ("swam"), and
for unknown words it can choose a rule that makes no word ("observed" → "observ"). So a word of the treebank
has a lemma that it has there, and for other words the best rule with a plausible result is taken.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from biatt.annotate import lemmas
from biatt.data.columns import FORM, LEMMA, UPOS
from biatt.data.scores import Floats
from biatt.data.sentence import Sentence
from biatt.encoding.vocabulary import EMPTY

MOST_FORMS = 50_000  # forms that are kept, the most frequent
LEAST_SHARE = 0.3  # of the words with a form that must have a lemma for it to be kept
MARGIN = 4.0  # rules that are tried for a word may score lower than the best rule by this
ENDING = 3  # letters
MOST_CAPITALS = 0.05  # of the lemmas with a tag that may have capitals if all others are in lower case
REMEMBERED_WORDS = 20_000  # forms with a tag whose only lemma is cached
NO_LEMMA = lemmas.constant(EMPTY)  # the rule for words that have no lemma in the treebank

Table = Mapping[str, Mapping[str, Sequence[str]]]  # UPOS → form → lemmas, the most frequent first


class LemmasOfTag:
    """The lemmas of all forms with one UPOS."""

    def __init__(self, forms: Mapping[str, Sequence[str]]) -> None:
        self.lemmas = set(chain.from_iterable(forms.values()))
        self.endings = {lemma[-ENDING:] for lemma in self.lemmas}
        capitals = sum(lemma != lemma.lower() for lemma in self.lemmas)
        self.in_lower_case = capitals <= MOST_CAPITALS * len(self.lemmas)


class KnownLemmas:
    """The lemmas of each form of a treebank, by UPOS."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._only: dict[tuple[str, str], str | None] = {}  # results of `only`
        self._of_tag: dict[str, LemmasOfTag] = {}  # made when an unknown form with the tag comes

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> KnownLemmas:
        """The lemmas of a treebank; a form's rare lemmas are left out."""
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            for row in sentence.rows:
                counts[row[UPOS], row[FORM]][row[LEMMA]] += 1
        frequent = sorted(counts, key=lambda word: (-counts[word].total(), word))[:MOST_FORMS]
        table: dict[str, dict[str, list[str]]] = {}
        for upos, form in sorted(frequent):
            count = counts[upos, form]
            ordered = sorted(count, key=lambda lemma: (-count[lemma], lemma))
            kept = [lemma for lemma in ordered if count[lemma] >= LEAST_SHARE * count.total()]
            table.setdefault(upos, {})[form] = kept or ordered[:1]
        return cls(table)

    def extended(self, words: Iterable[tuple[str, str, str]]) -> KnownLemmas:
        """With further words (form, UPOS, lemma); forms that are known keep their lemmas."""
        table: dict[str, dict[str, Sequence[str]]] = {}
        for form, upos, lemma in words:
            table.setdefault(upos, {}).setdefault(form, [lemma])
        return self.joined(KnownLemmas(table))

    def joined(self, others: KnownLemmas) -> KnownLemmas:
        """With other known lemmas; forms that are known here keep theirs."""
        tags = [*self.table, *(upos for upos in others.table if upos not in self.table)]
        return KnownLemmas(
            {upos: {**others.table.get(upos, {}), **self.table.get(upos, {})} for upos in tags}
        )

    def only(self, form: str, upos: str) -> str | None:
        """The lemma of a known form that has no other; it needs no scores."""
        try:
            return self._only[form, upos]
        except KeyError:
            known = self._known(form, upos)
            if len(self._only) >= REMEMBERED_WORDS:
                self._only.clear()
            lemma = self._only[form, upos] = known[0] if len(known) == 1 else None
            return lemma

    def _known(self, form: str, upos: str) -> Sequence[str]:
        forms = self.table.get(upos)
        return (forms.get(form) or forms.get(form.lower(), ())) if forms else ()

    def choose(self, form: str, upos: str, rules: Sequence[str], scores: Floats, best: int) -> str:
        """The lemma of a word; `scores` are those of the rules, and `best` is the number of the best.

        A known form has its known lemma, and the scores decide between several. For an unknown form, the
        rules that are not much worse than the best are tried: first for a lemma that is known of another
        form, then for one that ends like a known lemma or has the letters of the form.
        """
        known = self._known(form, upos)
        if len(known) == 1:
            return known[0]
        lemma = lemmas.apply(rules[best], form)
        if lemma in known or not self.table.get(upos):
            return lemma
        near = (scores >= scores[best] - MARGIN).nonzero()[0]
        ordered = near[(-scores[near]).argsort(kind="stable")].tolist()
        if known:
            results = (lemmas.apply(rules[number], form) for number in ordered)
            return next((lemma for lemma in results if lemma in known), known[0])
        return self._of_unknown(form, upos, [rules[number] for number in ordered])

    def _of_unknown(self, form: str, upos: str, rules: Sequence[str]) -> str:
        if rules[0] == NO_LEMMA:
            return EMPTY
        if upos not in self._of_tag:
            self._of_tag[upos] = LemmasOfTag(self.table[upos])
        known = self._of_tag[upos]
        candidates = list(_candidates(form, rules, in_lower_case=known.in_lower_case))
        for lemma in candidates:
            if lemma in known.lemmas:
                return lemma
        for lemma in candidates:
            if lemma.lower() == form.lower() or lemma[-ENDING:] in known.endings:
                return lemma
        return form.lower() if known.in_lower_case else form


def _candidates(form: str, rules: Sequence[str], *, in_lower_case: bool) -> Iterator[str]:
    """The results of the rules, without those that are absurd for any form.

    A rule that is a lemma itself ("went" → "go") says nothing about another form, and one letter is no
    lemma of several.
    """
    for rule in rules:
        lemma = lemmas.apply(rule, form)
        if not lemmas.is_constant(rule) and (len(lemma) > 1 or len(form) == 1):
            yield lemma.lower() if in_lower_case else lemma
