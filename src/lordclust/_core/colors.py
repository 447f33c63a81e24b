"""The colours of all pictures: Okabe and Ito's, distinguishable when colour-blind."""

BLUE = "#0072B2"
ORANGE = "#D55E00"
INK = "#222222"
QUIET = "#767676"
PALE = "#B9D6E8"
