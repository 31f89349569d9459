"""The Spark recipe of docs/corpora.md, in Spark's local mode."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import biatt

PAGE = Path(__file__).parents[2] / "docs" / "corpora.md"
TEXTS = {"a1": "The train leaves at nine. We took it.", "a2": "It was late.", "a3": "Why?"}


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of the package")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed")
def test_the_recipe_gives_the_trees_that_one_process_gives(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the recipe needs pyspark, which is not part of the extra `dev`")
    pandas = pytest.importorskip("pandas")
    (recipe,) = re.findall(r"^```python\n(import [^`]*pyspark.*?)^```$", PAGE.read_text(), re.M | re.DOTALL)
    lines = [json.dumps({"id": id, "text": text}) for id, text in TEXTS.items()]
    (tmp_path / "letters.jsonl").write_text("\n".join(lines))
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        [sys.executable, "-c", recipe], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    table = pandas.read_parquet(tmp_path / "spark")
    nlp = biatt.load("en")
    assert dict(zip(table.id, table.conllu, strict=True)) == {
        id: biatt.dumps(nlp(text)) for id, text in TEXTS.items()
    }
