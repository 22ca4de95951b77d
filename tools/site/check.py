"""Checks the built site: every link to a page, a picture or a heading of it leads somewhere. Usage: check.py FOLDER"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The anchors and the links of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        self.links.extend(attributes[name] for name in ("href", "src") if attributes.get(name))


def main(folder):
    root = pathlib.Path(folder).resolve()
    # 404.html is shown at any address, and print.html is all pages in one.
    paths = [path for path in sorted(root.rglob("*.html")) if path.name not in ("404.html", "print.html")]
    pages = {path: Page(path) for path in paths}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            is_there = target.exists() and (not anchor or target not in pages or anchor in pages[target].anchors)
            if not is_there:
                dead.append(f"{path.relative_to(root)}: {link}")
    print(f"{len(pages)} pages of the site, {len(dead)} dead links")
    sys.exit("\n".join(dead) if dead else 0)


main(sys.argv[1])
