"""The model card: what a model folder's README.md says of the model."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from biatt import __version__
from biatt.config import Config
from biatt.encoding.vocabulary import Vocabulary


def model_card(
    config: Config, vocabulary: Vocabulary, about: Mapping[str, Any], best: Mapping[str, Any]
) -> str:
    """Markdown with data, scores, licence and command; deterministic but for the versions it names."""
    versions = f"biatt {__version__}, torch {version('torch')}, numpy {version('numpy')}"
    rows = {
        "training data": ", ".join(about["train"]),
        "chosen by": about["dev"],
        "word vectors": about["embeddings"] or "none",
        "embedded columns": ", ".join(vocabulary.symbols),
        "relations": len(vocabulary.relations),
        "hidden size": config.model.hidden,
        "dev UAS / LAS, MST": f"{100 * best['dev_uas']:.2f} / {100 * best['dev_las']:.2f}",
        "best epoch": best["epoch"],
        **{
            f"{name}, accuracy on dev, labels of the training data": ", ".join(
                f"{kind} {100 * share:.2f}" for kind, share in shares.items()
            )
            for name, shares in about.get("text_models", {}).items()
        },
        **({"members of the ensemble": about["members"]} if "members" in about else {}),
        "seed, threads": f"{about['seed']}, {about['threads']}",
        "licence": about["licence"],
        "command": f"`{about['command'] or 'biatt.train(…)'}`",
        "made with": f"{versions}, Python {platform.python_version()}",
    }
    lines = [
        "# A biatt dependency parser",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {_cell(value)} |" for name, value in rows.items()),
        "",
        "The licence of the training data may bind the model; this card only repeats what training was told.",
    ]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    """What a user wrote must not end a cell or a row."""
    return str(value).replace("|", "\\|").replace("\n", " ")
