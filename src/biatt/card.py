"""The model card: what a model folder's README.md says of the model."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from biatt.config import Config
from biatt.vocabulary import Vocabulary


def model_card(
    config: Config, vocabulary: Vocabulary, about: Mapping[str, Any], best: Mapping[str, Any]
) -> str:
    """Markdown with data, scores, licence and command; deterministic but for the versions it names."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("biatt", "torch", "numpy"))
    lines = [
        "# A biatt dependency parser",
        "",
        "| | |",
        "|---|---|",
        f"| training data | {', '.join(about['train'])} |",
        f"| chosen by | {about['dev']} |",
        f"| word vectors | {about['embeddings'] or 'none'} |",
        f"| embedded columns | {', '.join(vocabulary.symbols)} |",
        f"| relations | {len(vocabulary.relations)} |",
        f"| hidden size | {config.model.hidden} |",
        f"| dev UAS / LAS, MST | {100 * best['dev_uas']:.2f} / {100 * best['dev_las']:.2f} |",
        f"| best epoch | {best['epoch']} |",
        f"| seed, threads | {about['seed']}, {about['threads']} |",
        f"| licence | {about['licence']} |",
        f"| command | `{about['command'] or 'biatt.train(…)'}` |",
        f"| made with | {versions}, Python {platform.python_version()} |",
        "",
        "The licence of the training data may bind the model; this card only repeats what training was told.",
    ]
    return "\n".join(lines) + "\n"
