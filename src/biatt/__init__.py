"""Dependency parsing by bi-directional attention with agreement."""
