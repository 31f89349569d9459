"""The machine: compiled kernels and their cache, threads, worker processes, progress on the terminal."""
