"""Beginnings of flows: drafts made of what a house has of a process already.

A process in BPMN 2.0, a form as a spreadsheet or a document, a paragraph. Each gives a `Beginning`:
the text of a flow file, the questions that its author has to answer, and what had no place in it.
Nothing here publishes anything.
"""
