"""The grader's knowledge: float64 truth, allowed noise, and the eager model's own behaviour."""
