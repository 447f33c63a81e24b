"""Code that every part of lordclust may use: checks, types, threads, compilation."""
