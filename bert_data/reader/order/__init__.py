"""In which order records come, where no epoch is planned; and what random orders are drawn from.

streams.py    hosts, epochs, shuffling, batches of a stream
splitmix.py   random numbers from keys
"""
