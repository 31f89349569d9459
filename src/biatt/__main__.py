"""`python -m biatt` is `biatt`, and `torchrun … -m biatt train` trains on several processes."""

from biatt.cli import main

if __name__ == "__main__":
    main()
