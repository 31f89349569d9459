"""The optimiser beside torch's own Adam, and its rows beside Adams of their own."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from biatt.config import TrainingConfig
from biatt.training.optimiser import BETA1, EPSILON, Adam, CompiledAdam
from examples import examples

NO_CLIP = TrainingConfig(clip=1e9)
KINDS = pytest.mark.parametrize("kind", [Adam, CompiledAdam])


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def torch_adam(parameters: list[nn.Parameter], rate: float) -> torch.optim.Adam:
    return torch.optim.Adam(parameters, lr=rate, betas=(BETA1, NO_CLIP.beta2), eps=EPSILON, foreach=False)


def sparse(rows: list[int], values: Tensor, size: int) -> Tensor:
    return torch.sparse_coo_tensor(
        torch.tensor([rows]), values, (size, values.shape[1]), check_invariants=False
    )


@KINDS
def test_dense_steps_equal_those_of_torch(kind: type[Adam]) -> None:
    shapes = {"P": (4, 3), "bias": (3,), "U": (2, 3, 5)}
    ours = {name: nn.Parameter(random(*shape, seed=1)) for name, shape in shapes.items()}
    theirs = {name: nn.Parameter(parameter.detach().clone()) for name, parameter in ours.items()}
    adam, other = kind(ours, NO_CLIP), torch_adam(list(theirs.values()), 0.01)
    for step in range(20):
        rate = 0.01 / (1 + step // 5)  # the schedule halves it
        other.param_groups[0]["lr"] = rate
        for i, name in enumerate(shapes):
            gradient = random(*shapes[name], seed=100 * step + i) * 10.0 ** (step % 4 - 2)
            ours[name].grad, theirs[name].grad = gradient.clone(), gradient.clone()
        adam.step(rate)
        other.step()
        for name in shapes:
            torch.testing.assert_close(ours[name], theirs[name], rtol=0, atol=1e-6)


@KINDS
def test_a_tuned_encoder_has_its_own_rate(kind: type[Adam]) -> None:
    names = ("P", "encoder.model.weight")
    together, alone = ({name: nn.Parameter(random(4, 3, seed=1)) for name in names} for _ in range(2))
    adam, adams = kind(together, NO_CLIP, threads=2), [torch_adam([alone[name]], 0.01) for name in names]
    for step in range(5):
        for name in names:
            together[name].grad = alone[name].grad = random(4, 3, seed=step)
        rates = 0.01, 0.001 * step
        for optimiser, rate in zip(adams, rates, strict=True):
            optimiser.param_groups[0]["lr"] = rate
            optimiser.step()
        adam.step(*rates)
    for name in names:
        torch.testing.assert_close(together[name], alone[name], rtol=0, atol=1e-6)


@KINDS
@examples(25)
@given(batches=st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=12))
def test_row_moves_like_an_adam_of_its_own(kind: type[Adam], batches: list[list[int]]) -> None:
    """A row that occurs several times in a batch takes one step by the sum of its gradients."""
    start = random(6, 4, seed=0)
    table = nn.Parameter(start.clone())
    adam = kind({"E": table}, NO_CLIP)
    alone = [nn.Parameter(start[row].clone()) for row in range(6)]
    adams = [torch_adam([parameter], 0.01) for parameter in alone]
    for number, rows in enumerate(batches):
        values = random(len(rows), 4, seed=number + 1)
        table.grad = sparse(rows, values, 6)
        adam.step(0.01)
        for row in set(rows):
            alone[row].grad = values[[i for i, other in enumerate(rows) if other == row]].sum(0)
            adams[row].step()
        torch.testing.assert_close(
            table.detach(), torch.stack([p.detach() for p in alone]), rtol=0, atol=1e-6
        )
    touched = [sum(row in rows for rows in batches) for row in range(6)]
    assert adam.moments["E.steps"].tolist() == touched


@KINDS
def test_rows_that_no_batch_holds_stay_as_they_are(kind: type[Adam]) -> None:
    table = nn.Parameter(random(5, 3, seed=0))
    before = table.detach().clone()
    adam = kind({"E": table}, NO_CLIP)
    for step in range(3):
        table.grad = sparse([1, 3], random(2, 3, seed=step), 5)
        adam.step(0.1)
    assert torch.equal(table[[0, 2, 4]], before[[0, 2, 4]])
    assert not torch.isclose(table[[1, 3]], before[[1, 3]]).any()
    for part in ("first", "second", "steps"):
        assert not adam.moments[f"E.{part}"][[0, 2, 4]].any()


@KINDS
def test_embedding_bag_gives_the_gradient_that_rows_take(kind: type[Adam]) -> None:
    """The real layer: a row's step equals the one that its dense gradient would give."""
    bag = nn.EmbeddingBag(6, 2, mode="sum", sparse=True, include_last_offset=True)
    dense = nn.EmbeddingBag(6, 2, mode="sum", include_last_offset=True)
    dense.load_state_dict(bag.state_dict())
    rows, offsets = torch.tensor([1, 4, 1], dtype=torch.int32), torch.tensor([0, 2, 3], dtype=torch.int32)
    for layer in (bag, dense):
        (layer(rows, offsets) ** 2).sum().backward()
    adam, other = kind({"E": bag.weight}, NO_CLIP), torch_adam([dense.weight], 0.01)
    adam.step(0.01)
    other.step()  # at its first step, Adam leaves rows with no gradient where they are
    torch.testing.assert_close(bag.weight, dense.weight, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("clip", "factor"), [(2.5, 0.5), (5.0, 1.0), (50.0, 1.0)])
@KINDS
def test_gradients_are_scaled_to_the_global_norm(clip: float, factor: float, kind: type[Adam]) -> None:
    """The norm of (3, 0; 4 in a row) is 5 over dense and sparse gradients together."""
    weight, table = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(3, 1))
    adam = kind({"P": weight, "E": table}, TrainingConfig(clip=clip))
    weight.grad, table.grad = torch.tensor([3.0, 0.0]), sparse([2, 2], torch.tensor([[1.0], [3.0]]), 3)
    adam.step(0.01)
    torch.testing.assert_close(adam.moments["P.first"], torch.tensor([3.0, 0.0]) * factor * (1 - BETA1))
    torch.testing.assert_close(
        adam.moments["E.first"], torch.tensor([[0.0], [0.0], [4.0]]) * factor * (1 - BETA1)
    )


@KINDS
def test_gradients_are_cleared_and_parameters_without_one_stay(kind: type[Adam]) -> None:
    used, idle = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    adam = kind({"used": used, "idle": idle}, NO_CLIP)
    used.grad = torch.ones(2)
    adam.step(0.1)
    assert used.grad is None
    assert torch.equal(idle, torch.ones(2))
    torch.testing.assert_close(used.detach(), torch.full((2,), 0.9))  # Adam's first step is the rate
    assert adam.moments["idle.steps"].sum() == 0


@KINDS
def test_a_copy_of_the_moments_goes_on_alike(kind: type[Adam]) -> None:
    """What a checkpoint holds is all that the next step needs."""
    weights = [nn.Parameter(random(3, 2, seed=0)) for _ in range(2)]
    adams = [kind({"P": weight}, NO_CLIP) for weight in weights]
    weights[0].grad = random(3, 2, seed=1)
    adams[0].step(0.1)
    with torch.no_grad():
        weights[1].copy_(weights[0])
    for name, moment in adams[0].moments.items():
        adams[1].moments[name].copy_(moment)
    for weight, adam in zip(weights, adams, strict=True):
        weight.grad = random(3, 2, seed=2)
        adam.step(0.1)
    assert torch.equal(*weights)
