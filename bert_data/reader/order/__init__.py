"""The order of records when no epoch is planned, and the source of random orders.

streams.py    hosts, epochs, shuffling, batches of a stream
splitmix.py   random numbers from keys
"""
