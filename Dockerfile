# bert_data with all its commands:
#
#     docker build -t bert_data .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" -v bert_data_cache:/cache \
#         bert_data create --input_file=corpus.txt --vocab_file=vocab.txt --output_file=train.tfrecord
#
# Paths are those of the folder that is mounted at /data. The volume at /cache keeps machine code, which
# otherwise each container compiles again.
FROM python:3.12-slim

WORKDIR /opt/bert_data
COPY . .
RUN pip install --no-cache-dir '.[bpe,curation,ray]' \
    && mkdir --mode=1777 /cache

# Any user may run it: nothing is written but to /data and /cache.
ENV HOME=/tmp BERT_DATA_CACHE_DIR=/cache TF_CPP_MIN_LOG_LEVEL=2
WORKDIR /data
ENTRYPOINT ["bert-data"]
CMD ["--help"]
