"""Records in forms that travel: our own export, and later those of other systems."""
