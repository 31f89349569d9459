"""From arc scores to a dependency tree: maximum spanning trees, projective trees, and argmax.

`arc_scores` describes the matrix that all decoders take. Decoders choose as few forbidden arcs as possible:
none if a tree without them exists; if every tree has forbidden arcs, they still return a tree. One child of
ROOT (`roots="single"`) and, in `projective`, arcs that do not cross come first, even if they need forbidden
arcs.

Ties are broken by position, so the same matrix always gives the same tree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from biatt.data.arcs import is_projective
from biatt.decode.arc_scores import NO_ARC, Heads, Matrix, first_best, has_single_root, prepared
from biatt.machine.kernel_choice import deferred, use_compiled
from biatt.options import Decoder, Roots

TILE = 32  # words whose spans are computed together: they fill vector registers and stay in the cache


def heads(arc_scores: npt.ArrayLike, *, decoder: Decoder = "mst", roots: Roots = "single") -> Heads:
    """The head (0 … n) of every word, (n,), by the named decoder."""
    if decoder == "mst":
        return mst(arc_scores, roots=roots)
    if decoder == "projective":
        return projective(arc_scores, roots=roots)
    if decoder == "argmax":
        return argmax(arc_scores)
    raise ValueError(f"The decoder is {decoder!r}, but must be 'mst', 'argmax' or 'projective'.")


def argmax(arc_scores: npt.ArrayLike) -> Heads:
    """The best head of each word; there may be cycles, and any number of children of ROOT."""
    _, best = prepared(arc_scores)
    return best


def mst(arc_scores: npt.ArrayLike, *, roots: Roots = "single") -> Heads:
    """The tree with the highest score; arcs may cross. Chu-Liu-Edmonds in Tarjan's dense form, O(n²).

    If the best heads form no tree: follow best heads from each word in turn, a path. If it reaches ROOT, or a
    node whose path does, all of its arcs are kept. If it comes back to one of its own nodes, that cycle is
    contracted to a new node, whose entering arcs have the scores

        row[u] = max over members c of  scores[c, u] − score of the arc chosen for c,

    the loss from breaking the cycle at c. Only rows are merged; columns are always words. A cycle of k nodes
    costs k rows of n + 1 and removes k − 1 nodes; each node scans its row once: O(n²) in all.

    For a single root, ROOT's column is left out of every scan until one node is left. An infinite penalty on
    arcs from ROOT would do the same, but with rounding (Gabow and Tarjan 1984; Stanojević and Cohen 2021).
    """
    single = has_single_root(roots)
    scores, best = prepared(arc_scores)
    return best if spans(best, single) else _contract(scores, best, single)


def projective(arc_scores: npt.ArrayLike, *, roots: Roots = "single") -> Heads:
    """The tree with the highest score among those without crossing arcs: Eisner's algorithm, O(n³)."""
    single = has_single_root(roots)
    scores, best = prepared(arc_scores)
    use_compiled(1e-5 * len(scores) + 1e-9 * len(scores) ** 3)
    if spans(best, single) and _is_projective(best):
        return best
    return _eisner(scores, single)


@deferred
def spans(heads: Heads, single: bool) -> bool:
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


@deferred
def _contract(scores: Matrix, best: Heads, single: bool) -> Heads:
    """The maximum spanning tree of prepared scores, which are overwritten, given each row's best head."""
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
                # A word's best head is known already, unless it is ROOT and ROOT is left out.
                known = node <= n and best[node - 1] >= first
                head = best[node - 1] if known else first_best(scores[row], first)
                source[node], target[node], chosen[node] = head, entered[row, head], scores[row, head]
                path[length] = node
                length += 1
                on_path[node] = True
                node = node_of[head]
                continue
            # The path came back to `node`: contract the cycle into that node's row.
            last += 1
            row = row_of[last] = row_of[node]
            for u in range(n + 1):
                scores[row, u] -= chosen[node]
            parent[node] = last
            length -= 1
            while path[length] != node:
                member = path[length]
                parent[member] = last
                _merge_rows(scores, entered, row, row_of[member], chosen[member])
                outermost -= 1
                length -= 1
            for u in range(1, n + 1):
                if parent[node_of[u]] == last:
                    node_of[u] = last
                    scores[row, u] = NO_ARC
            node = last
        grounded[path[:length]] = True

    return _expand(parent, source, target, n, last)


def _plain_merge_rows(scores: Matrix, entered: Heads, row: int, member: int, loss: float) -> None:
    entering = scores[member] - loss
    better = entering > scores[row]
    scores[row, better] = entering[better]
    entered[row, better] = entered[member, better]


@deferred(plain=_plain_merge_rows)
def _merge_rows(scores: Matrix, entered: Heads, row: int, member: int, loss: float) -> None:
    """Raise a cycle's entering arcs to those of a member, less the score of the arc chosen for the member."""
    for u in range(scores.shape[1]):
        score = scores[member, u] - loss
        better = score > scores[row, u]
        scores[row, u] = score if better else scores[row, u]
        entered[row, u] = entered[member, u] if better else entered[row, u]


@deferred
def _expand(parent: Heads, source: Heads, target: Heads, n: int, last: int) -> Heads:
    """The heads of all words, from the outermost node inwards.

    The arc that enters a node enters one member of its cycle, at every depth, and replaces the arc chosen for
    that member; the other members keep theirs.
    """
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


@deferred
def _eisner(scores: Matrix, single: bool) -> Heads:
    """The best projective tree of prepared scores.

    ROOT is not in the chart of spans but is added at the end, where the number of its children is known.
    prefix[e] is the best score of words 1 … e. with_child[c] is that of words 1 … c if c is a child of ROOT
    with no dependents to its right yet, in whose subtree first_word[c] is the first word.
    """
    n = scores.shape[0]
    arc, right, left = _chart(scores)
    prefix = np.zeros(n + 1)
    with_child = np.empty(n + 1)
    first_word = np.ones(n + 1, dtype=np.int32)
    last_child = np.zeros(n + 1, dtype=np.int32)
    for e in range(1, n + 1):
        with_child[e] = left[1, e] + scores[e - 1, 0]
        if not single:
            for b in range(2, e + 1):
                score = prefix[b - 1] + left[b, e] + scores[e - 1, 0]
                if score > with_child[e]:
                    first_word[e], with_child[e] = b, score
        last_child[e], prefix[e] = 1, with_child[1] + right[1, e]
        for c in range(2, e + 1):
            score = with_child[c] + right[c, e]
            if score > prefix[e]:
                last_child[e], prefix[e] = c, score

    heads = np.zeros(n, dtype=np.int32)
    stack = [(n, n)]  # (head, end) of complete spans to unfold; the first tells the compiler their type
    e = n
    while e > 0:
        c = int(last_child[e])
        b = int(first_word[c])
        stack.append((c, b))
        stack.append((c, e))
        e = b - 1
    while stack:
        head, end = stack.pop()
        if head != end:
            c, r = _unfold(arc, right, left, head, end)
            heads[c - 1] = head
            stack.append((c, end))
            stack.append((min(head, c), r))
            stack.append((max(head, c), r + 1))
    return heads


def _plain_chart(scores: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """All spans of one width at a time, on tables of spans by their first or last word and their width."""
    n = len(scores)
    # From word s: right_from[s, k] is right[s, s + k], and so on. To word t: left_to[t, k] is left[t − k, t].
    arc, right, left = (np.zeros((n + 1, n + 1)) for _ in range(3))
    right_from, right_to, left_from, left_to, arc_from, arc_to = (np.zeros((n + 1, n)) for _ in range(6))
    for width in range(1, n):
        s, t = np.arange(1, n + 1 - width), np.arange(1 + width, n + 1)
        between = (right_from[s, :width] + left_to[t, :width][:, ::-1]).max(axis=1)
        arc[s, t] = arc_from[s, width] = between + scores[t - 1, s]
        arc[t, s] = arc_to[t, width] = between + scores[s - 1, t]
        to_right = arc_from[s, 1 : width + 1] + right_to[t, :width][:, ::-1]
        right[s, t] = right_from[s, width] = right_to[t, width] = to_right.max(axis=1)
        to_left = left_from[s, :width] + arc_to[t, 1 : width + 1][:, ::-1]
        left[s, t] = left_from[s, width] = left_to[t, width] = to_left.max(axis=1)
    return arc, right, left


@deferred(plain=_plain_chart)
def _chart(scores: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The best scores of all spans of words, without ROOT. For s < t:

    arc[s, t] and arc[t, s]: of the span s … t whose first word is the head of its last, or the other way
    round; right[s, t]: of the span s … t with all words below s; left[s, t]: with all words below t. They
    obey

        arc[s, t] = max over s ≤ r < t of  right[s, r] + left[r + 1, t]  + score of the arc s → t,
        right[s, t] = max over s < r ≤ t of  arc[s, r] + right[r, t],
        left[s, t] = max over s ≤ r < t of  left[s, r] + arc[t, r].

    Spans are computed for TILE words t at a time, and for each of these from s = t − 1 backwards. So the
    terms of one s and one r < tile are the same operation for a whole vector of t, on columns that are kept
    together.
    """
    n = scores.shape[0]
    arc, right, left = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    # Columns of the tile: left[:, t], right[:, t] and arc[t, :], a row for each position.
    left_of, right_of, arc_of = np.zeros((n + 2, TILE)), np.zeros((n + 2, TILE)), np.zeros((n + 2, TILE))
    inner, best_right, best_left = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for tile in range(1, n + 1, TILE):
        width = min(TILE, n + 1 - tile)
        left_of[tile : tile + width] = 0.0
        for s in range(tile + width - 2, 0, -1):
            inner[:] = NO_ARC
            best_right[:] = NO_ARC
            best_left[:] = NO_ARC
            _raise_to_sums(inner, right, s, left_of, 1, tile)
            _raise_to_sums(best_right, arc, s, right_of, 0, tile)
            _raise_to_sums(best_left, left, s, arc_of, 0, tile)
            for i in range(max(0, s + 1 - tile), width):
                t = tile + i
                between = max(inner[i], left_of[s + 1, i])
                to_right, to_left = best_right[i], best_left[i]
                for r in range(max(tile, s + 1), t):
                    between = max(between, right[s, r] + left_of[r + 1, i])
                    to_right = max(to_right, arc[s, r] + right_of[r, i])
                    to_left = max(to_left, left[s, r] + arc_of[r, i])
                arc[s, t] = between + scores[t - 1, s]
                arc[t, s] = arc_of[s, i] = between + scores[s - 1, t]
                right[s, t] = right_of[s, i] = max(arc[s, t], to_right)
                left[s, t] = left_of[s, i] = max(arc[t, s], to_left)
    return arc, right, left


@deferred
def _raise_to_sums(best: Matrix, table: Matrix, s: int, columns: Matrix, shift: int, tile: int) -> None:
    """best[i] = max(best[i], table[s, r] + columns[r + shift, i]) for all r with s < r < tile."""
    r = s + 1
    while r + 4 <= tile:  # four at a time: `best` is read and written less often
        a, b, c, d = table[s, r], table[s, r + 1], table[s, r + 2], table[s, r + 3]
        for i in range(TILE):
            k = r + shift
            sum_of_a, sum_of_b = a + columns[k, i], b + columns[k + 1, i]
            sum_of_c, sum_of_d = c + columns[k + 2, i], d + columns[k + 3, i]
            best[i] = max(best[i], max(max(sum_of_a, sum_of_b), max(sum_of_c, sum_of_d)))
        r += 4
    while r < tile:
        for i in range(TILE):
            best[i] = max(best[i], table[s, r] + columns[r + shift, i])
        r += 1


@deferred
def _unfold(arc: Matrix, right: Matrix, left: Matrix, head: int, end: int) -> tuple[int, int]:
    """The outermost child of `head` in the best span from it to `end`, and where the arc's span is split.

    Maxima are found again instead of being stored: a tree has n arcs, the chart n² spans.
    """
    child, best = end, arc[head, end]
    for r in range(min(head, end) + 1, max(head, end)):
        score = arc[head, r] + (right[r, end] if head < end else left[end, r])
        if score > best:
            child, best = r, score
    s, t = min(head, child), max(head, child)
    split, best = s, right[s, s] + left[s + 1, t]
    for r in range(s + 1, t):
        score = right[s, r] + left[r + 1, t]
        if score > best:
            split, best = r, score
    return child, split


@deferred(plain=is_projective)
def _is_projective(heads: Heads) -> bool:
    """`data.arcs.is_projective` of a tree, compiled: `projective` asks it for every sentence."""
    n = len(heads)
    for t in range(1, n + 1):
        left, right = min(t, heads[t - 1]), max(t, heads[t - 1])
        for u in range(left + 1, right):
            if not left <= heads[u - 1] <= right:
                return False
    return True
