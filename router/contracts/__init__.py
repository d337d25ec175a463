"""All that workflows and activities know of each other: names, inputs, results, failures."""
