"""The documentation as a site: `make site` builds it from the pages of docs/ with MkDocs, offline and strict."""
