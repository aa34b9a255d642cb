"""The proof that a noise function is private: the worst case over all neighbouring data sets, from the table alone."""
