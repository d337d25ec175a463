"""Files as people hand them in, made for tests: pages of a PDF, an OFD, an XML, a photograph.

What is on them is small and known; nothing of it is anybody's.
"""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

DATA = Path(__file__).parent / "data" / "documents"
NUMBER = "25117000000012345678"
LATIN = (
    "Grand Hotel",
    "Room 308",
    "Total amount 580.00",
    "Date 2026-11-19",
    "Thank you for staying",
)
"""What `picture` shows: a font of Pillow's own has no other letters."""
EINVOICE = f"""<?xml version="1.0" encoding="UTF-8"?>
<EInvoice><Header><EIid>{NUMBER}</EIid></Header><EInvoiceData>
<SellerInformation><SellerName>北京某某餐饮有限公司</SellerName></SellerInformation>
<IssuItemInformation><ItemName>餐饮服务</ItemName><Amount>94.34</Amount></IssuItemInformation>
<IssuItemInformation><ItemName>茶位</ItemName><Amount>5.66</Amount></IssuItemInformation>
</EInvoiceData></EInvoice>"""

Spot = tuple[float, float, str]
"""Points from the left and the top, and what is written there."""
INVOICE: Sequence[Spot] = (
    (60, 60, "电子发票（普通发票）"),
    (300, 60, f"发票号码：{NUMBER}"),
    (60, 90, "名称：北京某某科技有限公司"),
    (300, 90, "Total amount 100.00"),
)


def pdf(
    *pages: Sequence[Spot], title: str = "", picture: Image.Image | None = None, rotate: int = 0
) -> bytes:
    """A PDF of such pages, A4; the picture fills each."""
    whole = io.BytesIO()
    canvas = Canvas(whole, pagesize=(595, 842), invariant=1)
    canvas.setTitle(title)
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    for spots in pages:
        canvas.setPageRotation(rotate)
        if picture is not None:
            canvas.drawInlineImage(picture, 0, 0, 595, 842)
        canvas.setFont("STSong-Light", 12)
        for x, y, text in spots:
            canvas.drawString(x, 842 - y, text)
        canvas.showPage()
    canvas.save()
    return whole.getvalue()


def picture(lines: Sequence[str] = LATIN, size: tuple[int, int] = (900, 600)) -> Image.Image:
    """Such lines, black on white."""
    drawn = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(drawn)
    for at, line in enumerate(lines):
        pen.text((60, 50 + at * 90), line, font=ImageFont.load_default(44), fill="black")
    return drawn


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    """The picture as a file."""
    whole = io.BytesIO()
    image.save(whole, kind, **options)
    return whole.getvalue()


def packed(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of such files."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as archive:
        for name, content in files.items():
            # Without a moment: the same file whenever it is made.
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            archive.writestr(entry, content)
    return whole.getvalue()


OFD_NAMESPACE = 'xmlns:ofd="http://www.ofdspec.org/2016"'


def ofd_parts(
    pages: Sequence[Sequence[Spot]] = (INVOICE,), picture: bytes | None = None, attached: str = ""
) -> dict[str, str | bytes]:
    """The files of an OFD, its places in points as those of `pdf`."""
    parts: dict[str, str | bytes] = {
        "OFD.xml": f"<ofd:OFD {OFD_NAMESPACE}><ofd:DocBody><ofd:DocInfo>"
        "<ofd:Author>Tax</ofd:Author>"
        f'<ofd:CustomDatas><ofd:CustomData Name="发票号码">{NUMBER}</ofd:CustomData>'
        "</ofd:CustomDatas></ofd:DocInfo><ofd:DocRoot>Doc_0/Document.xml</ofd:DocRoot>"
        "</ofd:DocBody></ofd:OFD>"
    }
    listed = "".join(
        f'<ofd:Page ID="{at}" BaseLoc="Pages/Page_{at}/Content.xml"/>' for at in range(len(pages))
    )
    resources = "<ofd:DocumentRes>DocumentRes.xml</ofd:DocumentRes>" if picture else ""
    attachments = "<ofd:Attachments>Attachs/Attachments.xml</ofd:Attachments>" if attached else ""
    parts["Doc_0/Document.xml"] = (
        f"<ofd:Document {OFD_NAMESPACE}><ofd:CommonData><ofd:PageArea>"
        f"<ofd:PhysicalBox>0 0 210 297</ofd:PhysicalBox></ofd:PageArea>{resources}"
        '<ofd:TemplatePage ID="9" BaseLoc="Tpls/Tpl_0/Content.xml"/></ofd:CommonData>'
        f"<ofd:Pages>{listed}</ofd:Pages>{attachments}</ofd:Document>"
    )
    parts["Doc_0/Tpls/Tpl_0/Content.xml"] = _ofd_page([(60, 30, "税务局监制")], "")
    for at, spots in enumerate(pages):
        parts[f"Doc_0/Pages/Page_{at}/Content.xml"] = _ofd_page(
            spots, '<ofd:Template TemplateID="9"/>', shows=picture is not None
        )
    if picture:
        parts["Doc_0/DocumentRes.xml"] = (
            f'<ofd:Res {OFD_NAMESPACE} BaseLoc="Res"><ofd:MultiMedias><ofd:MultiMedia ID="7" '
            'Type="Image"><ofd:MediaFile>code.png</ofd:MediaFile></ofd:MultiMedia>'
            "</ofd:MultiMedias></ofd:Res>"
        )
        parts["Doc_0/Res/code.png"] = picture
    if attached:
        parts["Doc_0/Attachs/Attachments.xml"] = (
            f'<ofd:Attachments {OFD_NAMESPACE}><ofd:Attachment Name="invoice" Format="xml">'
            "<ofd:FileLoc>original_invoice.xml</ofd:FileLoc></ofd:Attachment></ofd:Attachments>"
        )
        parts["Doc_0/Attachs/original_invoice.xml"] = attached
    return parts


def _ofd_page(spots: Sequence[Spot], template: str, *, shows: bool = False) -> str:
    scale = 297 / 842
    objects = "".join(
        f'<ofd:TextObject Boundary="{x * scale:.3f} {y * scale - 4:.3f} 80 5" Size="4.2">'
        f'<ofd:TextCode X="0" Y="4">{text}</ofd:TextCode></ofd:TextObject>'
        for x, y, text in spots
    )
    image = '<ofd:ImageObject Boundary="10 10 20 20" ResourceID="7"/>' if shows else ""
    return (
        f"<ofd:Page {OFD_NAMESPACE}>{template}<ofd:Content><ofd:Layer>{objects}{image}"
        "</ofd:Layer></ofd:Content></ofd:Page>"
    )


def ofd(
    pages: Sequence[Sequence[Spot]] = (INVOICE,), picture: bytes | None = None, attached: str = ""
) -> bytes:
    """An OFD: a template beneath each page, a picture on it, an XML attached."""
    return packed(ofd_parts(pages, picture, attached))


def qr(text: str) -> Image.Image:
    """A QR code."""
    import zxingcpp

    code = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode)
    return Image.fromarray(zxingcpp.write_barcode_to_image(code, scale=6)).convert("RGB")


def changed_encoding(text: str, encoding: str) -> bytes:
    """XML that says UTF-8, in another encoding, and saying so."""
    return text.replace("UTF-8", encoding).encode(encoding)
