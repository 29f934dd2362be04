"""Forms of a report: table, Markdown, CSV, HTML, LaTeX."""
