from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

from biatt.service.metrics import Metrics


def test_the_histogram_is_cumulative() -> None:
    metrics = Metrics(lambda: 3)
    for seconds in (0.001, 0.02, 0.02, 99.0):
        metrics.add_request("/parse", "POST", 200, seconds)
    lines = metrics.text().splitlines()
    assert 'biatt_request_seconds_bucket{le="0.005"} 1' in lines
    assert 'biatt_request_seconds_bucket{le="0.025"} 3' in lines
    assert 'biatt_request_seconds_bucket{le="30.0"} 3' in lines
    assert 'biatt_request_seconds_bucket{le="+Inf"} 4' in lines
    assert "biatt_request_seconds_count 4" in lines
    assert "biatt_queue_requests 3" in lines
    assert 'biatt_requests_total{path="/parse",method="POST",status="200"} 4' in lines


def test_names_of_models_are_escaped() -> None:
    metrics = Metrics(lambda: 0)
    metrics.add_parsed('a"b\\c\nd', sentences=1, words=2)
    assert r'biatt_words_total{model="a\"b\\c\nd"} 2' in metrics.text().splitlines()
