"""Published checks, versioned and faithful, run beside the gates for comparison."""
