"""Building blocks of the steps that sample documents: draws and buckets, epochs and shares."""
