"""The language in which people write rules: YAML or JSON in, checked rules out, and back (docs: rule-language.md)."""
