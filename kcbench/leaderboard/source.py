"""Source text with its parts marked, as HTML without scripts or styles of its own."""

from __future__ import annotations

from markupsafe import Markup, escape

from kcbench.report.text import clean

MOST = 200_000
"""Characters that are shown."""


def highlighted(text: str) -> Markup:
    """Python source as HTML: each token escaped, and in a ``span`` whose class says what it is.

    Args:
        text: Untrusted; what is beyond :data:`MOST` characters is cut.
    """
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers.python import PythonLexer

    shown = clean(text[:MOST])
    if len(text) > 60_000:  # Marking the parts of a text this long takes longer than a reader waits.
        return Markup("<pre>{}</pre>").format(escape(shown))
    # The formatter escapes every token.
    return Markup(highlight(shown, PythonLexer(), HtmlFormatter(nowrap=False)))
