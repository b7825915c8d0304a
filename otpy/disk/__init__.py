"""Files that must not be lost: where they may be, who may read them, who has them open, what SQLite says of them."""
