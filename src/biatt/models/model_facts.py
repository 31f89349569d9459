"""What a model says about itself in its card, without loading it."""

from __future__ import annotations

from typing import Any

from biatt.models.card_table import table_rows
from biatt.models.languages import LANGUAGES
from biatt.models.model_folder import CARD, LARGEST_CARD
from biatt.models.named_models import NamedModel


def model_facts(model: NamedModel) -> dict[str, Any]:
    """The facts about a model that `biatt models` lists, as JSON can hold them; None if nothing is said."""
    rows, size = {}, None
    if model.folder is not None:
        card = model.folder / CARD
        if card.is_file() and card.stat().st_size <= LARGEST_CARD:
            rows = table_rows(card.read_text(encoding="utf-8", errors="replace"))
        size = sum(path.stat().st_size for path in model.folder.rglob("*") if path.is_file())
    dev = rows.get("dev UAS / LAS, MST")
    return {
        "name": model.name,
        "language": rows.get("language") or LANGUAGES.get(model.name.partition("-")[0]),
        "treebank": rows.get("treebank") or rows.get("training data"),
        "licence": rows.get("licence"),
        "scores": rows.get("scores") or (f"dev UAS / LAS: {dev}" if dev else None),
        "bytes": size,
        "package": model.package,
        "folder": None if model.folder is None else str(model.folder),
        "problem": model.problem or (None if model.folder else f"The package {model.package} has no model."),
    }
