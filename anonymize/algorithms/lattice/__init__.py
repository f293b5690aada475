"""Full-domain generalization: the lattice of level vectors, its nodes checked on frequency sets, and their scores."""
