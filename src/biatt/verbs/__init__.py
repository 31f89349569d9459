"""The verbs of the command line: each reads options, calls one function of the package and prints."""
