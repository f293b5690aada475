"""How microaggregation groups rows."""
