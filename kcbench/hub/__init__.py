"""Tasks and results as datasets: building them, describing them, reading them back, and carrying them to the Hugging Face Hub."""
