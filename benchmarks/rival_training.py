"""Train one rival and parse with it, in the peers' environment.

    rival_training.py RIVAL TRAIN DEV TEST OUT EFFORT

Knows nothing of biatt. Writes TEST with the rival's trees to OUT, and what it took as JSON to stdout. Rivals
see gold columns. EFFORT is SuPar's seconds of processor time, or UDPipe's passes over the training data.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import time
from collections import Counter
from importlib.metadata import version
from typing import Any

from peer_parsers import Rows, sentences_of

SEED = 1
UDPIPE_OPTIONS = (
    "embedding_upostag=20;embedding_feats=20;embedding_form=50;embedding_deprel=20;"
    "transition_system=swap;transition_oracle=static_lazy;structured_interval=0;use_gold_tags=1"
)
# SuPar's own settings for its biaffine parser
MIN_FREQUENCY, LETTERS, BATCH_TOKENS = 2, 20, 5000
RATE, BETAS, EPSILON, DECAY, DECAY_STEPS, CLIP = 2e-3, (0.9, 0.9), 1e-12, 0.75, 5000, 5.0
PAD, UNKNOWN, ROOT = 0, 1, 2

Trees = list[tuple[list[int], list[str]]]


def udpipe(train: str, dev: str, test: str, iterations: float) -> tuple[Trees, dict[str, Any]]:
    """UDPipe's transition-based parser, beam 5: form, UPOS and FEATS."""
    from udpipe_models import read_sentences, train_model
    from ufal.udpipe import ProcessingError

    error, options = ProcessingError(), f"iterations={iterations:.0f};{UDPIPE_OPTIONS}"
    if any([row[6] for row in rows].count("0") > 1 for rows in sentences_of(train)):
        options += ";single_root=0"  # it would refuse the treebank
    model, _ = train_model(read_sentences(train), read_sentences(dev), parser=options)
    trees = []
    for sentence in read_sentences(test):
        if not model.parse(sentence, "beam_search=5", error):
            raise RuntimeError(error.message)
        words = [sentence.words[i] for i in range(1, sentence.words.size())]
        trees.append(([word.head for word in words], [word.deprel for word in words]))
    return trees, {"options": options}


def supar(train: str, dev: str, test: str, seconds: float) -> tuple[Trees, dict[str, Any]]:
    """SuPar's biaffine parser of the default size: form, letters, lemma, and all tags as one symbol."""
    import torch
    from supar.models.dep import BiaffineDependencyModel
    from torch.nn.utils.rnn import pad_sequence

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    data = {name: list(sentences_of(path)) for name, path in (("train", train), ("dev", dev), ("test", test))}

    def tag(row: list[str]) -> str:
        return " ".join(row[3:6])

    def numbers(symbols: Any, least: int = 1) -> dict[str, int]:
        kept = sorted(symbol for symbol, count in Counter(symbols).items() if count >= least)
        return {symbol: i + 3 for i, symbol in enumerate(kept)}

    rows = [row for sentence in data["train"] for row in sentence]
    words, lemmas = (numbers((row[k] for row in rows), MIN_FREQUENCY) for k in (1, 2))
    tags = numbers(map(tag, rows))
    letters = numbers(letter for row in rows for letter in row[1])
    relations = sorted({row[7] for row in rows})
    relation_ids = {relation: i for i, relation in enumerate(relations)}

    def tensors(sentence: Rows) -> tuple[Any, ...]:
        spelled = [[letters.get(c, UNKNOWN) for c in row[1][:LETTERS]] for row in sentence]
        columns = [
            torch.tensor([ROOT] + [known.get(symbol, UNKNOWN) for symbol in symbols])
            for known, symbols in (
                (words, [row[1] for row in sentence]),
                (tags, map(tag, sentence)),
                (lemmas, [row[2] for row in sentence]),
            )
        ]
        return (
            *columns,
            torch.tensor([line + [PAD] * (LETTERS - len(line)) for line in ([ROOT], *spelled)]),
            torch.tensor([0] + [int(row[6]) for row in sentence]),
            torch.tensor([0] + [relation_ids.get(row[7], 0) for row in sentence]),
        )

    encoded = {name: [tensors(sentence) for sentence in sentences] for name, sentences in data.items()}

    def batches(name: str) -> list[list[int]]:
        order = sorted(range(len(data[name])), key=lambda i: len(data[name][i]))
        result: list[list[int]] = [[]]
        for i in order:
            if (len(result[-1]) + 1) * (len(data[name][i]) + 1) > BATCH_TOKENS:
                result.append([])
            result[-1].append(i)
        return result

    def forward(name: str, indices: list[int]) -> tuple[Any, ...]:
        parts = zip(*(encoded[name][i] for i in indices), strict=True)
        forms, xpos, lemma, spelled, heads, labels = (pad_sequence(list(p), batch_first=True) for p in parts)
        mask = forms.ne(PAD)
        mask[:, 0] = False
        return *model(forms, [spelled, lemma, xpos]), heads, labels, mask

    @torch.no_grad()
    def parse(name: str, *, tree: bool) -> Trees:
        model.eval()
        found: Trees = [([], [])] * len(data[name])
        for indices in batches(name):
            arcs, labels, _, _, mask = forward(name, indices)
            heads, chosen = model.decode(arcs, labels, mask, tree, False)
            for i, head, label, kept in zip(indices, heads, chosen, mask, strict=True):
                found[i] = head[kept].tolist(), [relations[k] for k in label[kept].tolist()]
        return found

    def las(name: str, trees: Trees) -> float:
        pairs = [
            (int(row[6]) == head and row[7] == relation)
            for sentence, tree in zip(data[name], trees, strict=True)
            for row, head, relation in zip(sentence, *tree, strict=True)
        ]
        return sum(pairs) / len(pairs)

    model = BiaffineDependencyModel(
        n_words=len(words) + 3,
        n_rels=len(relations),
        n_tags=len(tags) + 3,
        n_chars=len(letters) + 3,
        n_lemmas=len(lemmas) + 3,
        feat=["char", "lemma", "tag"],
        pad_index=PAD,
        unk_index=UNKNOWN,
    )
    optimiser = torch.optim.Adam(model.parameters(), RATE, BETAS, EPSILON)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, DECAY ** (1 / DECAY_STEPS))
    started, best, best_weights, epochs = time.process_time(), -1.0, model.state_dict(), 0
    shuffle = random.Random(SEED)
    while time.process_time() - started < seconds:
        order = batches("train")
        shuffle.shuffle(order)
        model.train()
        for indices in order:
            arcs, labels, heads, gold, mask = forward("train", indices)
            optimiser.zero_grad()
            model.loss(arcs, labels, heads, gold, mask).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimiser.step()
            schedule.step()
            if time.process_time() - started > seconds:
                break
        epochs += 1
        if (found := las("dev", parse("dev", tree=False))) > best:
            best, best_weights = found, copy.deepcopy(model.state_dict())
        print(f"epoch {epochs}: dev LAS {100 * found:.2f}", file=sys.stderr, flush=True)
    model.load_state_dict(best_weights)
    about = {"epochs": epochs, "parameters": sum(p.numel() for p in model.parameters()), "dev_las": best}
    return parse("test", tree=True), about


RIVALS = {"ufal.udpipe": udpipe, "supar": supar}


def main(rival: str, train: str, dev: str, test: str, out: str, effort: str) -> None:
    started = time.process_time()
    trees, about = RIVALS[rival](train, dev, test, float(effort))
    with open(out, "w", encoding="utf-8") as file:
        for rows, (heads, relations) in zip(sentences_of(test), trees, strict=True):
            for row, head, relation in zip(rows, heads, relations, strict=True):
                file.write("\t".join([*row[:6], str(head), relation, *row[8:]]) + "\n")
            file.write("\n")
    spent = time.process_time() - started
    print("\n" + json.dumps({"version": version(rival), "cpu_seconds": spent, **about}))


if __name__ == "__main__":
    main(*sys.argv[1:])
