"""The measurements, one function for each section of the results."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import limits
import numpy as np
import torch
from timing import interleaved, ratio, throughput
from workload import Workload, untrained

from biatt import decode
from biatt.data.conll import read, write
from biatt.data.sentence import Sentence
from biatt.encoding.batches import Batch, by_length, collate, shuffled
from biatt.machine.threads import run
from biatt.network.autograd import FUSED, in_threads
from biatt.network.losses import log_likelihood
from biatt.network.model import BiAtt
from biatt.network.operations import PLAIN
from biatt.parser import Parser
from biatt.parsing.parts import WINDOW_SENTENCES
from biatt.parsing.scorer import BATCH_WORDS
from biatt.presets import PRESETS
from biatt.training.optimiser import CompiledAdam

Results = dict[str, Any]

TYPICAL, LONG = 25, 100  # words of a sentence where the two paths are compared
RUN_BIATT = [sys.executable, "-c", "from biatt.cli import main; main()"]

# Started between us and the process to be measured: the peak that Linux reports of a process includes what
# its parent held when it was started, and this parent is small.
REPORT_CHILD_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def parsing(work: Workload) -> tuple[Results, Results]:
    """File to file on both paths, the parts of the fused one, and the machine's limit beside them."""
    out = work.folder / "parsed.conllu"
    scores = [
        found
        for start in range(0, len(work.sentences), WINDOW_SENTENCES)
        for found in work.fused.scores(work.sentences[start : start + WINDOW_SENTENCES])
    ]
    agreements = [found.agreement for found in scores]
    parsed = list(work.fused.parse(work.sentences))

    def file_to_file(parser: Parser, decoder: decode.Decoder) -> Callable[[], object]:
        return lambda: write(parser.parse(read(work.dev), decoder=decoder), out)

    def decoding(decoder: decode.Decoder) -> Callable[[], object]:
        return lambda: [decode.heads(agreement, decoder=decoder) for agreement in agreements]

    config, relations = work.fused.config.model, len(work.fused.vocabulary.relations)
    large, recurrent = limits.products(
        config, relations, batch_words=BATCH_WORDS, sentences=BATCH_WORDS // TYPICAL
    )
    rounds = interleaved(
        {
            "fused": file_to_file(work.fused, "mst"),
            "argmax": file_to_file(work.fused, "argmax"),
            "torch": file_to_file(work.torch, "mst"),
            "reading": lambda: deque(read(work.dev), maxlen=0),
            "decoding": decoding("mst"),
            "decoding_argmax": decoding("argmax"),
            "writing": lambda: write(parsed, out),
            **{product.name: product.run for product in (*large, recurrent)},
        },
        repeats=work.repeats,
    )
    parts = ("reading", "decoding", "writing")
    shares = {name: 100 * ratio(rounds[name], rounds["fused"]) for name in parts}
    seconds = {name: median(rounds[name].seconds) for name in rounds}
    results: Results = {
        "words": work.words,
        "sentences": len(work.sentences),
        **{name: throughput(rounds[name], work.words) for name in ("fused", "argmax", "torch")},
        "fused_over_torch": ratio(rounds["torch"], rounds["fused"]),
        "share_percent": {**shares, "encoding_and_network": 100 - sum(shares.values())},
        "mst_over_argmax_percent": {
            "file_to_file": 100 * (ratio(rounds["fused"], rounds["argmax"]) - 1),
            "decoders_alone": 100 * (seconds["decoding"] - seconds["decoding_argmax"]) / seconds["argmax"],
        },
    }

    found = limits.operations(config, relations, map(len, work.sentences))
    rates = {product.name: product.operations / seconds[product.name] for product in (*large, recurrent)}
    fastest = max(rates[product.name] for product in large)
    # seconds a word with the recurrent products at the rate of their own small shape
    by_shape = (found.total - found.recurrent) / fastest + found.recurrent / rates[recurrent.name]
    speed = results["fused"]["words_per_second"]
    limit = {
        "flops_per_word": {**found._asdict(), "total": found.total},
        "gflops_per_second": {name: rate / 1e9 for name, rate in rates.items()},
        "words_per_second": fastest / found.total,
        "fused_share_percent": 100 * speed * found.total / fastest,
        "words_per_second_by_shape": 1 / by_shape,
        "fused_share_percent_by_shape": 100 * speed * by_shape,
    }
    return results, limit


def agreement(work: Workload) -> Results:
    """Whether the same weights give the same trees on both paths."""
    both = list(zip(*(parser.parse(work.sentences) for parser in (work.fused, work.torch)), strict=True))
    return {
        "words": work.words,
        "different_heads": sum(x != y for a, b in both for x, y in zip(a.heads, b.heads, strict=True)),
        "different_relations": sum(
            x != y for a, b in both for x, y in zip(a.deprels, b.deprels, strict=True)
        ),
    }


def training(work: Workload) -> Results:
    """Steps on real batches of the preset's size: forward, backward, Adam."""
    batch_words = work.fused.config.training.batch_words
    batches = _training_batches(work, work.sizes.training_words, batch_words=batch_words)
    words = sum(int(batch.words.sum()) for batch in batches)
    rounds = interleaved(
        {"fused": _steps(work.fused, batches, fused=True), "torch": _steps(work.fused, batches, fused=False)},
        repeats=work.repeats,
    )
    return {
        "words": words,
        "batch_words": batch_words,
        **{name: throughput(rounds[name], words) for name in rounds},
        "fused_over_torch": ratio(rounds["torch"], rounds["fused"]),
    }


def budgets(work: Workload) -> Results:
    """Words/s of the network by the number of words in a batch: what the presets' budgets are chosen by."""
    paths: dict[str, Callable[[], object]] = {}
    for words in work.sizes.parsing_budgets:
        for name, parser in (("fused", work.fused), ("torch", work.torch)):
            paths[f"parsing_{name}_{words}"] = partial(parser.scores, work.sentences, batch_words=words)
    trained = {}
    for words in work.sizes.training_budgets:
        batches = _training_batches(work, work.sizes.training_words, batch_words=words)
        trained[words] = sum(int(batch.words.sum()) for batch in batches)
        paths[f"training_{words}"] = _steps(work.fused, batches, fused=True)
    rounds = interleaved(paths, repeats=work.repeats)
    seconds = {name: median(found.seconds) for name, found in rounds.items()}
    return {
        **{
            f"parsing_{name}": {
                str(words): work.words / seconds[f"parsing_{name}_{words}"]
                for words in work.sizes.parsing_budgets
            }
            for name in ("fused", "torch")
        },
        "training_fused": {
            str(words): count / seconds[f"training_{words}"] for words, count in trained.items()
        },
    }


def sentence_lengths(work: Workload) -> Results:
    """Fused over torch at a typical and at a long sentence."""
    results: Results = {}
    for length in (TYPICAL, LONG):
        sentences = work.random_sentences(length, work.sizes.words)
        encoded = [work.fused.vocabulary.encode(sentence) for sentence in sentences]
        batch_words = work.fused.config.training.batch_words
        batches = [
            collate([encoded[i] for i in indices])
            for indices in by_length([item.words for item in encoded], batch_words=batch_words)
        ]
        rounds = interleaved(
            {
                **_parsing_paths(work, sentences),
                "training_fused": _steps(work.fused, batches, fused=True),
                "training_torch": _steps(work.fused, batches, fused=False),
            },
            repeats=work.repeats,
        )
        words = sum(map(len, sentences))
        results[str(length)] = {
            "parsing": {
                "fused": throughput(rounds["fused"], words),
                "torch": throughput(rounds["torch"], words),
                "fused_over_torch": ratio(rounds["torch"], rounds["fused"]),
            },
            "training": {
                "fused": throughput(rounds["training_fused"], words),
                "torch": throughput(rounds["training_torch"], words),
                "fused_over_torch": ratio(rounds["training_torch"], rounds["training_fused"]),
            },
        }
    return results


def latency(work: Workload) -> Results:
    """One sentence at a time, the model loaded, in milliseconds."""
    sentences = work.random_sentences(TYPICAL, TYPICAL * work.sizes.latency_calls)
    milliseconds: dict[str, list[float]] = {"fused": [], "torch": []}
    for i, sentence in enumerate((sentences[0], *sentences)):
        for name, parser in (("fused", work.fused), ("torch", work.torch)):
            started = time.perf_counter()
            list(parser.parse([sentence]))
            if i > 0:  # the first one warms up
                milliseconds[name].append(1000 * (time.perf_counter() - started))
    return {
        "words": TYPICAL,
        "calls": len(sentences),
        **{
            name: {"median_ms": median(times), "p99_ms": float(np.percentile(times, 99))}
            for name, times in milliseconds.items()
        },
    }


def start_up(work: Workload) -> Results:
    """From nothing to one parsed sentence, in seconds of wall time, beside an import of torch."""
    one = work.folder / "one.conllu"
    write(work.random_sentences(TYPICAL, TYPICAL), one)
    commands = {
        "biatt_parse_seconds": [*RUN_BIATT, "parse", str(one), "--model", str(work.model)],
        "import_torch_seconds": [sys.executable, "-c", "import torch"],
        "python_seconds": [sys.executable, "-c", "pass"],
    }
    rounds = interleaved({name: _runner(command) for name, command in commands.items()}, repeats=work.repeats)
    return {name: median(times.seconds) for name, times in rounds.items()}


def memory(work: Workload) -> Results:
    """Peak resident memory of whole processes, in MiB."""
    long = work.folder / "long.conllu"
    write(work.random_sentences(work.sizes.long_sentence, work.sizes.long_sentence), long)
    return {
        "dev_file_mib": _peak_mib(_parse_command(work, work.dev)),
        "long_sentence_words": work.sizes.long_sentence,
        "long_sentence_mib": _peak_mib(_parse_command(work, long)),
        "import_torch_mib": _peak_mib([sys.executable, "-c", "import torch"]),
    }


def scaling(work: Workload) -> Results:
    """Microseconds a word against the sentence length n, and the line a·n + b through them."""
    lengths = work.sizes.lengths
    per_word: dict[str, list[float]] = {"fused": [], "torch": []}
    for length in lengths:
        sentences = work.random_sentences(length, work.sizes.words)
        words = sum(map(len, sentences))
        for name, rounds in interleaved(_parsing_paths(work, sentences), repeats=work.repeats).items():
            per_word[name].append(1e6 * median(rounds.seconds) / words)
    results: Results = {"lengths": list(lengths)}
    for name, values in per_word.items():
        # Weights of 1/y: each length counts by its relative error.
        a, b = np.polyfit(lengths, values, 1, w=1 / np.array(values))
        results[name] = {"us_per_word": values, "a": float(a), "b": float(b)}
    return results


def presets(work: Workload) -> Results:
    """From file to file with a network of each preset, of random weights; and the cost over `paper`."""
    out = work.folder / "preset.conllu"

    def file_to_file(parser: Parser) -> Callable[[], object]:
        return lambda: write(parser.parse(read(work.dev)), out)

    parsers = {name: untrained(config, work.train, seed=work.seed) for name, config in PRESETS.items()}
    rounds = interleaved(
        {name: file_to_file(parser) for name, parser in parsers.items()}, repeats=work.repeats
    )
    return {
        name: {
            **throughput(rounds[name], work.words),
            "cost_over_paper": ratio(rounds[name], rounds["paper"]),
            "parameters": sum(weight.size for weight in parser.weights.values()),
        }
        for name, parser in parsers.items()
    }


def threads(work: Workload) -> Results:
    """Two threads over one, for a slice of an epoch, also with the preset `best`."""
    best = untrained(PRESETS["best"], work.train, seed=work.seed)
    trained = {
        name: (
            parser,
            _training_batches(
                work, work.sizes.training_words, batch_words=parser.config.training.batch_words, parser=parser
            ),
        )
        for name, parser in (("training", work.fused), ("training_best", best))
    }

    paths: dict[str, Callable[[], object]] = {}
    for count in (1, 2):
        for name, (parser, batches) in trained.items():
            paths[f"{name}_{count}"] = _steps(parser, batches, fused=True, threads=count)
        paths[f"products_{count}"] = _independent_products(work, count)
    rounds = interleaved(paths, repeats=work.repeats)
    words = {name: sum(int(batch.words.sum()) for batch in batches) for name, (_, batches) in trained.items()}
    return {
        task: {
            "words": words[task],
            "words_per_second_1": words[task] / median(rounds[f"{task}_1"].seconds),
            "words_per_second_2": words[task] / median(rounds[f"{task}_2"].seconds),
            "two_over_one": ratio(rounds[f"{task}_1"], rounds[f"{task}_2"]),
        }
        for task in words
    } | {"products": {"two_over_one": ratio(rounds["products_1"], rounds["products_2"])}}


def _independent_products(work: Workload, threads: int) -> Callable[[], object]:
    """Two heaps of matrix products that share nothing, in so many threads: what a second core can give."""
    config, relations = work.fused.config.model, len(work.fused.vocabulary.relations)
    heaps = [limits.products(config, relations, batch_words=BATCH_WORDS, sentences=1)[0][1] for _ in range(2)]
    return lambda: run(lambda product: product.run(), heaps, threads)


def _parsing_paths(work: Workload, sentences: Sequence[Sentence]) -> dict[str, Callable[[], object]]:
    return {
        "fused": lambda: deque(work.fused.parse(sentences), maxlen=0),
        "torch": lambda: deque(work.torch.parse(sentences), maxlen=0),
    }


def _training_batches(
    work: Workload, words: int, *, batch_words: int, parser: Parser | None = None
) -> list[Batch]:
    """Random batches of the training data, as an epoch has them, of so many words."""
    vocabulary = (parser or work.fused).vocabulary
    data = [vocabulary.encode(sentence) for sentence in work.train if len(sentence)]
    picks = shuffled(
        [item.words for item in data],
        batch_words=batch_words,
        generator=np.random.default_rng([work.seed, 1]),
    )
    batches: list[Batch] = []
    for indices in picks:
        if sum(int(batch.words.sum()) for batch in batches) >= words:
            break
        batches.append(collate([data[i] for i in indices]))
    return batches


def _steps(
    parser: Parser, batches: Sequence[Batch], *, fused: bool, threads: int = 1
) -> Callable[[], object]:
    """A function that trains a network of its own, with the parser's weights, on the batches."""
    config, vocabulary = parser.config, parser.vocabulary
    size = {"rows": vocabulary.size, "relations": len(vocabulary.relations)}
    network = BiAtt(config.model, **size, operations=FUSED if fused else PLAIN).train()
    network.load_state_dict({name: torch.tensor(value) for name, value in parser.weights.items()})
    adam = CompiledAdam(dict(network.named_parameters()), config.training, threads=threads)

    def run() -> None:
        with in_threads(threads):
            for batch in batches:
                loss = -log_likelihood(network(batch), batch) / int(batch.words.sum())
                loss.backward()
                adam.step(config.training.rate)

    return run


def _parse_command(work: Workload, file: Path) -> list[str]:
    out = work.folder / "parsed.conllu"
    return [*RUN_BIATT, "parse", str(file), "--model", str(work.model), "--output", str(out)]


def _environment() -> dict[str, str]:
    """One thread for every library; and byte code may be kept, as in an ordinary installation."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}, **one}


def _runner(command: Sequence[str]) -> Callable[[], object]:
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_environment())


def _peak_mib(command: Sequence[str]) -> float:
    done = subprocess.run(
        [sys.executable, "-c", REPORT_CHILD_PEAK, *command],
        check=True,
        stdout=subprocess.PIPE,
        env=_environment(),
    )
    kib = int(done.stdout.split()[-1]) / (1024 if sys.platform == "darwin" else 1)  # there it is bytes
    return kib / 1024
