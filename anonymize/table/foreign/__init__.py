"""Tables that are neither CSV nor Parquet nor Arrow: workbooks, SPSS and Stata files, tables of databases.

Reading converts one to an Arrow (or Parquet) file without a name, once, and everything after that reads that file.
Writing begins with such a file, which is what is verified, and converts it. What each needs is an extra of the package,
asked for before any work is done.
"""
