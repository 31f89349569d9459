"""Compiled kernels or plain numpy: when a process changes over, and the process that it starts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from biatt.errors import ConfigError
from biatt.machine import kernel_choice
from biatt.machine.kernel_choice import COMPILING, LOADING, PATIENCE, POLL, Choice, deferred
from biatt.machine.kernel_files import list_path
from biatt.parsing.scorer import Ensemble
from builders import TREEBANK, random_parser, random_pipeline
from ways import assert_as_good, on_the


class Machine:
    """What a choice asks of the world: is there machine code, can a process compile it, what time is it?"""

    def __init__(self, *, complete: bool, background: bool) -> None:
        self.complete, self.background, self.now, self.started = complete, background, 100.0, 0
        self.failed = False

    def start(self) -> bool:
        self.started += 1
        return self.background


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """With nothing compiled; a process in the background will do it."""
    machine = Machine(complete=False, background=True)
    monkeypatch.setattr(kernel_choice, "is_complete", lambda: machine.complete)
    monkeypatch.setattr(kernel_choice, "has_failed", lambda: machine.failed)
    monkeypatch.setattr(kernel_choice, "start_in_background", machine.start)
    monkeypatch.setattr(kernel_choice.time, "monotonic", lambda: machine.now)
    return machine


def test_little_work_never_loads_kernels(machine: Machine) -> None:
    machine.complete = True
    choice = Choice("auto")
    assert not any(choice.add(LOADING / 200) for _ in range(100))
    assert machine.started == 0  # all is compiled


def test_kernels_on_disk_are_loaded_when_the_work_pays_for_it(machine: Machine) -> None:
    machine.complete = True
    choice = Choice("auto")
    assert [choice.add(0.3 * LOADING) for _ in range(5)] == [False, False, False, True, True]


def test_one_process_is_started_and_its_end_is_noticed(machine: Machine) -> None:
    choice = Choice("auto")
    assert not choice.add(2 * LOADING)
    machine.complete = True
    assert not choice.add(LOADING)  # the disk is looked at once in a while
    machine.now += 2 * POLL
    assert choice.add(LOADING)
    assert machine.started == 1


def test_where_nothing_can_be_kept_a_process_compiles_when_the_work_pays_for_it(machine: Machine) -> None:
    machine.background = False
    choice = Choice("auto")
    assert not choice.add(0.9 * COMPILING)
    assert choice.add(0.2 * COMPILING)


def test_a_background_process_that_never_ends_is_not_waited_for_without_end(machine: Machine) -> None:
    choice = Choice("auto")
    assert not choice.add(2 * COMPILING)
    assert choice.add(PATIENCE)


def test_where_the_background_process_fails_a_process_compiles_when_the_work_pays_for_it(
    machine: Machine,
) -> None:
    choice = Choice("auto")
    assert not choice.add(0.9 * COMPILING)
    machine.failed = True
    machine.now += 2 * POLL
    assert not choice.add(0.05 * COMPILING)
    assert choice.add(0.1 * COMPILING)


def test_settings_override_the_choice(machine: Machine) -> None:
    assert Choice("compiled").add(0.0)
    assert not Choice("plain").add(10 * PATIENCE)
    assert machine.started == 0


def test_unknown_setting_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIATT_KERNELS", "fast")
    monkeypatch.setattr(kernel_choice, "_choice", None)
    with pytest.raises(ConfigError, match="BIATT_KERNELS must be auto, compiled, plain, not 'fast'"):
        kernel_choice.use_compiled(0.0)


def test_required_kernels_are_used_from_the_first_call_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_choice, "_choice", Choice("auto"))
    kernel_choice.require_compiled()
    assert kernel_choice.use_compiled(0.0)


@deferred
def doubled(x: float) -> float:
    return x + x


@deferred(plain=lambda x: -1.0)
def quadrupled(x: float) -> float:
    return doubled(doubled(x))


def test_kernel_has_a_plain_twin_and_can_be_called_by_another_kernel() -> None:
    with on_the("plain"):
        assert (doubled(2.0), quadrupled(2.0)) == (4.0, -1.0)
    with on_the("compiled"):
        assert (doubled(2.0), quadrupled(2.0)) == (4.0, 8.0)


class Started(list[list[str]]):
    """Commands of processes that would have been started."""


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    monkeypatch.setenv("BIATT_CACHE_DIR", str(tmp_path / "cache"))
    commands = Started()
    monkeypatch.setattr(kernel_choice, "_start", commands.append)
    return commands


def test_one_process_for_a_cache_folder(started: Started) -> None:
    assert [kernel_choice.start_in_background() for _ in range(5)] == [True] * 5
    assert [command[1:] for command in started] == [["-m", "biatt.parsing.warm_up"]]


def test_process_that_is_not_done_after_long_is_taken_for_dead(started: Started) -> None:
    kernel_choice.start_in_background()
    path = list_path()
    assert path is not None
    os.utime(path.with_suffix(".attempt"), (1e9, 1e9))
    assert kernel_choice.start_in_background()
    assert len(started) == 2


def test_nothing_is_started_for_a_while_after_a_process_could_not_keep_its_code(started: Started) -> None:
    assert kernel_choice.start_in_background()
    assert not kernel_choice.has_failed()
    kernel_choice.note_failure()
    assert kernel_choice.has_failed()
    assert not kernel_choice.start_in_background()
    path = list_path()
    assert path is not None
    os.utime(path.with_suffix(".failure"), (1e9, 1e9))
    assert kernel_choice.start_in_background()
    assert len(started) == 2
    kernel_choice.note_success()
    assert list(path.parent.iterdir()) == []


def test_nothing_is_started_where_nothing_can_be_kept(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()  # in the place of a folder: this stops root, too
    monkeypatch.setenv("BIATT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert not kernel_choice.start_in_background()
    monkeypatch.setattr(kernel_choice.sys, "executable", "")
    monkeypatch.setenv("BIATT_CACHE_DIR", str(tmp_path / "cache"))
    assert not kernel_choice.start_in_background()
    assert started == []


def test_process_that_cannot_be_started_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **options: object) -> None:
        raise PermissionError

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setenv("BIATT_CACHE_DIR", str(tmp_path / "cache"))
    assert not kernel_choice.start_in_background()


@pytest.mark.parametrize(
    "variant", [{}, {"layers": 2, "query_input": "memory", "pair_hidden": 5}, {"feedback": False}], ids=str
)
def test_both_ways_choose_the_same_trees_up_to_rounding(variant: dict[str, object]) -> None:
    parser = random_parser(variant, deviation=0.3)
    sentences = TREEBANK[:20]
    with on_the("compiled"):
        expected = list(parser.parse(sentences, confidence=True))
    with on_the("plain"):
        found = list(parser.parse(sentences, confidence=True))
    for one, other in zip(found, expected, strict=True):
        assert_as_good(one, other)


def test_whoever_expects_much_work_loads_kernels_that_are_on_disk(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_choice, "_choice", Choice("auto"))
    assert not kernel_choice.expect_much_work()
    machine.complete = True
    machine.now += 2 * POLL
    assert kernel_choice.expect_much_work()


def test_packed_weights_are_made_for_all_networks_of_a_parser() -> None:
    parser = random_pipeline()
    parser.add(random_pipeline(seed=1))
    assert parser.tokeniser is not None
    parser.pack()
    ensemble = parser.network
    assert isinstance(ensemble, Ensemble)
    networks = [*ensemble.networks, parser.tokeniser.network]
    assert len(networks) == 3
    assert all(network._packed is not None for network in networks)  # type: ignore[attr-defined]
