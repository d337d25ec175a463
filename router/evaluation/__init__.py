"""How well messages are routed: labelled lines, what they came to, and the figures. Pure.

lines     what a labelled file says
labels    which label a route amounts to
results   one line beside what it came to
figures   all results as numbers
picture   the confusion matrix, drawn
page      the report that a person reads in a browser
printed   the same for a terminal
choices   labels out of the event log
fitting   thresholds out of labelled lines
"""
