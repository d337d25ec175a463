"""The style sheet of a company's accent colour.

Text in the accent colour stands on light and on dark paper, so one colour becomes two: each is made
darker or lighter until it can be read there (WCAG 2.2, contrast 4.5).
"""

MIN_CONTRAST = 4.5
LIGHT_PAPER, DARK_PAPER = "#ecefec", "#222b2c"
"""The darkest light surface and the lightest dark one that text in the accent colour stands on."""
BLACK, WHITE = "#000000", "#ffffff"
STEP = 0.05
TINT = 0.12

Rgb = tuple[float, float, float]


def accent_sheet(accent: str) -> str:
    """Return CSS that replaces the accent colour of the page.

    Args:
        accent: A colour such as `#0b6353`.
    """
    light, dark = _readable(accent, LIGHT_PAPER, BLACK), _readable(accent, DARK_PAPER, WHITE)
    on_light, on_dark = _text_on(light), _text_on(dark)
    tint_light, tint_dark = _mix(light, WHITE, 1 - TINT), _mix(dark, DARK_PAPER, 1 - TINT)
    return (
        ":root {\n"
        f"  --accent: light-dark({light}, {dark});\n"
        f"  --on-accent: light-dark({on_light}, {on_dark});\n"
        f"  --tint: light-dark({tint_light}, {tint_dark});\n"
        "}\n"
    )


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _readable(colour: str, paper: str, towards: str) -> str:
    share = 0.0
    while contrast(mixed := _mix(colour, towards, share), paper) < MIN_CONTRAST:
        share += STEP
    return mixed


def _text_on(colour: str) -> str:
    return max((WHITE, BLACK), key=lambda text: contrast(text, colour))


def _mix(colour: str, other: str, share: float) -> str:
    share = min(share, 1.0)
    pairs = zip(_rgb(colour), _rgb(other), strict=True)
    return "#" + "".join(f"{round(one * (1 - share) + two * share):02x}" for one, two in pairs)


def _rgb(colour: str) -> Rgb:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _luminance(colour: str) -> float:
    """Return the relative luminance, as WCAG defines it."""
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4  # noqa: PLR2004
        for part in (each / 255 for each in _rgb(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
