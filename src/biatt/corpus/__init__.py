"""Corpora: many documents in, shards of parsed documents out, and nothing is lost when a process dies.

inputs ─▶ records (documents with ids and columns) ─▶ shards, parsed and written by workers ─▶ manifest
"""
