"""From the scores of arcs to a dependency tree: spanning trees, projective trees, and plain argmax.

Arc scores come as a matrix (n, n + 1) for n words: row t − 1 is the dependent t, column j the head j, and
column 0 is ROOT. A tree's score is the sum of its arcs' scores. What all decoders have in common:

- The self arc (t, t) is never chosen, and its score is never looked at.
- −inf, or anything below −LIMIT, forbids an arc. Decoders take as few forbidden arcs as they can: none where
  a tree without them exists; where none exists, a tree still comes back. One child of ROOT (`roots="single"`)
  and, in `projective`, that no arcs cross are kept even at the cost of forbidden arcs.
- Equal scores are settled by position, so the same matrix always gives the same tree.
- NaN, +inf, or anything above LIMIT is a ValueError: it is the network that is at fault, not the input.

Work is done in float64, and is exact up to its rounding of the widest range of scores within a row.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from biatt.compiled import compiled
from biatt.options import Decoder as Decoder
from biatt.options import Roots as Roots

Heads = npt.NDArray[np.int32]

NO_ARC = -np.inf
LIMIT = 1e250  # scores stay within ±LIMIT, so that no sum of them overflows


def heads(arc_scores: npt.ArrayLike, *, decoder: Decoder = "mst", roots: Roots = "single") -> Heads:
    """The head (0 … n) of every word, as an array (n,), by the named decoder."""
    if decoder == "mst":
        return mst(arc_scores, roots=roots)
    if decoder == "projective":
        return projective(arc_scores, roots=roots)
    if decoder == "argmax":
        return argmax(arc_scores)
    raise ValueError(f"The decoder is {decoder!r}, but must be 'mst', 'argmax' or 'projective'.")


def argmax(arc_scores: npt.ArrayLike) -> Heads:
    """The best head of every word by itself: may hold cycles, and none or several children of ROOT."""
    _, best = _prepared(arc_scores)
    return best


def mst(arc_scores: npt.ArrayLike, *, roots: Roots = "single") -> Heads:
    """The tree of the highest score, crossing arcs allowed: Chu-Liu-Edmonds in Tarjan's dense form, O(n²)."""
    single = _wants_single(roots)
    scores, best = _prepared(arc_scores)
    return best if _spans(best, single) else _contract(scores, best, single)


def projective(arc_scores: npt.ArrayLike, *, roots: Roots = "single") -> Heads:
    """The tree of the highest score among those without crossing arcs: Eisner's algorithm, O(n³)."""
    single = _wants_single(roots)
    scores, best = _prepared(arc_scores)
    if _spans(best, single) and _is_projective(best):
        return best
    return _eisner(scores, single)


def _wants_single(roots: Roots) -> bool:
    if roots not in ("single", "any"):
        raise ValueError(f"The number of roots is {roots!r}, but must be 'single' or 'any'.")
    return roots == "single"


def _prepared(arc_scores: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], Heads]:
    """A float64 copy of the scores, made finite and relative to each row's best; and each row's best head."""
    # Always a fresh, writable, C-ordered copy: the kernels work in it, and are compiled for one type only.
    scores = np.array(arc_scores, dtype=np.float64, order="C")
    if scores.ndim != 2 or scores.shape[1] != scores.shape[0] + 1:
        raise ValueError(f"Arc scores have the shape {scores.shape}, but must have (n, n + 1) for n words.")
    best = np.empty(len(scores), dtype=np.int32)
    if not _prepare(scores, best):
        row, head = np.argwhere(~(scores < LIMIT))[0]
        raise ValueError(
            f"The score of the arc from head {head} to dependent {row + 1} is {scores[row, head]}, "
            f"but must be −inf or a number below {LIMIT:g}."
        )
    return scores, best


@compiled
def _best(row: npt.NDArray[np.float64], first: int) -> int:
    """The first position of the highest score in row[first:]."""
    top, position = row[first], first
    for u in range(first + 1, len(row)):
        if row[u] > top:
            top, position = row[u], u
    return position


@compiled
def _prepare(scores: npt.NDArray[np.float64], best: Heads) -> bool:
    """Rewrite scores in place and fill best; False if there is a NaN or a score above LIMIT.

    A word takes exactly one head, so a constant added to its row changes no comparison of trees: each row is
    shifted to have its best arc at 0, which keeps small differences when rows differ widely in size.
    """
    n = scores.shape[0]
    faults = 0
    forbidden = -n  # without the self arcs
    for t in range(n):
        scores[t, t + 1] = NO_ARC
        for j in range(n + 1):
            score = scores[t, j]
            faults += not score < LIMIT  # so written, it counts NaN as well
            forbidden += score <= -LIMIT
            scores[t, j] = NO_ARC if score <= -LIMIT else score
    if faults > 0:
        return False
    for t in range(n):
        best[t] = _best(scores[t], 0)
        top = scores[t, best[t]]
        if top == NO_ARC:  # one of them it must be, none better than another
            scores[t] = 0.0
            scores[t, t + 1] = NO_ARC
            continue
        for j in range(n + 1):
            scores[t, j] -= top
    if forbidden > 0:
        _penalise(scores)
    return True


@compiled
def _penalise(scores: npt.NDArray[np.float64]) -> None:
    """Give forbidden arcs, other than self arcs, a score so low that a best tree has as few as it can.

    A finite one, because a tree has to be found also where every tree has forbidden arcs.
    """
    n = scores.shape[0]
    widest = 0.0
    for score in scores.flat:
        if score != NO_ARC:
            widest = max(widest, -score)
    # Trees with as many forbidden arcs differ by n · widest at the most.
    penalty = -2.0 * n * widest if widest > 0 else -1.0
    for t in range(n):
        for j in range(n + 1):
            if j != t + 1 and scores[t, j] == NO_ARC:
                scores[t, j] = penalty


@compiled
def _spans(heads: Heads, single: bool) -> bool:
    """`data.arcs.is_tree`, compiled: `mst` asks it for every sentence. `single`: ROOT has one child."""
    n = len(heads)
    if np.any(heads < 0) or np.any(heads > n) or (single and n > 0 and np.sum(heads == 0) != 1):
        return False
    walk = np.zeros(n + 1, dtype=np.int32)  # the word whose walk towards ROOT came here first
    for t in range(1, n + 1):
        node = t
        while node != 0 and walk[node] == 0:
            walk[node] = t
            node = heads[node - 1]
        if node != 0 and walk[node] == t:
            return False
    return True


@compiled
def _contract(scores: npt.NDArray[np.float64], best: Heads, single: bool) -> Heads:
    """The maximum spanning tree of prepared scores, which are used up, given each row's best head.

    Grow a path backwards along best entering arcs: from a node to its best head, to the best head of that,
    and on. If it reaches ROOT, or a node that does, all of its arcs stand. If it bites its own tail, the
    cycle is contracted to one new node, whose row of entering arcs is

        row[u] = max over members c of  scores[c, u] − score of the arc chosen for c:

    what is lost by breaking the cycle at c. Only rows are merged; columns stay the words they were. A cycle
    of k nodes costs k rows of n + 1 and removes k − 1 nodes; each node scans its row once: O(n²) in all.

    For a single root, ROOT's column is left out of every scan until one node is left. That is what an endless
    penalty on arcs from ROOT would do, but without its rounding (Gabow and Tarjan 1984; Stanojević and
    Cohen 2021).
    """
    n = scores.shape[0]
    # Nodes 1 … n are words, n + 1 … are contracted cycles: at most n − 1, as each removes at least one node.
    parent = np.zeros(2 * n + 1, dtype=np.int32)  # the cycle that a node was contracted into
    source = np.zeros(2 * n + 1, dtype=np.int32)  # the chosen entering arc: its head …
    target = np.zeros(2 * n + 1, dtype=np.int32)  # … and the word within the node that it enters
    chosen = np.zeros(2 * n + 1)  # … and its score
    row_of = np.arange(-1, 2 * n, dtype=np.int32)  # the row of `scores` that holds a node's entering arcs
    entered = np.empty((n, n + 1), dtype=np.int32)  # the word that the arc scores[row, u] enters
    node_of = np.arange(n + 1, dtype=np.int32)  # the outermost node that a word is in
    grounded = np.zeros(2 * n + 1, dtype=np.bool_)  # whether the node's path reaches ROOT
    on_path = np.zeros(2 * n + 1, dtype=np.bool_)
    path = np.empty(n, dtype=np.int32)
    grounded[0] = True
    for t in range(n):
        entered[t, :] = t + 1

    last = n  # the newest node
    outermost = n  # how many nodes are in no cycle
    for start in range(1, n + 1):
        if grounded[node_of[start]]:
            continue
        length, node = 0, start
        while not grounded[node]:
            if not on_path[node]:
                row = row_of[node]
                first = 1 if single and outermost > 1 else 0
                # A word's best head is known already, unless it is ROOT out of turn.
                head = best[node - 1] if node <= n and best[node - 1] >= first else _best(scores[row], first)
                source[node], target[node], chosen[node] = head, entered[row, head], scores[row, head]
                path[length] = node
                length += 1
                on_path[node] = True
                node = node_of[head]
                continue
            # The path came back to `node`: contract the cycle into the row of its first member.
            last += 1
            row = row_of[last] = row_of[node]
            for u in range(n + 1):
                scores[row, u] -= chosen[node]
            parent[node] = last
            length -= 1
            while path[length] != node:
                member = path[length]
                parent[member] = last
                merged = row_of[member]
                loss = chosen[member]
                for u in range(n + 1):
                    score = scores[merged, u] - loss
                    better = score > scores[row, u]
                    scores[row, u] = score if better else scores[row, u]
                    entered[row, u] = entered[merged, u] if better else entered[row, u]
                outermost -= 1
                length -= 1
            for u in range(1, n + 1):
                if parent[node_of[u]] == last:
                    node_of[u] = last
                    scores[row, u] = NO_ARC
            node = last
        grounded[path[:length]] = True

    # Unfold from the outside in: the arc that enters a node enters one member of its cycle, at every depth,
    # and replaces the arc chosen for that member; the other members keep theirs.
    heads = np.empty(n, dtype=np.int32)
    settled = np.zeros(2 * n + 1, dtype=np.bool_)
    for node in range(last, 0, -1):
        if settled[node]:
            continue
        heads[target[node] - 1] = source[node]
        inner = target[node]
        while inner != node:
            settled[inner] = True
            inner = parent[inner]
    return heads


@compiled
def _eisner(scores: npt.NDArray[np.float64], single: bool) -> Heads:
    """The best projective tree of prepared scores.

    For words s and t, whichever is on the left: arc[s, t] is the best score of the span between them with s
    the head of t, complete[s, t] that of the span in which s is above all words up to and including t. ROOT
    stays out of this chart and is added at the end, where the number of its children can be settled.
    """
    n = scores.shape[0]
    arc = np.zeros((n + 1, n + 1))
    complete = np.zeros((n + 1, n + 1))
    mirrored = np.zeros((n + 1, n + 1))  # complete, transposed: all inner loops run along rows
    middle = np.zeros((n + 1, n + 1), dtype=np.int32)  # where arc[s, t] is split, the same for arc[t, s]
    child = np.zeros((n + 1, n + 1), dtype=np.int32)  # the outermost dependent of s within complete[s, t]
    for width in range(1, n):
        for s in range(1, n + 1 - width):
            t = s + width
            split, best = s, complete[s, s] + complete[t, s + 1]
            for r in range(s + 1, t):
                score = complete[s, r] + complete[t, r + 1]
                if score > best:
                    split, best = r, score
            middle[s, t] = middle[t, s] = split
            arc[s, t] = best + scores[t - 1, s]
            arc[t, s] = best + scores[s - 1, t]

            for head, end in ((s, t), (t, s)):
                split, best = end, arc[head, end]
                for r in range(s + 1, t):
                    score = arc[head, r] + mirrored[end, r]
                    if score > best:
                        split, best = r, score
                child[head, end] = split
                complete[head, end] = mirrored[end, head] = best

    # prefix[e] is the best score of words 1 … e; with_child[c] the same for e = c if c is a child of ROOT
    # without dependents to its right yet, in whose subtree begin[c] is the first word.
    prefix = np.zeros(n + 1)
    with_child = np.empty(n + 1)
    begin = np.ones(n + 1, dtype=np.int32)
    last_child = np.zeros(n + 1, dtype=np.int32)
    for e in range(1, n + 1):
        with_child[e] = complete[e, 1] + scores[e - 1, 0]
        if not single:
            for b in range(2, e + 1):
                score = prefix[b - 1] + complete[e, b] + scores[e - 1, 0]
                if score > with_child[e]:
                    begin[e], with_child[e] = b, score
        last_child[e], prefix[e] = 1, with_child[1] + complete[1, e]
        for c in range(2, e + 1):
            score = with_child[c] + complete[c, e]
            if score > prefix[e]:
                last_child[e], prefix[e] = c, score

    heads = np.zeros(n, dtype=np.int32)
    stack = [(n, n)]  # spans complete[s, t] still to be unfolded; a first one tells the compiler their type
    e = n
    while e > 0:
        c = int(last_child[e])
        b = int(begin[c])
        stack.append((c, b))
        stack.append((c, e))
        e = b - 1
    while stack:
        s, t = stack.pop()
        if s == t:
            continue
        c = int(child[s, t])
        heads[c - 1] = s
        r = int(middle[s, c])
        stack.append((c, t))
        stack.append((min(s, c), r))
        stack.append((max(s, c), r + 1))
    return heads


@compiled
def _is_projective(heads: Heads) -> bool:
    """`data.arcs.is_projective` of a tree, compiled: `projective` asks it for every sentence."""
    n = len(heads)
    for t in range(1, n + 1):
        left, right = min(t, heads[t - 1]), max(t, heads[t - 1])
        for u in range(left + 1, right):
            if not left <= heads[u - 1] <= right:
                return False
    return True
