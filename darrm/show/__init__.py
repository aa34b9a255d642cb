"""What people look at: figures, plots, words, the report page, the explorer."""
