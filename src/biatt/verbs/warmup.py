"""warmup: compile on purpose."""

from __future__ import annotations

from biatt.verbs.printing import print_text


def warmup() -> None:
    """Compile for this processor what parsing needs, and keep it on disk.

    Without it, the first commands parse at half the speed while a process in the background does the same. In
    an image of a container, this command makes the compiled code a part of the image.
    """
    from biatt.machine.kernel_files import cache_folder
    from biatt.parsing.warm_up import warm_up

    warm_up()
    print_text(f"The compiled code is in {cache_folder()}.")
