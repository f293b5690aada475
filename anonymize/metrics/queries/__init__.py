"""COUNT queries over the quasi-identifiers: what is asked, what is true, and what a recipient answers."""

from anonymize.metrics.queries.answers import estimated, summed
from anonymize.metrics.queries.batch import Queries
from anonymize.metrics.queries.counting import counted
from anonymize.metrics.queries.draw import QueryPlan, drawn
from anonymize.metrics.queries.listed import listed

__all__ = ["Queries", "QueryPlan", "counted", "drawn", "estimated", "listed", "summed"]
