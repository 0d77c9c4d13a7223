"""Where records rest: engines apply Changes and answer reads, pass one law suite, and decide nothing."""
