"""The HTTP service: what `biatt serve` runs.

    request ─▶ middleware (limits, log) ─▶ app (routes) ─▶ jobs ─▶ batching (threads that parse) ─▶ answers

Several clients' sentences are scored together. Every queue, body and answer has a bound.
"""
