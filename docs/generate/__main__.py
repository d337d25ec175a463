"""Write the pages of the reference: `python -m docs.generate`."""

from docs.generate import FOLDER, PAGES

for name, page in PAGES.items():
    (FOLDER / name).write_text(page(), encoding="utf-8")
    print(FOLDER / name)
