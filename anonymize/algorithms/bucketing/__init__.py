"""Machinery of bucketization: which sensitive values stand together in a group."""
