"""The sample office: the systems behind the gallery's processes, as one small HTTP service.

`python -m company.office` serves it. Each family of things is a module here that has a
`router`; one that is added is found.
"""
