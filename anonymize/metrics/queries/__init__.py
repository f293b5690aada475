"""COUNT queries over the quasi-identifiers: what is asked, what is true, and what a recipient answers."""

from anonymize.metrics.queries.answers import counted, estimated, summed
from anonymize.metrics.queries.batch import Queries, QueryPlan, drawn, listed

__all__ = ["Queries", "QueryPlan", "counted", "drawn", "estimated", "listed", "summed"]
