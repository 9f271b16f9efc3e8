"""Reports of a run, for people: a summary, a page with plots, other thresholds tried out."""
