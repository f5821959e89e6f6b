"""Steps of a workflow's run: ends are counted, nodes are judged, their work begins, and the run ends."""
