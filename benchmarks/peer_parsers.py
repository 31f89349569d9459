"""Time one peer, in the peers' environment: peer_parsers.py PEER TRAIN DEV REPEATS SECONDS, JSON on stdout.

Knows nothing of biatt. Each peer gives functions that parse all dev sentences from gold tokens that are
already in memory (SuPar's as tensors already), with one thread.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from statistics import median
from typing import Any

Paths = dict[str, Callable[[], object]]
Rows = list[list[str]]

UDPIPE_TRAINING_SENTENCES = 1000  # enough for a working model
LABEL_SENTENCES = 3000  # that show a peer without training nearly all words, tags and relations
BATCH_TOKENS = 5000  # SuPar's and Stanza's own default


def udpipe(train: str, dev: str) -> Paths:
    from udpipe_models import read_sentences, train_model
    from ufal.udpipe import ProcessingError

    options = "iterations=1;embedding_upostag=20;embedding_feats=20;embedding_form=50;embedding_deprel=20"
    model, _ = train_model(read_sentences(train, UDPIPE_TRAINING_SENTENCES), [], parser=options)
    sentences = read_sentences(dev)

    def parse(beam: int) -> Callable[[], object]:
        def run() -> None:
            problem = ProcessingError()
            for sentence in sentences:
                if not model.parse(sentence, f"beam_search={beam}", problem):
                    raise RuntimeError(problem.message)

        return run

    return {"udpipe_beam_5": parse(5), "udpipe_beam_1": parse(1)}


def spacy(train: str, dev: str) -> Paths:
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    shared = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": shared}})
    transitions = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": shared,
    }
    nlp.add_pipe("parser", config={"model": transitions})
    examples = []
    for rows in list(sentences_of(train))[:LABEL_SENTENCES]:
        heads = [int(row[6]) - 1 if row[6] != "0" else i for i, row in enumerate(rows)]
        words, tags, relations = ([row[k] for row in rows] for k in (1, 4, 7))
        gold = Doc(nlp.vocab, words=words, tags=tags, heads=heads, deps=relations)
        examples.append(Example(Doc(nlp.vocab, words=words), gold))
    nlp.initialize(lambda: examples)
    dev_forms = [[row[1] for row in rows] for rows in sentences_of(dev)]

    def run() -> None:
        for _ in nlp.pipe(Doc(nlp.vocab, words=forms) for forms in dev_forms):
            pass

    return {"spacy": run}


def supar(train: str, dev: str) -> Paths:
    import torch
    from supar.models.dep import BiaffineDependencyModel

    torch.set_num_threads(1)
    pad, root, longest = 0, 1, 20  # 20: SuPar's limit of characters
    ids: list[dict[str, int]] = [{}, {}, {}]  # words, tags, characters; 0 pads, 1 is ROOT

    def number(kind: int, symbol: str) -> int:
        return ids[kind].setdefault(symbol, len(ids[kind]) + 2)

    relations = {row[7] for rows in sentences_of(train) for row in rows}
    for rows in sentences_of(train):
        for row in rows:
            number(0, row[1])
            number(1, row[3])
    sentences = []
    for rows in sorted(sentences_of(dev), key=len):
        characters = [[number(2, c) for c in row[1][:longest]] for row in rows]
        sentences.append(
            (
                torch.tensor([root] + [number(0, row[1]) for row in rows]),
                torch.tensor([root] + [number(1, row[3]) for row in rows]),
                torch.tensor([line + [pad] * (longest - len(line)) for line in ([root], *characters)]),
            )
        )
    batches: list[list[Any]] = [[]]
    for sentence in sentences:
        if (len(batches[-1]) + 1) * len(sentence[0]) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(sentence)
    padded = [
        [torch.nn.utils.rnn.pad_sequence(list(part), batch_first=True) for part in zip(*batch, strict=True)]
        for batch in batches
    ]
    sizes = [len(kind) + 2 for kind in ids]
    model = BiaffineDependencyModel(
        n_words=sizes[0], n_rels=len(relations), n_tags=sizes[1], n_chars=sizes[2], feat=["tag", "char"]
    ).eval()

    def parse(tree: bool) -> Callable[[], object]:
        @torch.no_grad()
        def run() -> None:
            for words, tags, characters in padded:
                mask = words.ne(pad)
                mask[:, 0] = False
                model.decode(*model(words, [characters, tags]), mask, tree)

        return run

    return {"supar_argmax": parse(False), "supar_mst": parse(True)}


def stanza(train: str, dev: str) -> Paths:
    import torch
    from stanza.models.depparse.data import DataLoader
    from stanza.models.depparse.trainer import GraphTrainer
    from stanza.models.parser import parse_args
    from stanza.utils.conll import CoNLL

    torch.set_num_threads(1)
    args = parse_args(["--shorthand", "en_ewt", "--no_pretrain", "--batch_size", str(BATCH_TOKENS)])
    args = args if isinstance(args, dict) else vars(args)
    part = "\n\n".join("\n".join("\t".join(row) for row in rows) for rows in sentences_of(train)) + "\n\n"
    known = DataLoader(CoNLL.conll2doc(input_str=part), BATCH_TOKENS, args, None, evaluation=False)
    trainer = GraphTrainer(args=args, vocab=known.vocab, device="cpu", build_optimizer=False)
    doc = CoNLL.conll2doc(dev)

    def run() -> None:
        for batch in DataLoader(
            doc, BATCH_TOKENS, args, None, vocab=known.vocab, evaluation=True, sort_during_eval=True
        ):
            trainer.predict(batch)

    return {"stanza": run}


PEERS = {
    "ufal.udpipe": udpipe,
    "spacy": spacy,
    "supar": supar,
    "stanza": stanza,
}


def sentences_of(path: str) -> Iterator[Rows]:
    """The words of each sentence of a CoNLL-U file; multiword tokens and empty nodes are left out."""
    with open(path, encoding="utf-8") as file:
        for block in file.read().split("\n\n"):
            rows = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
            if rows:
                yield [row for row in rows if row[0].isdigit()]


def main(peer: str, train: str, dev: str, repeats: str, seconds: str) -> None:
    paths = PEERS[peer](train, dev)
    words = sum(map(len, sentences_of(dev)))
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in paths}
    # The first round warms up, and counts only if there was no time for another.
    deadline = time.perf_counter() + float(seconds)
    for _ in range(int(repeats) + 1):
        for name, run in paths.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
        if time.perf_counter() > deadline:
            break
    results = {}
    for name, rounds in times.items():
        wall, cpu = (median(column) for column in zip(*(rounds[1:] or rounds), strict=True))
        results[name] = {
            "version": version(peer),
            "words_per_second": words / wall,
            "words_per_cpu_second": words / cpu,
            "repeats": len(rounds[1:]) or 1,
        }
    print("\n" + json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
