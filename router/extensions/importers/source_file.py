"""Files that a flow can begin with, told apart by their content."""

from router.domain.errors import InvalidInput
from router.domain.locale import Localised
from router.extensions.importers.beginning import Beginning, BeginningContext
from router.extensions.importers.bpmn_flow import beginning_of_bpmn
from router.extensions.importers.form import beginning_of_form

LARGEST = 5 * 1024 * 1024
"""Bytes of a file that a flow begins with."""


def beginning_of_file(content: bytes, around: BeginningContext) -> Beginning:
    """The draft that a file gives, whatever it is called.

    Raises:
        InvalidInput: it is none that a flow can begin with, or isn't safe to read.
    """
    if content.startswith(b"PK"):
        return beginning_of_form(content, around)
    if not content.lstrip(b"\xef\xbb\xbf\xfe\xff \t\r\n").startswith(b"<"):
        raise InvalidInput(UNKNOWN)
    return beginning_of_bpmn(content, around)


UNKNOWN = Localised(
    zh="无法识别这个文件；请发 BPMN 2.0（.bpmn），或带表格的 .xlsx、.docx。",
    en="This file isn't known here; send BPMN 2.0 (.bpmn), or a form as .xlsx or .docx.",
)
