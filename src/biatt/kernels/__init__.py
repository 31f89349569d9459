"""The network's equations as compiled loops: forward and backward, for the CPU, without torch."""
