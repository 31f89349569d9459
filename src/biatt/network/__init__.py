"""The network of the paper in torch, for training and for parsing on a GPU; the reference for the kernels."""

from importlib.util import find_spec

from biatt.errors import ConfigError

if find_spec("torch") is None:
    raise ConfigError("Training, and parsing on a GPU, need PyTorch: pip install 'biatt[train]'.")
