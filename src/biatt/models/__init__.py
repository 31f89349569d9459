"""Models as folders and packages: what a folder holds, its checks, weights, card, and finding one by name.

The model folders inside biatt are here too, such as `en/`.
"""
