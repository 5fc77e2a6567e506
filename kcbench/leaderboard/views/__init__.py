"""The views, one a file: each turns what a reader asks for into a page."""
