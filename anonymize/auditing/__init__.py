"""What an audit is made of: the table that is read, what it is compared with, and what that comes down to."""
