"""S, mu -> V: the projection, the descent, the starts and the path in tau."""
