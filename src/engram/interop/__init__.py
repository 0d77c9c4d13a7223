"""Records in forms that travel, our own and other systems', and their tools as profiles over our operations."""
