"""The leaderboard: results of many runs, aggregated and cached, and the pages that show them. No torch."""
