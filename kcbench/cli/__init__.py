"""The command line. One module per command; what is slow to import is imported inside the commands."""
