"""A preprocessor of mdBook: links that leave docs/ lead to the repository, and the contents are a page.

SCUMBLE_REPOSITORY is the repository's address, which a forge knows. Without it such links become paths in the text.
"""

import json
import os
import posixpath
import re
import sys

LINK = re.compile(r"\[([^\]]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def outward(page, repository):
    """What becomes of a link on a page (its path below docs/)."""

    def replace(match):
        label, target, anchor = match[1], match[2], match[3] or ""
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
        if path == "docs/SUMMARY.md":
            return f"[{label}]({'../' * page.count('/')}toc.html)"
        if path.startswith("docs/"):
            return match[0]
        return f"[{label}]({repository}/blob/main/{path}{anchor})" if repository else f"{label} (`{path}`)"

    return replace


def outside_of_fences(text, change):
    """The text with a change to its prose; every second part of it is a fence."""
    parts = re.split(r"(?m)^(\s*```)", text)
    for index in range(0, len(parts), 4):
        parts[index] = change(parts[index])
    return "".join(parts)


def walk(items, repository):
    for chapter in (item["Chapter"] for item in items if isinstance(item, dict) and "Chapter" in item):
        if chapter.get("source_path"):
            replace = outward(chapter["source_path"], repository)
            chapter["content"] = outside_of_fences(chapter["content"], lambda part: LINK.sub(replace, part))
        walk(chapter["sub_items"], repository)


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    walk(book.get("items") or book.get("sections"), os.environ.get("SCUMBLE_REPOSITORY", "").rstrip("/"))
    json.dump(book, sys.stdout)


main()
