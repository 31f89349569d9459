"""Trees for people: terminal drawings, SVG, PNG, attention maps, output formats."""
