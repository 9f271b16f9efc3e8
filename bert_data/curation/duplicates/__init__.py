"""Building blocks of the steps that compare documents, in rounds of `bert_data.work`.

documents  ──ranks──▶ ranks, best first, and digests; equal ones; which one is kept
n-grams    ──minhash──▶ signatures ──lsh_buckets──▶ who is compared ──lsh_clusters──▶ edges
edges      ──lsh_clusters──▶ clusters
sentences  ──units_in_rounds──▶ numbers of their own, cuts, and documents without them
words      ──winnowing──▶ texts that are equal up to details, and runs that may recur
embeddings ──unit_vectors──▶ exact cosines ──vector_clusters──▶ k-means, who is like
other sets ──ngram_index──▶ n-grams of evaluation sets
"""
