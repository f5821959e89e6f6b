"""The rules that people write: models that are the language, read from YAML or JSON, evaluated, and written back."""
