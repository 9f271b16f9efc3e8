"""Building blocks of the steps that compare documents, in rounds of `bert_data.work`.

documents  ──rosters──▶ ranks, best first, and digests; equal ones
texts      ──normal_text──▶ texts that are equal up to details      decisions: which one is kept
n-grams    ──minhash──▶ signatures ──lsh_buckets──▶ who is compared ──lsh_clusters──▶ edges
edges      ──components──▶ clusters
sentences  ──unit_rosters──▶ numbers of their own, and cuts     word_cuts: documents without them
words      ──winnowing──▶ runs that may recur
embeddings ──unit_vectors──▶ exact cosines ──centroids──▶ k-means ──vector_clusters──▶ who is like
other sets ──ngram_index──▶ n-grams of evaluation sets
"""
