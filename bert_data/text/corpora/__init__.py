"""Corpora as their publishers ship them, one file each: documents with their metadata, as prose.

mediawiki.py       dumps of Wikipedia and other wikis; wiki_markup.py, wiki_templates.py: markup
stack_exchange.py  dumps of Stack Exchange
arxiv.py           papers of arXiv; latex_markup.py: their LaTeX
gutenberg.py       books of Project Gutenberg; epub.py: books as EPUB; chapters.py: their chapters
source_code.py     files of repositories; licence_texts.py, licence_prints.txt: their licences
archives.py        files in tar and zip archives
xml_events.py      XML as it is read
"""
