"""Floor 4: a program ends in order: intake first, then what is at work, then what is kept, then the tree."""
