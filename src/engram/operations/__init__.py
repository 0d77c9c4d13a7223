"""What you can ask: typed functions that read, let a rule decide, and commit; surfaces are made from them."""
