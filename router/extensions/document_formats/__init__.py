"""What reads the files that people hand in: PDF, OFD, invoices in XML, and pictures.

The formats run in the process that reads files (`router.documents.program`).
"""

from collections.abc import Sequence

from router.extension import Extension


class DocumentFormatsExtension(Extension):
    """Adds the formats that documents come in."""

    name = "document_formats"

    def file_formats(self) -> Sequence[str]:
        return ["router.extensions.document_formats.formats"]
