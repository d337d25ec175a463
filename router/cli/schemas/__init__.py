"""JSON Schemas of the files that people write, for their editors.

They say what a schema can say: keys, types, values, what must be there. What takes looking at the
whole (names that lead nowhere, expressions, rivals) is for `flows validate` and its like.
"""
